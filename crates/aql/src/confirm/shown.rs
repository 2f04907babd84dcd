//! A call's parameters as a person may see them and as they may be written down.

use serde_json::{Map, Value};

use super::{clean, list::List, secrets, words};
use crate::operation::Operation;

/// What stands where something secret stood.
const HIDDEN: &str = "[redacted]";
/// A text beyond this is cut, and says so: whoever decides must know that there is more.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// A name beyond this is cut as well.
pub(super) const NAME_BYTES_MAX: usize = 256;
/// About what everything together may take, where a person decides by it.
pub const SHOWN_BYTES_MAX: usize = 64 * 1024;

/// The parameters without what is declared sensitive, what is called or looks like a secret, and what goes beyond about
/// so many bytes.
#[must_use]
pub fn shown(operation: &Operation, params: &Map<String, Value>, bytes_max: usize) -> Value {
    let declared = |name: &str| operation.params().iter().any(|p| p.name() == name && p.is_sensitive());
    members(params, &declared, &mut Room { left: bytes_max, text: TEXT_BYTES_MAX })
}

/// The same with nothing cut, for what is written down as a whole.
#[must_use]
pub fn recorded(operation: Option<&Operation>, params: &Map<String, Value>) -> Value {
    let declared = |name: &str| {
        operation.is_some_and(|operation| {
            operation.params().iter().any(|param| param.name() == name && param.is_sensitive())
        })
    };
    members(params, &declared, &mut Room::endless())
}

/// What [`recorded`] makes of one value under a name that is no secret's; nothing where it stays as it is.
#[must_use]
pub fn recorded_value(name: &str, value: &Value) -> Option<Value> {
    if clean::is_clean(name, value) {
        return None;
    }
    let shown = one(name, value, &mut Room::endless());
    (shown != *value).then_some(shown)
}

/// Whether [`recorded`] leaves everything in a text of JSON as it is.
#[must_use]
pub fn is_clean_json(json: &str) -> bool {
    secrets::may_be_json(json) && clean::is_clean_text("", json)
}

/// The same for a request that is no operation's.
#[must_use]
pub fn shown_request(params: &Map<String, Value>, bytes_max: usize) -> Value {
    members(params, &|_| false, &mut Room { left: bytes_max, text: TEXT_BYTES_MAX })
}

/// How much may still be shown, and how much of one text.
struct Room {
    left: usize,
    text: usize,
}

impl Room {
    fn endless() -> Self {
        Self { left: usize::MAX, text: usize::MAX }
    }

    fn take(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

fn members(object: &Map<String, Value>, is_sensitive: &dyn Fn(&str) -> bool, room: &mut Room) -> Value {
    let is_pair = secrets::is_secret_pair(object);
    let mut shown = Map::new();
    for (place, (name, value)) in object.iter().enumerate() {
        if room.left == 0 {
            shown.insert(format!("[{} more]", object.len() - place), "[not shown]".into());
            break;
        }
        let key = cut(&words::text("", name), NAME_BYTES_MAX);
        room.take(key.len() + 8);
        let in_pair = is_pair && name.eq_ignore_ascii_case("value");
        let in_pair = in_pair && !matches!(value, Value::Bool(_) | Value::Null);
        let hidden = is_sensitive(name) || in_pair || secrets::hides(name, value);
        shown.insert(key, if hidden { HIDDEN.into() } else { one(name, value, room) });
    }
    Value::Object(shown)
}

fn one(name: &str, value: &Value, room: &mut Room) -> Value {
    if room.left == 0 {
        return "[more is not shown]".into();
    }
    match value {
        Value::String(text) => {
            let clean = clean(name, text);
            let most = room.text.min(room.left);
            room.take(clean.len() + 4);
            cut(&clean, most).into()
        }
        Value::Array(items) => {
            let mut shown = Vec::new();
            let mut list = List::of(items);
            for (place, item) in items.iter().enumerate() {
                if room.left == 0 {
                    shown.push(format!("[{} more are not shown]", items.len() - place).into());
                    break;
                }
                let hidden = list.hides(item);
                shown.push(if hidden { HIDDEN.into() } else { one(name, item, room) });
            }
            room.take(2);
            Value::Array(shown)
        }
        Value::Object(object) => {
            room.take(2);
            members(object, &|_| false, room)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            room.take(8);
            value.clone()
        }
    }
}

/// A text without secrets. Where it is JSON itself, names in it count as well.
fn clean(name: &str, text: &str) -> String {
    if clean::is_clean_text(name, text) {
        return text.to_owned();
    }
    let inner = secrets::may_be_json(text).then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    if let Some(inner) = inner {
        let shown = one(name, &inner, &mut Room::endless());
        return if shown == inner { text.to_owned() } else { shown.to_string() };
    }
    words::text(name, text)
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{} [{} more bytes are not shown]", text.get(..end).unwrap_or_default(), text.len() - end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        category::Category,
        define::{self, Param},
        registry::Registry,
    };

    /// LREQ-DANGER-15
    #[test]
    fn secrets_are_hidden_and_what_is_cut_is_told() {
        let operation = define::Operation::new(Category::Delete, "delete_item", "Delete an item")
            .param(Param::new("pin", "string", "A pin").sensitive())
            .param(Param::new("options", "object", "Options"));
        let registry = Registry::builder("test").operation(operation).build().unwrap();
        let operation = registry.get(registry.id("delete_item").unwrap()).unwrap();
        let long = "x".repeat(10_000);
        let params = json!({"pin": "1234", "options": {"api_key": "abc", "list": [long, 1], "force": true}});
        let shown = shown(operation, params.as_object().unwrap(), SHOWN_BYTES_MAX);
        assert_eq!(shown["pin"], "[redacted]");
        assert_eq!(shown["options"]["api_key"], "[redacted]");
        assert_eq!(shown["options"]["force"], true);
        let text = shown["options"]["list"][0].as_str().unwrap();
        assert!(text.ends_with("[1808 more bytes are not shown]"), "{text}");
        let huge = json!({"options": {"list": vec!["y".repeat(8_000); 20]}});
        assert!(
            super::shown(operation, huge.as_object().unwrap(), SHOWN_BYTES_MAX).to_string().len() < 80_000
        );
    }

    fn of(params: &Value) -> Value {
        shown_request(params.as_object().unwrap(), SHOWN_BYTES_MAX)
    }

    /// LREQ-DANGER-15
    #[test]
    fn secrets_are_known_by_their_look_and_place_as_well() {
        let secret = "hunter2-S3cr3t";
        for params in [
            json!({"note": "ghp_0123456789abcdef"}),
            json!({"note": "use sk-live0123456789 please"}),
            json!({"id": "ghp_0123456789abcdef"}),
            json!({"text": "a8Fk29dLq0Zx7Tn3Vb5M"}),
            json!({"url": format!("https://me:{secret}@host/x")}),
            json!({"url": format!("postgres://me:{secret}@db:5432/x")}),
            json!({"url": format!("https://host/x?token={secret}&page=2")}),
            json!({"url": format!("https://host/x#access_token={secret}")}),
            json!({"command": format!("curl --url=https://me:{secret}@host/x -v")}),
            json!({"command": format!("DB_PASSWORD={secret} ./run")}),
            json!({"command": format!("export API_KEY='{secret}'; ./run")}),
            json!({"command": format!("tool --password {secret} --force")}),
            json!({"command": format!("curl -H 'Authorization: Bearer {secret}' https://host/")}),
            json!({"command": format!("curl -H 'Cookie: a=1; session={secret}'")}),
            json!({"args": ["--api-key", secret, "run"]}),
            json!({"args": [format!("--token={secret}")]}),
            json!({"env": [{"name": "GITHUB_TOKEN", "value": secret}]}),
            json!({"headers": [{"key": "Authorization", "value": secret}]}),
            json!({"headers": {"Cookie": secret}}),
            json!({"headers": [{"name": "X-Api-Key", "value": secret}]}),
            json!({"headers": [["X-Api-Key", secret], ["Accept", "a"]]}),
            json!({"rawHeaders": ["Host", "a", "Authorization", secret, "Accept", "b"]}),
            json!({"passwords": [secret], "tokens": {"a": [secret]}, "access_tokens": secret, "api_keys": [secret]}),
            json!({"pass": secret, "pin": 1234, "jwt": secret, "bearer": secret, "password1": secret}),
            json!({"secret_key_base": secret}),
            json!({"body": format!("user=a&pass={secret} {{\"tokens\":\"{secret}\"}}")}),
            json!({"headers": {"Set-Cookie": [secret]}}),
            json!({"headers": {"authorization": secret, "Proxy-Authorization": secret}}),
            json!({"env": {"DATABASE_URL": secret, "APP_DATABASE_URL": secret, "SENTRY_DSN": secret}}),
            json!({"body": format!("{{\"password\": \"{secret}\", \"user\": \"me\"}}")}),
            json!({"body": format!("{{\"password\":\"{secret}\", broken")}),
            json!({"lines": ["-----BEGIN RSA PRIVATE KEY-----", secret, secret, "-----END RSA PRIVATE KEY-----", "x"]}),
            json!({"lines": ["-----BEGIN RSA PRIVATE KEY-----", secret]}),
            json!({"deep": [[{"list": [{"client_secret": {"a": secret}}]}]]}),
        ] {
            let shown = of(&params).to_string();
            for leak in [secret, "1234", "0123456789", "a8Fk29dLq0Zx7Tn3Vb5M"] {
                assert!(!shown.contains(leak), "{params}: {shown}");
            }
            assert!(shown.contains("REDACTED") || shown.contains("[redacted]"), "{shown}");
        }
        let shown =
            of(&json!({"url": "https://me:pw@host/x?token=abc&page=2", "command": "A_TOKEN=abc ls -l /tmp"}));
        assert_eq!(
            shown,
            json!({"url": "https://REDACTED@host/x?token=REDACTED&page=2", "command": "A_TOKEN=[redacted] ls -l /tmp"})
        );
    }

    /// What is hidden once stays so, and what needs no look looks no different.
    #[test]
    fn hiding_twice_is_hiding_once_and_the_short_way_is_the_long_one() {
        for text in [
            "Authorization: Bearer abc123def456",
            "password: hunter2 and more",
            "Cookie: a=1; b=2",
            "tool --password hunter2",
            "https://me:pw@host/x?token=abc",
            "DB_PASSWORD=x y",
            "bearer a1b2c3d4",
            "basic dxnlcjpw",
            "plain words only 12 of/them",
            "a8fk29dlq0zx7tn3vb5m",
            "hf_0123456789ab",
        ] {
            let once = recorded_value("note", &json!(text));
            let long = super::one("note", &json!(text), &mut Room::endless());
            assert_eq!(once.clone().unwrap_or_else(|| json!(text)), long, "{text}");
            if let Some(once) = once {
                assert_eq!(recorded_value("note", &once), None, "{text}");
            }
        }
        assert!(recorded_value("x", &json!({"a": ["sk-live0123456789"]})).is_some());
        assert_eq!(recorded_value("x", &json!({"a": [1, null, true, "words"]})), None);
    }

    /// Whoever decides has to see what it is about.
    #[test]
    fn what_tells_things_apart_stays_visible() {
        for params in [
            json!({"id": "9f86d081884c7d659a2feaa0c55ad015", "commit_sha": "a8Fk29dLq0Zx7Tn3Vb5M", "itemId": "x9f86d081884c7d659a2f"}),
            json!({"target": "b7c1d2e3-4f5a-6b7c-8d9e-0f1a2b3c4d5e", "path": "/srv/app/releases-2026.10.19/x"}),
            json!({"url": "https://host:80/a/b?page=2&sort=name#part", "text": "a basic understanding: key=value, a = b"}),
            json!({"command": "rm -rf ./build && echo done: ok", "body": "{\"a\":  1}", "page_token": "abc", "n": 12}),
            json!({"input_tokens": "12", "max_tokens": 7, "tokens": 12, "usage": {"tokens": {"in": 1, "out": [2]}}, "pass": 3}),
            json!({"text": "pass: 12, tokens: many, pass=12 fail=0 --- PASS: TestFoo, tokens=7"}),
            json!({"vary": ["Authorization", "Accept-Language"], "fields": ["password", "name"]}),
            json!({"list": ["-v", "x", "--", "y"], "pair": {"name": "colour", "value": "red"}, "password": null}),
        ] {
            assert_eq!(of(&params), params);
        }
    }

    #[test]
    fn nothing_makes_it_much_larger_than_allowed() {
        for params in [
            json!({"list": vec![1; 100_000]}),
            json!({"list": vec![json!([]); 100_000]}),
            json!({"list": vec![json!({}); 100_000]}),
            json!({"x".repeat(100_000): 1}),
            json!({"text": "y".repeat(100_000)}),
            Value::Object((0..50_000).map(|n| (format!("name {n}"), json!(n))).collect()),
            json!({"text": "é".repeat(50_000), "more": ["z".repeat(5_000), "z".repeat(5_000)]}),
        ] {
            let shown = shown_request(params.as_object().unwrap(), 2_048).to_string();
            assert!(shown.len() < 4_096, "{}", shown.len());
            assert!(shown.contains("more") || shown.contains("not shown"), "{shown}");
        }
    }
}
