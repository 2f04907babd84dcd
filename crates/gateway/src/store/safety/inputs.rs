//! What servers behind us ask people for, and what the operator answered.
//!
//! The process that holds the call waits here for the answer, says every few seconds that it still does, and takes the answer
//! away as soon as it is there. What nobody waits for any more is neither shown nor answered.

use aql::audit::{Event, Outcome};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{SafetyStore, audit};
use crate::operator::form::{Mode, Question};
use crate::store::Error;
use crate::store::columns::{all, json as from_json, storable, time, to_json};
use crate::store::writer::Effect;

pub(super) const TABLES: &str = "
CREATE TABLE inputs (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    server TEXT NOT NULL,
    operation TEXT NOT NULL,
    session_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    question TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    answer TEXT
) STRICT;
CREATE INDEX inputs_seen ON inputs (seen_at);
";

/// How long who waits may say nothing before it counts as gone.
const GONE_AFTER: SignedDuration = SignedDuration::from_secs(15);
/// How often it says that it waits.
const SEEN_EVERY: SignedDuration = SignedDuration::from_secs(5);
/// How long after that an input is still known, so that a late answer is told what became of it.
const KEPT: SignedDuration = SignedDuration::from_mins(10);
/// Questions that wait, at the most, of all servers and of one session.
const PENDING_MAX: i64 = 64;
const PENDING_IN_A_SESSION_MAX: i64 = 16;

const PENDING: &str = "pending";

/// A question that waits, as the operator sees it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Input {
    pub id: String,
    /// pending, or what became of it.
    pub state: String,
    /// Who asks.
    pub server: String,
    pub operation: String,
    pub session_id: String,
    pub principal: String,
    #[serde(flatten)]
    pub question: Question,
    #[schemars(with = "String")]
    pub asked_at: Timestamp,
    /// Until when it can be answered.
    #[schemars(with = "String")]
    pub expires_at: Timestamp,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct NewInput {
    pub id: String,
    pub server: String,
    pub operation: String,
    pub session_id: String,
    pub principal: String,
    pub question: Question,
    pub waits: SignedDuration,
}

/// What a person says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Accept,
    Decline,
    Cancel,
}

impl Action {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    fn state(self) -> &'static str {
        match self {
            Self::Accept => "accepted",
            Self::Decline => "declined",
            Self::Cancel => "cancelled",
        }
    }
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum InputAnswered {
    Done(Input),
    /// Somebody else was faster, or nobody waits any more.
    TooLate(Input),
    Missing,
}

/// What is heard of a question by who waits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Waiting,
    /// The operator's answer, as the protocol writes it. It is in the store no longer.
    Answer(Value),
    Over,
}

/// Why a question ends without the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client was first.
    ByClient,
    /// Nobody waits any more.
    Withdrawn,
}

const COLUMNS: &str =
    "id, state, server, operation, session_id, principal, question, asked_at, expires_at, seen_at";

fn input(row: &Row<'_>) -> rusqlite::Result<(Input, Timestamp)> {
    let unread = || Question {
        mode: Mode::Form,
        message: String::new(),
        url: None,
        form: None,
        no_form: Some("the question cannot be read".to_owned()),
    };
    let input = Input {
        id: row.get(0)?,
        state: row.get(1)?,
        server: row.get(2)?,
        operation: row.get(3)?,
        session_id: row.get(4)?,
        principal: row.get(5)?,
        question: from_json(row, 6)?.unwrap_or_else(unread),
        asked_at: time(row, 7)?,
        expires_at: time(row, 8)?,
    };
    Ok((input, time(row, 9)?))
}

fn find(connection: &Connection, id: &str, now: Timestamp) -> Result<Option<Input>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM inputs WHERE id = ?1");
    let found = connection.prepare_cached(&sql)?.query_row([id], input).optional()?;
    Ok(found.map(|(input, seen)| input.at(seen, now)))
}

impl Input {
    /// The same with the state that the time has brought.
    fn at(self, seen: Timestamp, now: Timestamp) -> Self {
        let state = match self.state == PENDING {
            true if now >= self.expires_at => "expired",
            true if seen.saturating_add(GONE_AFTER).is_ok_and(|until| now >= until) => "withdrawn",
            _ => return self,
        };
        Self { state: state.to_owned(), ..self }
    }

    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.state == PENDING
    }

    /// What the audit log says of an answer: who gave which kind of it, and never what it says.
    fn event(&self, action: Action, by: &str, channel: &str) -> Event {
        let outcome = if action == Action::Accept { Outcome::Success } else { Outcome::Denied };
        Event {
            outcome: Some(outcome),
            session_id: Some(self.session_id.clone()),
            principal: Some(self.principal.clone()),
            operation: Some(self.operation.clone()),
            adapter_name: Some(self.server.clone()),
            channel: Some(channel.to_owned()),
            detail: Some(json!({
                "input_id": self.id, "mode": self.question.mode, "action": action, "answered_by": by,
            })),
            ..Event::new("INPUT_ANSWERED")
        }
    }
}

fn set_state(connection: &Connection, id: &str, state: &str, answer: Option<&Value>) -> Result<bool, Error> {
    let sql = "UPDATE inputs SET state = ?2, answer = ?3 WHERE id = ?1 AND state = 'pending'";
    Ok(connection.prepare_cached(sql)?.execute((id, state, to_json(answer)?))? > 0)
}

fn ask(connection: &Connection, new: &NewInput, now: Timestamp) -> Result<bool, Error> {
    let alive = now.saturating_sub(GONE_AFTER).unwrap_or(now).as_microsecond();
    let (pending, of_session): (i64, i64) = connection
        .prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE session_id = ?2) FROM inputs
             WHERE state = 'pending' AND seen_at > ?1",
        )?
        .query_row((alive, &new.session_id), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if pending >= PENDING_MAX || of_session >= PENDING_IN_A_SESSION_MAX {
        return Ok(false);
    }
    let expires_at = now.saturating_add(new.waits).unwrap_or(now);
    connection
        .prepare_cached(
            "INSERT INTO inputs (id, state, server, operation, session_id, principal, question, asked_at, expires_at, seen_at)
             VALUES (?1, 'pending', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7)",
        )?
        .execute((
            &new.id,
            &new.server,
            &new.operation,
            &new.session_id,
            &new.principal,
            to_json(Some(&new.question))?,
            now.as_microsecond(),
            expires_at.as_microsecond(),
        ))?;
    Ok(true)
}

/// Forgets what nobody waits for, with answers that were never taken.
pub(super) fn purge(connection: &Connection, now: Timestamp) -> Result<(), Error> {
    let before = now.saturating_sub(KEPT).unwrap_or(now).as_microsecond();
    connection.execute("DELETE FROM inputs WHERE seen_at < ?1", [before])?;
    Ok(())
}

impl SafetyStore {
    /// Shows a question to the operator; false where too many wait already.
    pub(crate) async fn ask_input(&self, new: NewInput, now: Timestamp) -> Result<bool, Error> {
        self.database.write(Effect::default(), move |connection| ask(connection, &new, storable(now))).await
    }

    /// What waits, the oldest first.
    pub async fn inputs(&self, now: Timestamp) -> Result<Vec<Input>, Error> {
        self.database
            .read(move |connection| {
                let sql =
                    format!("SELECT {COLUMNS} FROM inputs WHERE state = 'pending' ORDER BY asked_at, id");
                let found = all(connection.prepare_cached(&sql)?, [], input)?;
                let found = found.into_iter().map(|(input, seen)| input.at(seen, now));
                Ok(found.filter(Input::is_pending).collect())
            })
            .await
    }

    pub async fn input(&self, id: &str, now: Timestamp) -> Result<Option<Input>, Error> {
        let id = id.to_owned();
        self.database.read(move |connection| find(connection, &id, now)).await
    }

    /// Answers for a person. What is accepted was checked against the form before.
    pub async fn answer_input(
        &self,
        id: &str,
        action: Action,
        content: Option<Map<String, Value>>,
        channel: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<InputAnswered, Error> {
        let (id, channel, by) = (id.to_owned(), channel.to_owned(), by.to_owned());
        self.database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                let Some(found) = find(connection, &id, now)? else { return Ok(InputAnswered::Missing) };
                if !found.is_pending() {
                    return Ok(InputAnswered::TooLate(found));
                }
                let answer = match &content {
                    Some(content) => json!({"action": action, "content": content}),
                    None => json!({"action": action}),
                };
                set_state(connection, &id, action.state(), Some(&answer))?;
                let event = found.event(action, &by, &channel);
                audit::append(connection, &event, storable(now))?;
                Ok(InputAnswered::Done(Input { state: action.state().to_owned(), ..found }))
            })
            .await
    }

    /// Looks for an answer, takes it away, and says that somebody waits.
    pub(crate) async fn hear_input(&self, id: &str, now: Timestamp) -> Result<Heard, Error> {
        let wanted = id.to_owned();
        let found = self
            .database
            .read(move |connection| {
                let sql = format!("SELECT {COLUMNS} FROM inputs WHERE id = ?1");
                Ok(connection.prepare_cached(&sql)?.query_row([&wanted], input).optional()?)
            })
            .await?;
        let id = id.to_owned();
        match found {
            Some((found, _)) if found.is_pending() && now >= found.expires_at => Ok(Heard::Over),
            Some((found, seen)) if found.is_pending() => {
                if now.duration_since(seen) >= SEEN_EVERY {
                    let seen = storable(now).as_microsecond();
                    self.database
                        .write(Effect::default(), move |connection| {
                            let sql = "UPDATE inputs SET seen_at = ?2 WHERE id = ?1";
                            connection.prepare_cached(sql)?.execute((&id, seen))?;
                            Ok(())
                        })
                        .await?;
                }
                Ok(Heard::Waiting)
            }
            Some(_) => {
                let effect = Effect { frees_space: true, ..Effect::default() };
                let answer = self.database.write(effect, move |connection| take(connection, &id)).await?;
                Ok(answer.map_or(Heard::Over, Heard::Answer))
            }
            None => Ok(Heard::Over),
        }
    }

    /// Ends a question that the operator has not answered; false if they have.
    pub(crate) async fn end_input(
        &self,
        id: &str,
        ended: Ended,
        action: Option<Action>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let id = id.to_owned();
        self.database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                let Some(found) = find(connection, &id, now)? else { return Ok(true) };
                let state = match ended {
                    Ended::ByClient => "answered by its client",
                    Ended::Withdrawn => "withdrawn",
                };
                if !set_state(connection, &id, state, None)? {
                    return Ok(false);
                }
                if let Some(action) = action {
                    let event = found.event(action, &found.principal, "client");
                    audit::append(connection, &event, storable(now))?;
                }
                Ok(true)
            })
            .await
    }
}

fn take(connection: &Connection, id: &str) -> Result<Option<Value>, Error> {
    let answer = connection
        .prepare_cached("SELECT answer FROM inputs WHERE id = ?1")?
        .query_row([id], |row| from_json::<Value>(row, 0))
        .optional()?;
    // What a person typed may be a secret: its bytes are written over, not only forgotten.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.prepare_cached("UPDATE inputs SET answer = NULL WHERE id = ?1")?.execute([id])?;
    connection.pragma_update(None, "secure_delete", false)?;
    Ok(answer.flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Options;

    fn new(id: &str, session: &str) -> NewInput {
        NewInput {
            id: id.to_owned(),
            server: "files".to_owned(),
            operation: "ask".to_owned(),
            session_id: session.to_owned(),
            principal: "local".to_owned(),
            question: Question::read(None),
            waits: SignedDuration::from_mins(10),
        }
    }

    fn after(start: Timestamp, seconds: i64) -> Timestamp {
        start + SignedDuration::from_secs(seconds)
    }

    #[tokio::test]
    async fn an_answer_is_taken_once_and_stays_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let store = SafetyStore::open(dir.path(), Options::default()).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        assert!(store.ask_input(new("input_1", "s"), now).await.unwrap());
        assert_eq!(store.hear_input("input_1", now).await.unwrap(), Heard::Waiting);
        let content = json!({"pin": "1234"}).as_object().cloned();
        let done =
            store.answer_input("input_1", Action::Accept, content.clone(), "page", "operator", now).await;
        assert!(matches!(done.unwrap(), InputAnswered::Done(_)));
        let again = store.answer_input("input_1", Action::Accept, content, "page", "operator", now).await;
        assert!(matches!(again.unwrap(), InputAnswered::TooLate(input) if input.state == "accepted"));
        assert!(!store.end_input("input_1", Ended::ByClient, Some(Action::Accept), now).await.unwrap());
        let answer = json!({"action": "accept", "content": {"pin": "1234"}});
        assert_eq!(store.hear_input("input_1", now).await.unwrap(), Heard::Answer(answer));
        assert_eq!(store.hear_input("input_1", now).await.unwrap(), Heard::Over);
        let direct = Connection::open(dir.path().join("safety.db")).unwrap();
        let kept: Option<String> =
            direct.query_row("SELECT answer FROM inputs", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, None);
        let log = store.audit_entries(0, 10).await.unwrap();
        assert_eq!(log.len(), 1);
        assert!(log[0].text.contains("INPUT_ANSWERED") && !log[0].text.contains("1234"), "{}", log[0].text);
    }

    #[tokio::test]
    async fn a_question_of_who_is_gone_is_neither_shown_nor_answered() {
        let dir = tempfile::tempdir().unwrap();
        let store = SafetyStore::open(dir.path(), Options::default()).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        store.ask_input(new("killed", "s"), now).await.unwrap();
        store.ask_input(new("alive", "s"), now).await.unwrap();
        assert_eq!(store.hear_input("alive", after(now, 10)).await.unwrap(), Heard::Waiting);
        let shown = store.inputs(after(now, 16)).await.unwrap();
        assert_eq!(shown.iter().map(|input| input.id.as_str()).collect::<Vec<_>>(), ["alive"]);
        let late = store.answer_input("killed", Action::Decline, None, "page", "o", after(now, 16)).await;
        assert!(matches!(late.unwrap(), InputAnswered::TooLate(input) if input.state == "withdrawn"));
        assert_eq!(store.hear_input("alive", after(now, 600)).await.unwrap(), Heard::Over);
        let none = store.answer_input("other", Action::Decline, None, "page", "o", now).await.unwrap();
        assert_eq!(none, InputAnswered::Missing);
        store.purge(after(now, 3600)).await.unwrap();
        assert_eq!(store.input("killed", now).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_server_that_asks_without_end_is_not_heard_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let store = SafetyStore::open(dir.path(), Options::default()).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let mut shown = 0;
        for number in 0..100 {
            let session = if number < 50 { "one".to_owned() } else { format!("session {number}") };
            shown += i64::from(store.ask_input(new(&number.to_string(), &session), now).await.unwrap());
        }
        assert_eq!(shown, PENDING_MAX);
        // Those whose process is gone take no place.
        assert!(store.ask_input(new("later", "one"), after(now, 60)).await.unwrap());
    }
}
