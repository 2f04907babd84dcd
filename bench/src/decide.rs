//! One decision about a call, with many rules and many agents blocked.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use aql::{
    category::Category,
    define::{Operation, Param},
    operation::OperationId,
    policy::{Block, Blocks, Condition, Decision, Facts, Policy, Rule, Test, Then},
    registry::Registry,
};
use serde_json::{Map, Value, json};

use crate::{
    Result,
    report::{Report, Target, median},
};

const RULES: usize = 200;
const BLOCKS: usize = 1_000;
const MICROSECONDS_MAX: f64 = 3.0;
const READINGS: usize = 25;
const CALLS: u32 = 20_000;

/// Everything that a decision takes.
pub(crate) struct Subject {
    registry: Registry,
    operation: OperationId,
    params: Map<String, Value>,
    blocks: Blocks,
}

impl Subject {
    /// Half of the rules are about this operation; of those most are about other callers, and some look at parameters.
    pub(crate) fn new() -> Result<Self> {
        let rule = |number: usize| {
            let operations = if number.is_multiple_of(2) { "write_file" } else { "other_*" };
            let callers =
                if number.is_multiple_of(8) { Vec::new() } else { vec![format!("agent-{number}-*")] };
            let test = Test::Pattern(format!("/etc/{number}/*"));
            Rule {
                operations: vec![operations.to_owned()],
                callers,
                when: if number.is_multiple_of(4) { vec![Condition::new("path", test)] } else { Vec::new() },
                ..Rule::new(if number.is_multiple_of(3) { Then::Deny } else { Then::Confirm })
            }
        };
        let policy = Policy { gating: true, rules: (0..RULES).map(rule).collect(), ..Policy::default() };
        let operation = Operation::new(Category::Create, "write_file", "Writes a file")
            .param(Param::new("path", "string", "Where").required())
            .param(Param::new("text", "string", "What").required());
        let registry = Registry::builder("bench").policy(policy).operation(operation).build()?;
        let operation = registry.id("write_file").ok_or("the operation is not there")?;
        let Value::Object(params) = json!({"path": "/home/me/notes.txt", "text": "hello"}) else {
            return Err("the parameters are no object".into());
        };
        let block = |number: usize| Block {
            agent: format!("agent-{number}"),
            principal: format!("principal-{number}"),
            verification_id: format!("ver_{number}"),
            reason: "a step that was too risky".to_owned(),
        };
        let blocks = (0..BLOCKS).map(block).collect();
        Ok(Self { registry, operation, params, blocks })
    }

    pub(crate) fn decide(&self) -> Decision {
        let facts = Facts {
            params: black_box(&self.params),
            principal: black_box("local"),
            dry_run: false,
            blocks: &self.blocks,
            executing: &[],
        };
        self.registry.decide(self.operation, &facts)
    }
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let subject = Subject::new()?;
    if subject.decide() != Decision::Allow {
        return Err("the call that is measured must be allowed".into());
    }
    let reading = || {
        let start = Instant::now();
        (0..CALLS).for_each(|_| drop(black_box(subject.decide())));
        microseconds(start.elapsed()) / f64::from(CALLS)
    };
    let readings: Vec<f64> = (0..READINGS).map(|_| reading()).collect();
    let what = format!("{RULES} rules, {BLOCKS} agents blocked, allowed");
    report.add("One decision", what, median(readings), "µs", Target::AtMost(MICROSECONDS_MAX));
    Ok(())
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
