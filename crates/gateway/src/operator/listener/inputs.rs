//! What servers ask people for, and the operator's answers.

use std::sync::Arc;

use axum::{Extension, extract::State, response::Response};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Shared,
    api::{Answer, Body, hand, read},
    reply::{Problem, ok},
};
use crate::{
    inspect::{
        Role,
        query::{NoQuery, Place},
    },
    operator::{
        desk::Refused,
        form::{Mode, Question},
    },
    store::safety::{Input, InputAnswered, inputs::Action},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Inputs {
    /// Without question and form for who may only look.
    inputs: Vec<Input>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct InputDone {
    input: InputEnd,
}

#[derive(Serialize, JsonSchema)]
struct InputEnd {
    id: String,
    /// accepted, declined or cancelled.
    state: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputAnswer {
    action: Action,
    /// What was filled in, by the names of the form's fields. It goes with 'accept' only.
    #[serde(default)]
    content: Option<Map<String, Value>>,
}

/// What waits, as this role may see it: a viewer learns that somebody is asked, and not what.
pub(super) async fn shown(shared: &Shared, role: Role) -> Result<Vec<Input>, Problem> {
    let mut inputs = shared.desk.inputs(Timestamp::now()).await?;
    if role == Role::Viewer {
        for input in &mut inputs {
            let hidden =
                Question { mode: Mode::Form, message: String::new(), url: None, form: None, no_form: None };
            input.question = Question { mode: input.question.mode, ..hidden };
        }
    }
    Ok(inputs)
}

pub(super) async fn inputs(
    State(shared): State<Arc<Shared>>,
    Extension(role): Extension<Role>,
    _: NoQuery,
) -> Answer {
    Ok(ok(&Inputs { inputs: shown(&shared, role).await? }))
}

pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    Place(id): Place<String>,
    _: NoQuery,
    body: Body,
) -> Answer {
    let InputAnswer { action, content } = read(body)?;
    let answered = shared.desk.answer_input(&id, action, content, &hand(), Timestamp::now()).await;
    match answered {
        Ok(InputAnswered::Done(Input { id, state, .. })) => done(id, state),
        Ok(InputAnswered::TooLate(input)) => {
            let message = format!("it is {} already; nothing was changed", input.state);
            Err(Problem::new(StatusCode::CONFLICT, "ALREADY_ANSWERED", message))
        }
        Ok(InputAnswered::Missing) => {
            Err(Problem::missing("there is no such question; GET /api/v1/inputs lists those that wait"))
        }
        Err(Refused::Wrong(why)) => Err(Problem::wrong(why)),
        Err(Refused::Store(error)) => Err(error.into()),
    }
}

fn done(id: String, state: String) -> Result<Response, Problem> {
    Ok(ok(&InputDone { input: InputEnd { id, state } }))
}
