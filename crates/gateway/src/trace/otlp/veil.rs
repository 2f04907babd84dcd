//! Secrets in what is reported: by the same rules as in our own calls, in names and texts, in JSON within texts and in
//! addresses, and the codes of people as well. Contents of resources are left out as in those.

use aql::{autonomy::code, confirm};
use serde_json::Value;

use super::{
    given::Pairs,
    known::{Gathered, Known, known},
};
use crate::trace::{
    Attributes, Sorted, names,
    preview::{self, PREVIEW_BYTES},
    redact::contents,
};

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
/// Names that sound like a secret's, and are none.
const PLAIN: [&str; 4] =
    [names::PROGRESS_TOKEN, names::STOP_REASON, "gen_ai.token.type", "gen_ai.response.finish_reasons"];

/// What the token of a request's progress is called where its progress is told.
const TOLD_TOKEN: &str = "token";

/// Puts `[redacted]` in place of what is secret.
pub(super) fn veil(attributes: &mut Attributes) {
    veil_of("", attributes);
}

/// The same for what is said of something that happened. The token of a progress is no secret.
pub(super) fn veil_of(event: &str, attributes: &mut Attributes) {
    let mut renamed = Vec::new();
    for (name, value) in attributes.iter_mut() {
        let known = known_in(event, name);
        hide(name, known, value);
        if known.holds_secret {
            renamed.push(name.to_owned());
        }
    }
    for name in renamed {
        if let (Some(shown), Some(value)) = (text_shown(&name), attributes.remove(&name)) {
            attributes.insert(shown, value);
        }
    }
}

/// Attributes as they were given, without secrets and with none too long, and what is known of their names. The last of
/// several with the same name stands, as in an object.
pub(super) fn kept(given: Pairs<'_>) -> (Sorted<'_>, Gathered) {
    kept_of("", given)
}

/// The same for what is said of something that happened.
pub(super) fn kept_of<'a>(event: &str, mut given: Pairs<'a>) -> (Sorted<'a>, Gathered) {
    let mut gathered = Gathered::default();
    let mut is_long = false;
    for (name, value) in &mut given {
        let mut of_name = known_in(event, name);
        hide(name, of_name, value);
        if of_name.holds_secret
            && let Some(shown) = text_shown(name)
        {
            *name = shown.into();
            of_name = known(name);
        }
        gathered.add(of_name);
        is_long |= match value {
            Value::String(text) => text.len() > PREVIEW_BYTES,
            Value::Array(_) | Value::Object(_) => true,
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        };
    }
    let mut attributes: Sorted<'_> = given.into_iter().collect();
    if is_long {
        preview::cut(&mut attributes);
    }
    (attributes, gathered)
}

/// The same for a text of its own: the name of a span, or of what happened in it.
pub(super) fn text(text: &mut String) {
    if let Some(shown) = text_shown(text) {
        *text = shown;
    }
}

fn known_in(event: &str, name: &str) -> Known {
    let mut known = known(name);
    known.is_secret &= event != names::event::PROGRESS || name != TOLD_TOKEN;
    known
}

fn hide(name: &str, known: Known, value: &mut Value) {
    let hides = match value {
        Value::Null | Value::Bool(_) => return,
        Value::Number(_) if !known.is_secret_number => return,
        Value::Number(_) => true,
        Value::String(_) => known.is_secret,
        // Counts may stand in lists and objects, too.
        Value::Array(_) | Value::Object(_) => {
            let last = name.rsplit('.').next().unwrap_or(name);
            known.is_secret && (!confirm::is_counting_key(last) || confirm::is_hidden(last, value))
        }
    };
    if hides {
        *value = Value::String(REDACTED.to_owned());
        return;
    }
    mask(value);
    match value {
        Value::String(text) => {
            if let Some(shown) = contents::left_out(text) {
                *text = shown;
            }
        }
        Value::Array(_) | Value::Object(_) => {
            contents::leave_out(value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    if let Some(shown) = confirm::recorded_value(name, value) {
        *value = shown;
    }
}

/// Codes that people tell agents, wherever these repeat them.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(masked) = code::masked(text) {
                *text = masked;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::Object(members) => members.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text without secrets, where it has any.
pub(super) fn text_shown(text: &str) -> Option<String> {
    let masked = code::masked(text);
    if masked.is_none() && confirm::is_plain(text) {
        return None;
    }
    let value = Value::String(masked.unwrap_or_else(|| text.to_owned()));
    let shown = confirm::recorded_value("", &value).unwrap_or(value);
    shown.as_str().filter(|shown| *shown != text).map(str::to_owned)
}

/// Whether a name is that of a secret, by its last part or as a whole, and whether a number is one that has it.
pub(super) fn is_secret_name(name: &str) -> (bool, bool) {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_ours = is_secret(name);
    let is_secret =
        !PLAIN.contains(&name) && (is_ours || confirm::is_secret_key(last) || confirm::is_secret_key(name));
    (is_secret, is_ours)
}

/// Whether the last part of a name is that of a secret: `http.request.header.x-api-key`.
fn is_secret(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    // The longest that is known, with what may join its words.
    if last.len() > 24 {
        return false;
    }
    let letters = || last.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    let length = letters().count();
    SECRET.iter().any(|secret| secret.len() == length && letters().eq(secret.bytes()))
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
            "note": "it sent Bearer eyJhbGciOi.abc-_x and the bearer of this",
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
            "note": "it sent Bearer [redacted] and the bearer of this",
            "nested": {"headers": {"Set-Cookie": REDACTED, "accept": "text/html"}},
            "is.secret": true,
        }))
        .unwrap();
        assert_eq!(attributes, expected);
        let before = attributes.clone();
        veil(&mut attributes);
        assert_eq!(attributes, before, "twice is once");
    }

    fn veiled(name: &str, value: Value) -> String {
        let mut attributes = Attributes::from([(name.to_owned(), value)]);
        veil(&mut attributes);
        serde_json::to_string(&attributes).unwrap()
    }

    /// Whatever our own calls are cleared of is no less secret in a report.
    #[test]
    fn reports_are_cleared_of_what_our_own_calls_are() {
        let secret = "hunter2-S3cr3t";
        let code = code::write(&[7; 18]);
        for (name, value) in [
            ("db_password", json!(secret)),
            ("db.connection.password", json!(secret)),
            ("app.tokens", json!([secret])),
            ("note", json!({"headers": [["X-Api-Key", secret]]})),
            ("note", json!(format!("POST /login?user=a&password={secret}"))),
            ("note", json!(format!("Authorization:Bearer {secret}"))),
            (
                "note",
                json!(format!(
                    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n{secret}\n-----END PRIVATE KEY-----"
                )),
            ),
            ("app.dbPassword", json!([secret])),
            ("db.connection_string", json!(secret)),
            ("http.request.header.cookie", json!([secret])),
            ("url.full", json!(format!("https://me:{secret}@host/x"))),
            ("url.full", json!(format!("https://host/x?token={secret}&page=2"))),
            ("http.url", json!(format!("https://host/x#access_token={secret}"))),
            (
                "gen_ai.tool.call.arguments",
                json!(format!("{{\"password\": \"{secret}\", \"user\": \"me\"}}")),
            ),
            ("process.command_args", json!(["--api-key", secret, "run"])),
            ("process.command_line", json!(format!("DB_PASSWORD={secret} ./run"))),
            ("nested", json!({"env": [{"name": "GITHUB_TOKEN", "value": secret}]})),
            ("note", json!(format!("curl -H 'Authorization: Bearer {secret}'"))),
            ("note", json!(format!("ä Bearer {secret}ä"))),
            ("note", json!(format!("the code is {code}"))),
            ("note", json!({"deep": [code]})),
            ("token=hunter2-S3cr3t", json!(1)),
        ] {
            let shown = veiled(name, value.clone());
            assert!(!shown.contains(secret) && !shown.contains(&code), "{name} {value}: {shown}");
        }
    }

    #[test]
    fn what_tells_spans_apart_stays() {
        for (name, value) in [
            ("mcp.request_id", json!("0192f0c1b7a87d3e9c4f5a6b7c8d9e0f")),
            ("session.id", json!("0192f0c1-b7a8-7d3e-9c4f-5a6b7c8d9e0f")),
            ("gen_ai.response.id", json!("resp_A8fk29dLq0Zx7Tn3Vb5M")),
            ("url.full", json!("https://host/x?page=2")),
            ("mcp.progress.token", json!("p1")),
            ("gen_ai.usage.output_tokens", json!(7)),
            ("usage.tokens", json!({"in": 7, "out": [8]})),
            ("mcp.tool.input_json", json!("{\"query\":\"words\"}")),
        ] {
            let shown = veiled(name, value.clone());
            assert_eq!(shown, json!({name: value}).to_string());
        }
    }

    /// REQ-ISEC-01
    #[test]
    fn contents_of_resources_are_left_out() {
        let resource = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "MARKER"}});
        let output = json!({"content": [resource]});
        for (name, value) in [
            ("mcp.tool.output_json", json!(output.to_string())),
            ("mcp.tool.output_json", json!({"content": [{"type": "text", "text": output.to_string()}]})),
            ("gen_ai.tool.call.result", output),
            ("note", json!({"contents": [{"uri": "file:///a", "blob": "MARKER"}]})),
        ] {
            let shown = veiled(name, value);
            assert!(!shown.contains("MARKER") && shown.contains("file:///a"), "{shown}");
        }
    }

    #[test]
    fn the_token_of_a_progress_stays_where_progress_is_told() {
        let told = |event: &str, token: &str| {
            let mut attributes = Attributes::from([("token".to_owned(), json!(token))]);
            veil_of(event, &mut attributes);
            let kept = kept_of(event, vec![("token".into(), json!(token))]).0.into_owned();
            assert_eq!(kept, attributes);
            attributes.get("token").cloned()
        };
        assert_eq!(told(names::event::PROGRESS, "pt-1"), Some(json!("pt-1")));
        assert_eq!(told(names::event::PROGRESS, "sk-live0123456789"), Some(json!(REDACTED)));
        assert_eq!(told("login", "pt-1"), Some(json!(REDACTED)));
    }

    #[test]
    fn names_of_spans_are_texts_too() {
        for name in ["GET https://me:hunter2@host/x", "login password=hunter2", "Bearer hunter2hunter2"] {
            let mut shown = name.to_owned();
            text(&mut shown);
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let mut plain = "tools/call search_code".to_owned();
        text(&mut plain);
        assert_eq!(plain, "tools/call search_code");
    }
}
