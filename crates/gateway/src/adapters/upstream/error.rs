//! An upstream's failure as an answer of ours: the best code that its words allow, and its own words beside it.

use aql::error::{Code, Error};
use serde_json::{Map, Value, json};

use super::{
    peer::Failure,
    slot::{Trouble, explain},
};

/// How much of an upstream's text is repeated.
const TEXT_BYTES_MAX: usize = 4000;

/// Words that servers use for a failure, and the code that stands for it. The first that fits decides.
const WORDS: [(Code, &[&str]); 6] = [
    (
        Code::RateLimitExceeded,
        &[
            "rate limit",
            "rate-limit",
            "too many requests",
            "quota exceeded",
            "status 429",
            "http 429",
            "(429)",
        ],
    ),
    (
        Code::PermissionDenied,
        &[
            "permission denied",
            "access denied",
            "not authorized",
            "unauthorized",
            "forbidden",
            "not allowed",
            "insufficient permission",
            "status 401",
            "status 403",
            "http 401",
            "http 403",
            "(401)",
            "(403)",
            "outside allowed director",
        ],
    ),
    (Code::AlreadyExists, &["already exists", "eexist", "duplicate key", "status 409", "http 409", "(409)"]),
    (
        Code::NotFoundResource,
        &[
            "not found",
            "no such file",
            "does not exist",
            "doesn't exist",
            "enoent",
            "could not find",
            "cannot find",
            "status 404",
            "http 404",
            "(404)",
        ],
    ),
    (
        Code::InvalidType,
        &[
            "input validation error",
            "validation error",
            "invalid arguments",
            "invalid argument",
            "invalid params",
            "invalid input",
            "invalid parameter",
            "is required",
            "missing required",
        ],
    ),
    (
        Code::Unavailable,
        &["service unavailable", "status 503", "http 503", "econnrefused", "connection refused"],
    ),
];

/// Where a call went.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
}

impl Place<'_> {
    fn details(self, text: &str) -> Map<String, Value> {
        let text = shortened(text);
        Map::from_iter([
            ("server".to_owned(), json!(self.server)),
            ("tool".to_owned(), json!(self.tool)),
            ("message".to_owned(), json!(text)),
        ])
    }
}

/// The beginning and the end of a long text: the reason often stands last.
fn shortened(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let (head, tail) = (
        text.floor_char_boundary(TEXT_BYTES_MAX / 2),
        text.ceil_char_boundary(text.len() - TEXT_BYTES_MAX / 2),
    );
    format!("{} … {}", text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default())
}

/// The code that a text allows.
fn code_of(text: &str) -> Code {
    let text = text.to_lowercase();
    let said = |words: &[&str]| words.iter().any(|word| text.contains(word));
    WORDS.iter().find(|(_, words)| said(words)).map_or(Code::Internal, |(code, _)| *code)
}

/// The tool ran and says that it failed.
pub(super) fn of_tool(place: Place<'_>, text: &str) -> Error {
    let code = code_of(text);
    let Place { server, tool } = place;
    let message = match code {
        Code::RateLimitExceeded => format!("The server '{server}' limits how often '{tool}' may be called"),
        Code::PermissionDenied => "Permission denied: the server behind this operation refuses it".to_owned(),
        Code::AlreadyExists => format!("The server '{server}' has it already"),
        Code::NotFoundResource => {
            format!("The server '{server}' found nothing for '{tool}' under these parameters")
        }
        Code::InvalidType => format!("The server '{server}' does not accept these parameters for '{tool}'"),
        Code::Unavailable => format!("The server '{server}' depends on something which is not available"),
        _ => format!("Internal error: the tool '{tool}' of server '{server}' failed"),
    };
    let error = Error::new(code, message).with("upstream_error", place.details(text));
    match code {
        Code::PermissionDenied => error
            .with("reason", "the server behind this operation refuses it")
            .hint("Read why in 'upstream_error'."),
        Code::RateLimitExceeded => error.hint("Wait before calling it again."),
        Code::InvalidType => {
            error.hint("Read in 'upstream_error' what it expects, and correct the parameters.")
        }
        _ => error.hint("Read the server's own words in 'upstream_error'."),
    }
}

/// The call did not get as far, or nothing came back.
pub(super) fn of_call(place: Place<'_>, failure: &Failure) -> Error {
    let Place { server, tool } = place;
    match failure {
        Failure::Rpc(error) => {
            let mut told = of_tool(place, &error.message);
            if let Some(Value::Object(upstream)) = told.details.get_mut("upstream_error") {
                upstream.insert("code".to_owned(), json!(error.code));
                upstream.extend(error.data.clone().map(|data| ("data".to_owned(), data)));
            }
            told
        }
        Failure::Gone(why) => {
            Error::new(Code::Unavailable, format!("The server '{server}' ended while '{tool}' was running"))
                .with("upstream_error", place.details(why))
                .hint("It is started again by the next call. Check first whether this one had an effect.")
        }
        Failure::TimedOut(allowed) => {
            let message =
                format!("The server '{server}' did not answer '{tool}' within {} s", allowed.as_secs());
            Error::new(Code::Unavailable, message)
                .with("upstream_error", place.details("no answer in time"))
                .hint("Check whether the call had an effect before repeating it. The operator can raise 'timeout_seconds'.")
        }
        Failure::Broken(why) => {
            Error::new(Code::Unavailable, format!("The server '{server}' gave no result of '{tool}'"))
                .with("upstream_error", place.details(why))
                .hint("Check whether the call had an effect before repeating it.")
        }
        Failure::Refused(http::StatusCode::TOO_MANY_REQUESTS, why) => {
            Error::new(Code::RateLimitExceeded, "API rate limit exceeded")
                .with("upstream_error", place.details(why))
                .hint("Wait before calling it again.")
        }
        Failure::SessionLost | Failure::Unreachable(_) | Failure::Refused(..) => {
            unreachable(place, &explain(failure), "The call may be repeated.")
        }
    }
}

/// Whether a server turned a request away for now.
pub(super) fn is_too_much(status: http::StatusCode) -> bool {
    matches!(status, http::StatusCode::TOO_MANY_REQUESTS | http::StatusCode::SERVICE_UNAVAILABLE)
}

/// Too many calls are under way.
pub(super) fn busy(place: Place<'_>, most: usize) -> Error {
    let message = format!("The server '{}' is busy with {most} calls", place.server);
    Error::new(Code::Unavailable, message)
        .with("upstream_error", place.details("no place became free in time"))
        .hint("The call may be repeated. The operator can raise 'max_concurrent_calls'.")
}

/// There is no connection.
pub(super) fn of_opening(place: Place<'_>, trouble: &Trouble) -> Error {
    match trouble.pause {
        Some(pause) => {
            let seconds = pause.as_secs().max(1);
            let error = unreachable(
                place,
                &trouble.why,
                &format!("It is tried again in {seconds} s; 'aqueduct doctor' says what is wrong."),
            );
            error.with("retry_after_seconds", seconds)
        }
        None => unreachable(place, &trouble.why, "'aqueduct doctor' says what is wrong."),
    }
}

fn unreachable(place: Place<'_>, why: &str, hint: &str) -> Error {
    Error::new(Code::Unavailable, format!("The server '{}' cannot be reached", place.server))
        .with("upstream_error", place.details(why))
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'static> = Place { server: "files", tool: "read" };

    #[test]
    fn the_code_is_the_best_that_the_words_allow() {
        for (text, code) in [
            ("ENOENT: no such file or directory, open '/x'", Code::NotFoundResource),
            ("Error: Access denied - path outside allowed directories", Code::PermissionDenied),
            ("429 Too Many Requests", Code::RateLimitExceeded),
            ("MCP error -32602: Input validation error: Invalid arguments for tool echo", Code::InvalidType),
            ("A repository with this name already exists", Code::AlreadyExists),
            ("connect ECONNREFUSED 127.0.0.1:5432", Code::Unavailable),
            ("boom", Code::Internal),
            ("", Code::Internal),
        ] {
            let error = of_tool(PLACE, text);
            assert_eq!(error.code, code, "{text}");
            assert_eq!(error.details["upstream_error"]["message"], text);
            assert!(error.details.contains_key("hint"), "{text}");
        }
    }

    #[test]
    fn no_message_of_ours_looks_like_a_stack_frame() {
        let leak = regex_like;
        for (_, words) in WORDS {
            for word in words {
                assert!(!leak(&of_tool(PLACE, word).message));
            }
        }
    }

    fn regex_like(text: &str) -> bool {
        let mut words = text.split_whitespace();
        words.next_back();
        words.any(|word| word.to_lowercase().ends_with("at"))
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let error = of_tool(PLACE, &"ü".repeat(5000));
        let told = error.details["upstream_error"]["message"].as_str().unwrap();
        assert!(told.len() <= TEXT_BYTES_MAX + 8 && told.starts_with('ü') && told.ends_with('ü'), "{told}");
        let error = of_tool(PLACE, &format!("{}the reason", "x".repeat(9000)));
        assert!(error.details["upstream_error"]["message"].as_str().unwrap().ends_with("the reason"));
    }
}
