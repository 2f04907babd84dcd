//! Confirmation tokens: issued, spent once, revoked. Only their hash is kept.

use aql::{
    audit::{Event, Hash, Outcome},
    confirm::{Refused, Scope, Token, TokenKind, redeem},
    danger::DangerLevel,
    trust::TrustLevel,
};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use sha2::{Digest, Sha256};

use super::approvals::danger;
use super::{SafetyStore, audit};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{all, storable, time_if_any, unreadable};
use crate::store::writer::Effect;

pub(super) const TABLES: &str = "
CREATE TABLE tokens (
    hash BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    operation TEXT NOT NULL,
    params_hash BLOB NOT NULL,
    adapter TEXT NOT NULL,
    session_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    danger INTEGER NOT NULL,
    issued_at INTEGER NOT NULL,
    expires_at INTEGER,
    not_before INTEGER,
    uses_left INTEGER NOT NULL,
    used_at INTEGER,
    outlives_session INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_of_session ON tokens (session_id);
CREATE INDEX tokens_old ON tokens (expires_at);
";

/// How long after its end a token is remembered, so that its holder hears that it expired.
const KEPT: SignedDuration = SignedDuration::from_mins(30);

/// A token to be given out.
#[derive(Clone)]
pub struct NewToken {
    /// The token itself, which is not kept.
    pub text: String,
    /// What the audit log calls it.
    pub id: String,
    pub token: Token,
    pub danger: DangerLevel,
    pub trust: Option<TrustLevel>,
    pub reasons: Vec<String>,
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

impl SafetyStore {
    /// Keeps a token that is given out.
    pub async fn issue_token(&self, new: NewToken, now: Timestamp) -> Result<(), Error> {
        self.database
            .write(Effect::default(), move |connection| {
                insert(connection, &new, now)?;
                let event = event(&new.token.scope, Some(&new.id), "TOKEN_ISSUED", Outcome::Success);
                let event = Event {
                    danger_level: Some(new.danger),
                    adapter_trust: new.trust,
                    reasons: new.reasons.clone(),
                    ..event
                };
                audit::append(connection, &event, storable(now))
            })
            .await
    }

    /// Spends a token on a call, before the call runs. Whatever comes after, it is spent.
    pub async fn redeem_token(
        &self,
        text: &str,
        kind: TokenKind,
        scope: Scope,
        tolerance: SignedDuration,
        now: Timestamp,
    ) -> Result<Result<(), Refused>, Error> {
        let hash = hash(text);
        let redeemed = self
            .database
            .write(Effect::default(), move |connection| {
                let redeemed = spend(connection, &hash, kind, &scope, tolerance, storable(now))?;
                failpoint::hit("token.spending");
                Ok(redeemed)
            })
            .await;
        failpoint::hit("token.spent");
        redeemed
    }

    /// Whether a token could be spent on a call. It is not.
    pub async fn check_token(
        &self,
        text: &str,
        kind: TokenKind,
        scope: Scope,
        tolerance: SignedDuration,
        now: Timestamp,
    ) -> Result<Result<(), Refused>, Error> {
        let hash = hash(text);
        let look = move |connection: &Connection| {
            let found = found(connection, &hash)?;
            Ok(redeem(found.as_ref().map(|(token, ..)| token), kind, &scope, tolerance, storable(now)))
        };
        self.database.read(look).await
    }

    /// Takes a token back by the name that the audit log has for it.
    pub async fn revoke_token(&self, id: &str, now: Timestamp) -> Result<bool, Error> {
        let id = id.to_owned();
        self.database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                Ok(revoke(connection, "id", &id, storable(now))? > 0)
            })
            .await
    }

    /// How many tokens are kept.
    pub async fn tokens_kept(&self) -> Result<u64, Error> {
        let count = |connection: &Connection| {
            Ok(connection
                .query_row("SELECT count(*) FROM tokens", [], |row| crate::store::columns::count(row, 0))?)
        };
        self.database.read(count).await
    }
}

/// A token with its name in the audit log and the danger of what it is for.
fn found(connection: &Connection, hash: &Hash) -> Result<Option<(Token, String, DangerLevel)>, Error> {
    let found = connection
        .prepare_cached(
            "SELECT kind, operation, params_hash, adapter, session_id, principal, expires_at, not_before, uses_left,
                    outlives_session, used_at, id, danger
             FROM tokens WHERE hash = ?1",
        )?
        .query_row([hash], |row| Ok((token(row)?, row.get::<_, String>(11)?, danger(row, 12)?)))
        .optional()?;
    Ok(found)
}

fn spend(
    connection: &Connection,
    hash: &Hash,
    kind: TokenKind,
    scope: &Scope,
    tolerance: SignedDuration,
    now: Timestamp,
) -> Result<Result<(), Refused>, Error> {
    let found = found(connection, hash)?;
    let verdict = redeem(found.as_ref().map(|(token, ..)| token), kind, scope, tolerance, now);
    let id = found.as_ref().map(|(_, id, _)| id.as_str());
    let mut event = match &verdict {
        Ok(()) => {
            connection
                .prepare_cached(
                    "UPDATE tokens SET uses_left = uses_left - 1, used_at = ?2 WHERE hash = ?1 AND uses_left > 0",
                )?
                .execute((hash, now.as_microsecond()))?;
            event(scope, id, "TOKEN_VALIDATED", Outcome::Success)
        }
        Err(refused) => Event {
            reasons: vec![refused.as_str().to_owned()],
            ..event(scope, id, "TOKEN_REJECTED", Outcome::Failure)
        },
    };
    event.danger_level = found.as_ref().map(|(.., level)| *level);
    audit::append(connection, &event, now)?;
    Ok(verdict)
}

fn token(row: &Row<'_>) -> rusqlite::Result<Token> {
    let kind: String = row.get(0)?;
    let kind = TokenKind::ALL.into_iter().find(|known| known.as_str() == kind);
    let kind = kind.ok_or_else(|| unreadable(0, std::fmt::Error))?;
    let scope = Scope {
        operation: row.get(1)?,
        params_hash: row.get(2)?,
        adapter: row.get(3)?,
        session_id: row.get(4)?,
        principal: row.get(5)?,
    };
    Ok(Token {
        kind,
        scope,
        expires_at: time_if_any(row, 6)?,
        not_before: time_if_any(row, 7)?,
        uses_left: row.get(8)?,
        outlives_session: row.get(9)?,
        used_at: time_if_any(row, 10)?,
    })
}

fn insert(connection: &Connection, new: &NewToken, now: Timestamp) -> Result<(), Error> {
    let Token { kind, scope, expires_at, not_before, uses_left, outlives_session, .. } = &new.token;
    connection
        .prepare_cached(
            "INSERT INTO tokens (hash, id, kind, operation, params_hash, adapter, session_id, principal, danger, issued_at,
                                 expires_at, not_before, uses_left, outlives_session)
             VALUES (:hash, :id, :kind, :operation, :params_hash, :adapter, :session_id, :principal, :danger, :issued_at,
                     :expires_at, :not_before, :uses_left, :outlives_session)",
        )?
        .execute(named_params! {
            ":hash": hash(&new.text),
            ":id": new.id,
            ":kind": kind.as_str(),
            ":operation": scope.operation,
            ":params_hash": scope.params_hash,
            ":adapter": scope.adapter,
            ":session_id": scope.session_id,
            ":principal": scope.principal,
            ":danger": new.danger.number(),
            ":issued_at": now.as_microsecond(),
            ":expires_at": expires_at.map(Timestamp::as_microsecond),
            ":not_before": not_before.map(Timestamp::as_microsecond),
            ":uses_left": uses_left,
            ":outlives_session": outlives_session,
        })?;
    Ok(())
}

/// Tokens that were meant to outlive their session do.
pub(super) fn revoke_of_session(
    connection: &Connection,
    session_id: &str,
    now: Timestamp,
) -> Result<(), Error> {
    revoke(connection, "outlives_session = 0 AND session_id", session_id, now).map(drop)
}

fn revoke(connection: &Connection, column: &str, value: &str, now: Timestamp) -> Result<usize, Error> {
    let sql = format!(
        "DELETE FROM tokens WHERE {column} = ?1
         RETURNING operation, params_hash, adapter, session_id, principal, id, uses_left"
    );
    let removed = all(connection.prepare_cached(&sql)?, [value], |row| {
        let scope = Scope {
            operation: row.get(0)?,
            params_hash: row.get(1)?,
            adapter: row.get(2)?,
            session_id: row.get(3)?,
            principal: row.get(4)?,
        };
        Ok((scope, row.get::<_, String>(5)?, row.get::<_, u32>(6)?))
    })?;
    let alive = removed.iter().filter(|(.., uses_left)| *uses_left > 0);
    for (scope, id, _) in alive {
        audit::append(connection, &event(scope, Some(id), "TOKEN_REVOKED", Outcome::Success), now)?;
    }
    Ok(removed.len())
}

pub(super) fn purge(connection: &Connection, now: Timestamp) -> Result<(), Error> {
    let before = now.saturating_sub(KEPT).unwrap_or(now).as_microsecond();
    connection.execute("DELETE FROM tokens WHERE expires_at IS NULL OR expires_at < ?1", [before])?;
    Ok(())
}

fn event(scope: &Scope, id: Option<&str>, event: &str, outcome: Outcome) -> Event {
    Event {
        outcome: Some(outcome),
        session_id: Some(scope.session_id.clone()),
        principal: Some(scope.principal.clone()),
        operation: Some(scope.operation.clone()),
        adapter_name: Some(scope.adapter.clone()),
        token_id: id.map(str::to_owned),
        ..Event::new(event)
    }
}
