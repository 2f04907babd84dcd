//! Secrets in what is reported, where everybody puts them: under the names of headers and keys, and behind `Bearer`.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::Value;

use crate::trace::Attributes;

const REDACTED: &str = "[redacted]";

/// Last parts of names, without what joins their words, whose values nobody may see.
const SECRET: [&str; 22] = [
    "authorization",
    "proxyauthorization",
    "cookie",
    "setcookie",
    "xapikey",
    "apikey",
    "openaiapikey",
    "anthropicapikey",
    "xauthtoken",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "bearertoken",
    "sessiontoken",
    "securitytoken",
    "clientsecret",
    "secretkey",
    "secret",
    "password",
    "passwd",
    "privatekey",
];
/// No token is shorter.
const TOKEN_CHARS_MIN: usize = 8;

static BEARER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("earer "));

/// Puts `[redacted]` in place of what is secret.
pub(super) fn veil(attributes: &mut Attributes) {
    for (name, value) in attributes.iter_mut() {
        hide(name, value);
    }
}

fn hide(name: &str, value: &mut Value) {
    if is_secret(name) && !matches!(value, Value::Null | Value::Bool(_)) {
        *value = Value::String(REDACTED.to_owned());
        return;
    }
    match value {
        Value::String(text) => {
            if let Some(shown) = without_tokens(text) {
                *text = shown;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide("", value)),
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| hide(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether the last part of a name is that of a secret: `http.request.header.x-api-key`.
pub(super) fn is_secret(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    // The longest that is known, with what may join its words.
    if last.len() > 24 {
        return false;
    }
    let letters = || last.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let length = letters().count();
    SECRET.iter().any(|secret| secret.len() == length && letters().eq(secret.bytes()))
}

/// The text without what stands behind `Bearer`, if there is any.
fn without_tokens(text: &str) -> Option<String> {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    let mut shown = String::new();
    let mut rest = text;
    while let Some(found) = BEARER.find(rest.as_bytes()) {
        let (before, after) = rest.split_at_checked(found + 6)?;
        shown.push_str(before);
        let token = after.len() - after.trim_start_matches(is_of_token).len();
        let is_bearer =
            found > 0 && rest.as_bytes().get(found - 1).is_some_and(|b| b.eq_ignore_ascii_case(&b'b'));
        if is_bearer && token >= TOKEN_CHARS_MIN {
            shown.push_str(REDACTED);
        } else {
            shown.push_str(after.get(..token)?);
        }
        rest = after.get(token..)?;
    }
    if shown.is_empty() {
        return None;
    }
    shown.push_str(rest);
    Some(shown)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_counts_are_not() {
        let mut attributes: Attributes = serde_json::from_value(json!({
            "http.request.header.authorization": ["Bearer abc"],
            "http.request.header.x-api-key": "k-123",
            "API_KEY": 7,
            "db.password": "hunter2",
            "gen_ai.usage.input_tokens": 12,
            "mcp.progress.token": "p1",
            "note": "curl -H 'Authorization: Bearer eyJhbGciOi.abc-_x' and the bearer of this",
            "nested": {"headers": {"Set-Cookie": "a=b", "accept": "text/html"}},
            "is.secret": true,
        }))
        .unwrap();
        veil(&mut attributes);
        let expected: Attributes = serde_json::from_value(json!({
            "http.request.header.authorization": REDACTED,
            "http.request.header.x-api-key": REDACTED,
            "API_KEY": REDACTED,
            "db.password": REDACTED,
            "gen_ai.usage.input_tokens": 12,
            "mcp.progress.token": "p1",
            "note": "curl -H 'Authorization: Bearer [redacted]' and the bearer of this",
            "nested": {"headers": {"Set-Cookie": REDACTED, "accept": "text/html"}},
            "is.secret": true,
        }))
        .unwrap();
        assert_eq!(attributes, expected);
        let before = attributes.clone();
        veil(&mut attributes);
        assert_eq!(attributes, before, "twice is once");
    }

    #[test]
    fn a_token_is_found_wherever_it_stands() {
        assert_eq!(without_tokens("Bearer 12345678").unwrap(), "Bearer [redacted]");
        assert_eq!(without_tokens("bearer 12345678 BEARER"), Some("bearer [redacted] BEARER".to_owned()));
        assert_eq!(
            without_tokens("ä Bearer 12345678ä Bearer 87654321").unwrap(),
            "ä Bearer [redacted]ä Bearer [redacted]"
        );
        assert_eq!(without_tokens("wearer 12345678").unwrap(), "wearer 12345678");
        assert_eq!(without_tokens("nothing"), None);
    }
}
