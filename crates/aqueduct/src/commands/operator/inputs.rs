//! What servers ask a person for.

use std::process::ExitCode;

use gateway::{
    operator::{
        desk::{Refused, now},
        form::{Field, Kind},
        shown::line,
    },
    store::safety::{Input, InputAnswered, inputs::Action},
};
use serde_json::{Map, Value};

use super::{at_desk, hand, may_answer, store_trouble, unclear};
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Longest values in a listing, in characters. `--json` has all of them.
const VALUE_CHARS_MAX: usize = 300;

#[derive(clap::Args)]
pub(super) struct Answer {
    /// The question's id, or its beginning
    #[arg(value_name = "INPUT")]
    id: String,
    /// What to say to it
    #[arg(value_enum)]
    action: Said,
    /// What is filled in, as a JSON object by the names of the form's fields
    #[arg(long, value_name = "JSON")]
    content: Option<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Said {
    Accept,
    Decline,
    Cancel,
}

impl From<Said> for Action {
    fn from(said: Said) -> Self {
        match said {
            Said::Accept => Self::Accept,
            Said::Decline => Self::Decline,
            Said::Cancel => Self::Cancel,
        }
    }
}

impl Answer {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let read = |text: &String| {
            let help = "write it as in '{\"name\": \"Ada\"}'";
            serde_json::from_str::<Map<String, Value>>(text)
                .map_err(|_| Failure::usage("'--content' is no JSON object", help))
        };
        let content = self.content.as_ref().map(read).transpose()?;
        let (id, answered) = at_desk(configuration, async |desk, config| {
            may_answer(config)?;
            let found = desk.find_input(&self.id, now()).await.map_err(unclear)?;
            let answered = desk.answer_input(&found.id, self.action.into(), content, &hand(), now()).await;
            let answered = answered.map_err(|refused| match refused {
                Refused::Wrong(why) => Failure::usage(
                    &why,
                    "'aqueduct operator pending' shows the form; values go into '--content'",
                ),
                Refused::Store(error) => store_trouble(&error),
            })?;
            Ok((line(&found.id, 80), answered))
        })?;
        match answered {
            InputAnswered::Done(input) => {
                report::print(&format!("{id} is {}.", input.state));
                Ok(ExitCode::SUCCESS)
            }
            InputAnswered::TooLate(input) => {
                report::note(&format!("{id} is {} already", input.state));
                Ok(report::findings())
            }
            InputAnswered::Missing => {
                report::note(&format!("{id} is gone"));
                Ok(report::findings())
            }
        }
    }
}

/// Everything of a server stands behind a label of ours, on a line of its own.
pub(super) fn readable(input: &Input) -> String {
    let shown = |text: &str| line(text, VALUE_CHARS_MAX);
    let (id, question) = (shown(&input.id), &input.question);
    let mut rows = vec![
        ("asked by", format!("{} of {}", shown(&input.operation), shown(&input.server))),
        ("caller", shown(&input.principal)),
        ("question", shown(&question.message)),
    ];
    rows.extend(question.url.as_deref().map(|url| ("wants to open", shown(url))));
    let fields = question.form.iter().flat_map(|form| &form.fields);
    rows.extend(fields.map(|field| ("field", shown(&described(field)))));
    rows.extend(question.no_form.as_deref().map(|why| ("no form", shown(why))));
    rows.push(("answer until", input.expires_at.to_string()));
    let mut lines = vec![format!("{id}  question")];
    lines.extend(rows.into_iter().map(|(label, value)| format!("  {label:<13} {value}")));
    lines.push(match question.form {
        Some(_) => {
            format!("  → aqueduct operator answer {id} accept --content JSON   or   decline   or   cancel")
        }
        None => format!("  → aqueduct operator answer {id} decline   or   cancel"),
    });
    lines.join("\n")
}

fn described(field: &Field) -> String {
    let takes = match &field.kind {
        Kind::Text { .. } => "text".to_owned(),
        Kind::Number { whole: true, .. } => "whole number".to_owned(),
        Kind::Number { .. } => "number".to_owned(),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Choice { options } | Kind::Choices { options, .. } => {
            let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
            let list = if matches!(field.kind, Kind::Choice { .. }) { "one of" } else { "a list of" };
            format!("{list} {}", values.join(", "))
        }
    };
    let required = if field.required { ", required" } else { "" };
    let words = field.description.as_ref().or(field.title.as_ref());
    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
    format!("{} ({takes}{required}){words}", field.name)
}
