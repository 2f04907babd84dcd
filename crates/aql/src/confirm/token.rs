//! Confirmation tokens: whether one that is presented may be spent on a call.
//!
//! A token is a random text that says nothing. What it is good for is kept on our side, so that its holder can change
//! neither its scope nor its end.

use jiff::{SignedDuration, Timestamp};

use super::scope::Scope;
use crate::{
    danger::DangerLevel,
    error::{Code, Error},
};

/// What a token lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    Confirmation,
    QuotaContinue,
}

impl TokenKind {
    pub const ALL: [Self; 2] = [Self::Confirmation, Self::QuotaContinue];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::QuotaContinue => "quota_continue",
        }
    }

    /// What its tokens begin with.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Confirmation => "conf_",
            Self::QuotaContinue => "quota_continue_",
        }
    }
}

/// How long consent holds, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// Destructive and dangerous operations, and those that a rule asks for.
    pub usual: SignedDuration,
    pub forbidden: SignedDuration,
    pub quota: SignedDuration,
    /// How long after its end a token is still taken, since clocks differ.
    pub tolerance: SignedDuration,
}

impl Lifetimes {
    pub const USUAL_SECONDS_MAX: i64 = 15 * 60;
    pub const FORBIDDEN_SECONDS_MAX: i64 = 5 * 60;
    pub const QUOTA_SECONDS_MAX: i64 = 10 * 60;
    pub const TOLERANCE_SECONDS_MAX: i64 = 300;
    /// More than this is worth a warning.
    pub const TOLERANCE_SECONDS_ADVISED: i64 = 60;

    #[must_use]
    pub fn of(&self, level: DangerLevel) -> SignedDuration {
        if level == DangerLevel::Forbidden { self.forbidden } else { self.usual }
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            usual: SignedDuration::from_mins(5),
            forbidden: SignedDuration::from_mins(2),
            quota: SignedDuration::from_mins(5),
            tolerance: SignedDuration::from_secs(30),
        }
    }
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub scope: Scope,
    /// None is never written; such a token is refused.
    pub expires_at: Option<Timestamp>,
    /// Before this it cannot be spent.
    pub not_before: Option<Timestamp>,
    pub uses_left: u32,
    /// When it was last used.
    pub used_at: Option<Timestamp>,
    /// Whether it may be spent in another session of its principal.
    pub outlives_session: bool,
}

/// Why a token is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Unknown, malformed, revoked or another session's: which of them is not told.
    Invalid,
    Expired {
        at: Timestamp,
    },
    AlreadyUsed {
        at: Option<Timestamp>,
    },
    /// It was given for another operation, other parameters or another adapter.
    OtherScope {
        operation: String,
    },
    TooEarly {
        until: Timestamp,
    },
}

/// Whether what was found under a presented token may be spent on this call, in the order of the specification's table.
pub fn redeem(
    found: Option<&Token>,
    kind: TokenKind,
    scope: &Scope,
    tolerance: SignedDuration,
    now: Timestamp,
) -> Result<(), Refused> {
    let Some(token) = found.filter(|token| token.kind == kind) else { return Err(Refused::Invalid) };
    let own = token.scope.principal == scope.principal
        && (token.outlives_session || token.scope.session_id == scope.session_id);
    let Some(expires_at) = token.expires_at.filter(|_| own) else { return Err(Refused::Invalid) };
    if now > expires_at.saturating_add(tolerance).unwrap_or(expires_at) {
        return Err(Refused::Expired { at: expires_at });
    }
    if token.uses_left == 0 {
        return Err(Refused::AlreadyUsed { at: token.used_at });
    }
    let bound = |scope: &Scope| (scope.operation.clone(), scope.params_hash, scope.adapter.clone());
    if bound(&token.scope) != bound(scope) {
        return Err(Refused::OtherScope { operation: token.scope.operation.clone() });
    }
    match token.not_before {
        Some(until) if now < until => Err(Refused::TooEarly { until }),
        _ => Ok(()),
    }
}

/// More of what was presented is not repeated.
const TOKEN_CHARS_MAX: usize = 80;

impl Refused {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Expired { .. } => "expired",
            Self::AlreadyUsed { .. } => "already used",
            Self::OtherScope { .. } => "given for another call",
            Self::TooEarly { .. } => "too early",
        }
    }

    /// What the caller is told. Nothing of the parameters, and the same for every token that is unknown.
    #[must_use]
    pub fn error(&self, operation: &str, token: &str, now: Timestamp) -> Error {
        let again = "Repeat the call without a token to get a new one.";
        let error = match self {
            Self::Invalid => Error::new(Code::TokenInvalid, "Invalid confirmation token").hint(again),
            Self::Expired { at } => Error::new(Code::TokenExpired, "Confirmation token has expired")
                .with("expired_at", at.to_string())
                .with("current_time", now.to_string())
                .hint(again),
            Self::AlreadyUsed { at } => {
                let error = Error::new(Code::TokenAlreadyUsed, "Confirmation token has already been used")
                    .hint(again);
                match at {
                    Some(at) => error.with("consumed_at", at.to_string()),
                    None => error,
                }
            }
            Self::OtherScope { operation: given_for } => {
                Error::new(Code::TokenScopeMismatch, "Confirmation token scope mismatch")
                    .with("token_operation", given_for.as_str())
                    .with("requested_operation", operation)
                    .hint("Send exactly the call that was answered with it, or repeat yours without a token.")
            }
            Self::TooEarly { until } => {
                let wait = seconds_until(*until, now);
                return Error::new(Code::ConfirmationRequired, "This operation requires confirmation")
                    .with("retry_after_seconds", wait)
                    .hint(format!("The token can be used in {wait} seconds; repeat the same call then."))
                    .with_operation(operation);
            }
        };
        let repeated: String = token.chars().take(TOKEN_CHARS_MAX).collect();
        error.with("token", repeated).with_operation(operation)
    }
}

/// Whole seconds, rounded up.
fn seconds_until(until: Timestamp, now: Timestamp) -> u64 {
    let millis = until.duration_since(now).as_millis().max(0);
    u64::try_from((millis + 999) / 1000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn scope() -> Scope {
        Scope {
            operation: "delete_item".to_owned(),
            params_hash: [1; 32],
            adapter: "aqueduct".to_owned(),
            session_id: "a".to_owned(),
            principal: "local".to_owned(),
        }
    }

    fn token() -> Token {
        Token {
            kind: TokenKind::Confirmation,
            scope: scope(),
            expires_at: Some(at(300)),
            not_before: None,
            uses_left: 1,
            used_at: Some(at(1)),
            outlives_session: false,
        }
    }

    fn present(token: Option<&Token>, scope: &Scope, seconds: i64, tolerance: i64) -> Result<(), Refused> {
        let tolerance = SignedDuration::from_secs(tolerance);
        redeem(token, TokenKind::Confirmation, scope, tolerance, at(seconds))
    }

    /// LREQ-TOKEN-06 LREQ-TOKEN-04
    #[test]
    fn each_fault_has_its_code_and_the_first_in_the_table_is_told() {
        assert_eq!(present(Some(&token()), &scope(), 10, 0), Ok(()));
        assert_eq!(present(None, &scope(), 10, 0), Err(Refused::Invalid));
        assert_eq!(present(Some(&token()), &scope(), 301, 0), Err(Refused::Expired { at: at(300) }));
        let used = Token { uses_left: 0, ..token() };
        assert_eq!(present(Some(&used), &scope(), 10, 0), Err(Refused::AlreadyUsed { at: Some(at(1)) }));
        assert_eq!(present(Some(&used), &scope(), 301, 0), Err(Refused::Expired { at: at(300) }));
        let others = [
            Scope { operation: "delete_all".to_owned(), ..scope() },
            Scope { params_hash: [2; 32], ..scope() },
            Scope { adapter: "other".to_owned(), ..scope() },
        ];
        for other in others {
            assert_eq!(
                present(Some(&token()), &other, 10, 0),
                Err(Refused::OtherScope { operation: "delete_item".to_owned() })
            );
            assert_eq!(present(Some(&used), &other, 10, 0), Err(Refused::AlreadyUsed { at: Some(at(1)) }));
        }
        let quota = Token { kind: TokenKind::QuotaContinue, ..token() };
        assert_eq!(present(Some(&quota), &scope(), 10, 0), Err(Refused::Invalid));
    }

    /// REQ-SESS-04 REQ-SESS-05 REQ-SESS-13
    #[test]
    fn another_sessions_or_principals_token_is_unknown() {
        let session = Scope { session_id: "b".to_owned(), ..scope() };
        let principal = Scope { principal: "mallory".to_owned(), ..scope() };
        for other in [&session, &principal] {
            assert_eq!(present(Some(&token()), other, 10, 0), Err(Refused::Invalid));
        }
        let kept = Token { outlives_session: true, ..token() };
        assert_eq!(present(Some(&kept), &session, 10, 0), Ok(()));
        assert_eq!(present(Some(&kept), &principal, 10, 0), Err(Refused::Invalid));
    }

    /// LREQ-TOKEN-08 LREQ-TOKEN-09
    #[test]
    fn every_token_expires_with_the_tolerance_that_was_chosen() {
        assert_eq!(present(Some(&token()), &scope(), 300, 0), Ok(()));
        assert!(matches!(present(Some(&token()), &scope(), 301, 0), Err(Refused::Expired { .. })));
        assert_eq!(present(Some(&token()), &scope(), 329, 30), Ok(()));
        assert!(matches!(present(Some(&token()), &scope(), 331, 30), Err(Refused::Expired { .. })));
        let endless = Token { expires_at: None, ..token() };
        assert_eq!(present(Some(&endless), &scope(), 10, 300), Err(Refused::Invalid));
    }

    /// LREQ-DANGER-04
    #[test]
    fn a_token_with_a_cooldown_waits() {
        let cooling = Token { not_before: Some(at(5)), ..token() };
        let refused = present(Some(&cooling), &scope(), 2, 0).unwrap_err();
        assert_eq!(refused.error("delete_item", "conf_x", at(2)).details["retry_after_seconds"], 3);
        assert_eq!(present(Some(&cooling), &scope(), 6, 0), Ok(()));
    }

    /// LREQ-TOKEN-07
    #[test]
    fn the_most_dangerous_consent_is_the_shortest() {
        let lifetimes = Lifetimes::default();
        assert_eq!(lifetimes.of(DangerLevel::Destructive), SignedDuration::from_secs(300));
        assert_eq!(lifetimes.of(DangerLevel::Dangerous), SignedDuration::from_secs(300));
        assert_eq!(lifetimes.of(DangerLevel::Forbidden), SignedDuration::from_secs(120));
        assert_eq!(lifetimes.quota, SignedDuration::from_secs(300));
    }

    /// LREQ-TOKEN-15 LREQ-ERR-21
    #[test]
    fn failures_have_their_words_and_tell_nothing_that_helps_guessing() {
        let all = [
            (Refused::Invalid, "Invalid confirmation token", &["token"][..]),
            (
                Refused::Expired { at: at(0) },
                "Confirmation token has expired",
                &["expired_at", "current_time"],
            ),
            (
                Refused::AlreadyUsed { at: Some(at(0)) },
                "Confirmation token has already been used",
                &["consumed_at"],
            ),
            (
                Refused::OtherScope { operation: "drop_item".to_owned() },
                "Confirmation token scope mismatch",
                &["token_operation", "requested_operation"],
            ),
        ];
        for (refused, message, keys) in all {
            let error = refused.error("delete_item", "conf_given", at(1));
            assert_eq!(error.message, message);
            assert!(keys.iter().all(|key| error.details.contains_key(*key)), "{error:?}");
            assert_eq!(error.details["token"], "conf_given");
            assert!(!format!("{:?}", error.details).contains("local"), "{error:?}");
        }
        let long = Refused::Invalid.error("x", &"y".repeat(500), at(1));
        assert_eq!(long.details["token"].as_str().unwrap().len(), TOKEN_CHARS_MAX);
    }

    proptest! {
        /// LREQ-TOKEN-14: whatever is presented, only the same call in the same session in time is let through.
        #[test]
        fn only_the_very_call_is_let_through(
            same in prop::array::uniform6(any::<bool>()), uses in 0_u32..2, now in 0_i64..700, tolerance in 0_i64..60,
        ) {
            let pick = |same: bool, text: &str| if same { text.to_owned() } else { format!("{text}x") };
            let presented = Scope {
                operation: pick(same[0], "delete_item"),
                params_hash: if same[1] { [1; 32] } else { [3; 32] },
                adapter: pick(same[2], "aqueduct"),
                session_id: pick(same[3], "a"),
                principal: pick(same[4], "local"),
            };
            let kept = Token { uses_left: uses, ..token() };
            let found = same[5].then_some(&kept);
            let expected = same.iter().all(|same| *same) && uses > 0 && now <= 300 + tolerance;
            prop_assert_eq!(present(found, &presented, now, tolerance).is_ok(), expected);
        }
    }
}
