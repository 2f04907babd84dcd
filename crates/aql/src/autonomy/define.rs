//! The six operations of the loop, which belong to the protocol: nobody else can define what bears their names.

use serde_json::json;

use super::{
    evaluate::StepOutcome,
    settings::{Autonomy, Mode, Rules, Tolerance},
};
use crate::{
    category::Category,
    define::{OfTheProtocol, Operation, Param, Type},
};

pub const EXECUTE_AGENT: &str = "execute_agent";
pub const RECORD_EXECUTION_STEP: &str = "record_execution_step";
pub const COMPLETE_EXECUTION: &str = "complete_execution";
pub const ABORT_EXECUTION: &str = "abort_execution";
pub const CONFIRM_OPERATION: &str = "confirm_operation";
pub const VERIFY_CHALLENGE: &str = "verify_challenge";

/// Longer than any action that a person would read.
const HINT_CHARS_MAX: usize = 4000;
const NAME_CHARS_MAX: usize = 200;

/// What the six operations are for, by their mode and with the settings that are in force.
#[must_use]
pub fn operations(autonomy: &Autonomy) -> Vec<Operation> {
    let mut operations = vec![
        execute_agent(autonomy.mode),
        record_execution_step(autonomy),
        complete_execution(),
        abort_execution(),
        confirm_operation(),
        verify_challenge(),
    ];
    for operation in &mut operations {
        operation.of_the_protocol = OfTheProtocol(true);
    }
    operations
}

fn element_name() -> Param {
    Param::new("element_name", "string", "The agent by its name; 'elementName' is accepted too")
        .required()
        .length(1, NAME_CHARS_MAX)
        .pattern(r"\S")
        .alias("elementName")
}

fn execute_agent(mode: Mode) -> Operation {
    let text = match mode {
        Mode::Enforcing => {
            "Start a monitored execution, once a person agrees; from then on report every action with \
             record_execution_step before taking it, and act only if it answers continue: true"
        }
        Mode::Monitoring => "Start a monitored execution, whose reports are judged but hold nobody up",
        Mode::Logging | Mode::Disabled => "Start an execution whose reports are written down",
    };
    Operation::new(Category::Execute, EXECUTE_AGENT, text)
        .param(element_name())
        .param(
            Param::new("goal", "string", "What the agent is to do, for the person who is asked")
                .length(1, HINT_CHARS_MAX),
        )
        .returns("AgentExecution", "The execution, running")
        .example(
            "Start the agent 'release-notes'",
            json!({"element_name": "release-notes", "goal": "Write the notes of version 2"}),
        )
}

fn record_execution_step(autonomy: &Autonomy) -> Operation {
    let rules = &autonomy.all.rules;
    let text = format!(
        "Report what you are about to do, before you do it, and be told whether you may: tool calls to any MCP server, file, \
         shell, network and database actions, and any other change. The loop is {}; maxAutonomousSteps is {}, riskTolerance \
         {}; the type AutonomySettings has all settings",
        autonomy.mode, rules.max_autonomous_steps, rules.risk_tolerance
    );
    Operation::new(Category::Create, RECORD_EXECUTION_STEP, &text)
        .param(element_name())
        .param(
            Param::new(
                "next_action_hint",
                "string",
                "The action you intend, in enough detail to be judged; 'nextActionHint' is accepted too",
            )
            .required()
            .length(1, HINT_CHARS_MAX)
            .pattern(r"\S")
            .alias("nextActionHint"),
        )
        .param(
            Param::new("step_description", "string", "The step just done; 'stepDescription' is accepted too")
                .length(0, HINT_CHARS_MAX)
                .alias("stepDescription"),
        )
        .param(
            Param::new("outcome", "string", "How the step just done went; a failure pauses the agent")
                .allowed(&StepOutcome::WORDS),
        )
        .param(Param::new("findings", "string", "What was found, to be kept with the step").length(0, 20_000))
        .returns("AutonomyDirective", "Whether the agent may go on, and why")
        .example(
            "Ask before running a command",
            json!({
                "element_name": "release-notes",
                "next_action_hint": "executing shell command: npm install express",
                "outcome": "success",
            }),
        )
}

fn complete_execution() -> Operation {
    Operation::new(Category::Execute, COMPLETE_EXECUTION, "End a monitored execution whose work is done")
        .param(element_name())
        .param(Param::new("summary", "string", "What was done").length(0, HINT_CHARS_MAX))
        .returns("AgentExecution", "The execution, completed")
        .example("Done", json!({"element_name": "release-notes", "summary": "The notes are written"}))
}

fn abort_execution() -> Operation {
    Operation::new(
        Category::Execute,
        ABORT_EXECUTION,
        "End a monitored execution before its work is done; a block stays, whatever is ended",
    )
    .param(element_name())
    .param(Param::new("reason", "string", "Why").length(0, HINT_CHARS_MAX))
    .returns("AgentExecution", "The execution, cancelled")
    .example("Give up", json!({"element_name": "release-notes", "reason": "The person wants something else"}))
}

fn confirm_operation() -> Operation {
    Operation::new(
        Category::Execute,
        CONFIRM_OPERATION,
        "Confirm an operation that waits for a person, or let a paused agent go on (operation 'record_execution_step'), \
         with a token from the operator; whoever caused the wait cannot confirm it",
    )
    .param(Param::new("operation", "string", "The operation that waits").required().length(1, NAME_CHARS_MAX))
    .param(
        Param::new("confirmation_token", "string", "The token that the operator's side shows for it")
            .required()
            .length(1, NAME_CHARS_MAX)
            .sensitive(),
    )
    .returns("OperationConfirmation", "What was confirmed")
    .example("Confirm", json!({"operation": "delete_item", "confirmation_token": "conf_example"}))
}

fn verify_challenge() -> Operation {
    Operation::new(
        Category::Create,
        VERIFY_CHALLENGE,
        "Give the code that a person read to you from the operator's side; each challenge takes one attempt",
    )
    .param(
        Param::new(
            "challenge_id",
            "string",
            "The verificationId of the notification; 'verification_id' is accepted too",
        )
        .required()
        .length(1, NAME_CHARS_MAX)
        .alias("verification_id")
        .alias("verificationId")
        .alias("challengeId"),
    )
    .param(
        Param::new("code", "string", "The code, exactly as the person gave it")
            .required()
            .length(1, NAME_CHARS_MAX)
            .sensitive(),
    )
    .returns("ChallengeVerification", "What the code has ended")
    .example(
        "Give the code",
        json!({"challenge_id": "0b9fae0c-8f60-4b8e-9d3c-0d5a0f2d6a11", "code": "the code"}),
    )
}

/// The types of what they answer, and the settings in force as one of them.
#[must_use]
pub fn types(autonomy: &Autonomy) -> Vec<Type> {
    let param = Param::new;
    let time = |name: &str, text: &str| Param::new(name, "string", text).format("date-time");
    vec![
        Type::object(
            "AgentExecution",
            "A monitored execution of an agent",
            vec![
                param("execution_id", "string", "Its id").required(),
                param("element_name", "string", "The agent").required(),
                param("status", "string", "running, paused, stopped, completed or cancelled").required(),
                param("mode", "string", "What the loop does with reports").required(),
                param("steps", "integer", "How many steps were reported").required(),
                time("started_at", "When it began, UTC").required(),
                time("finished_at", "When it ended, UTC"),
            ],
        ),
        Type::object(
            "AutonomyDirective",
            "Whether an agent may go on",
            vec![
                param("continue", "boolean", "Whether the reported action may be taken").required(),
                param("factors", "string[]", "What led to it").required(),
                param("stopped", "boolean", "Whether the agent is blocked until a person verifies"),
                param("reason", "string", "Why it is paused or stopped"),
                param("stepsRemaining", "integer", "Steps before a person has to look"),
                param("nextStepRisk", "string", "The action's tier").allowed(&[
                    "advisory",
                    "confirm",
                    "verify",
                    "danger_zone",
                ]),
                param("notifications", "AgentNotification[]", "What happened or waits, oldest first"),
            ],
        ),
        Type::object(
            "AgentNotification",
            "Something that happened, or that waits for a person",
            vec![
                param("type", "string", "Its kind").required().allowed(&[
                    "permission_pending",
                    "autonomy_pause",
                    "danger_zone",
                    "status",
                    "error",
                ]),
                param("message", "string", "What it is").required(),
                param(
                    "metadata",
                    "object",
                    "operation, reason, level and verificationId, as far as they are known",
                ),
                time("timestamp", "When, UTC").required(),
            ],
        ),
        Type::object(
            "OperationConfirmation",
            "What a token has confirmed",
            vec![
                param("confirmed", "boolean", "True").required(),
                param("operation", "string", "The operation").required(),
                param("approval_id", "string", "What was asked").required(),
            ],
        ),
        Type::object(
            "ChallengeVerification",
            "What a code has ended",
            vec![
                param("verified", "boolean", "True").required(),
                param("challenge_id", "string", "The challenge").required(),
                param("element_name", "string", "The agent that may go on").required(),
            ],
        ),
        settings(&autonomy.all.rules, autonomy.agents.keys()),
    ]
}

fn settings<'a>(rules: &Rules, named: impl Iterator<Item = &'a String>) -> Type {
    let named: Vec<&str> = named.map(String::as_str).collect();
    let about = match named.len() {
        0 => String::new(),
        _ => format!("; agents with settings of their own: {}", named.join(", ")),
    };
    let list = |name: &str, text: &str, patterns: &[String]| {
        Param::new(name, "string[]", text).default_value(patterns.to_vec())
    };
    let tolerances = Tolerance::ALL.map(Tolerance::as_str);
    Type::object(
        "AutonomySettings",
        &format!("How far agents may go by themselves; the defaults are what is in force here{about}"),
        vec![
            Param::new("maxAutonomousSteps", "integer", "Steps before a person has to look")
                .default_value(rules.max_autonomous_steps),
            Param::new("riskTolerance", "string", "The highest score that needs nobody: 25, 50 or 75")
                .allowed(&tolerances)
                .default_value(rules.risk_tolerance.as_str()),
            list("deny", "Actions that block the agent, as glob patterns", &rules.deny),
            list("requiresApproval", "Actions for which a person has to agree", &rules.requires_approval),
            list("autoApprove", "Actions that are not looked at any further", &rules.auto_approve),
        ],
    )
}

/// What agents are told when they connect.
#[must_use]
pub fn instructions(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Enforcing => Some(
            "This server runs an execution safety loop. If you act as an agent, start with execute_agent, which a person has \
             to approve. After it, check in with record_execution_step before EVERY action, with next_action_hint saying what \
             you intend, and act only if the answer has continue: true. Actions are: tool calls to any MCP server (this one or \
             another), file system operations, shell commands, network requests, database queries or changes, and any other \
             state change in a connected system. With continue: false do nothing further and tell the person why; with \
             stopped: true cease everything until a person has verified. Acting without reporting is a protocol violation and \
             is recorded. End with complete_execution or abort_execution.",
        ),
        Mode::Monitoring | Mode::Logging => Some(
            "This server records what agents do. If you act as an agent, start with execute_agent, report every action with \
             record_execution_step before taking it, and end with complete_execution or abort_execution.",
        ),
        Mode::Disabled => None,
    }
}
