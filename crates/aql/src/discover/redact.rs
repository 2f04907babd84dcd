//! Nothing secret is written: neither what we know to be secret nor what looks like it.

use serde_json::{Map, Value};

use crate::adopt::is_secret_name;

/// What stands where a secret stood.
pub(crate) const REDACTED: &str = "[redacted]";
/// The same inside an address, where brackets mean something else.
const REDACTED_URL: &str = "REDACTED";
/// Shorter values cannot be told from ordinary words.
const SECRET_CHARS_MIN: usize = 6;
/// Random text is at least so long.
const RANDOM_CHARS_MIN: usize = 20;
/// And so long where it has what also stands between the parts of a path.
const RANDOM_WITH_SLASHES_MIN: usize = 40;
/// Objects whose values are all secret, whatever they are called.
const SECRET_OBJECTS: [&str; 4] = ["headers", "env", "environment", "cookies"];
/// What keys and tokens of well-known services begin with.
const PREFIXES: [&str; 26] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
    "dop_v1_",
    "eyJ",
    "lin_api_",
];

const REST_BYTES_MIN: usize = 8;
/// The shortest of those prefixes has three bytes. No text that is shorter looks like a key or a token.
pub(crate) const KNOWN_KEY_BYTES_MIN: usize = 3 + REST_BYTES_MIN;

/// An address of HTTP without user, secret values and fragment. Nothing where it is no such address.
pub(super) fn url(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let (authority, path) = before.split_once('/').map_or((before, None), |(a, path)| (a, Some(path)));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._~:[]%".contains(c);
    if host.is_empty() || !host.chars().all(is_host) {
        return None;
    }
    let mut out = format!("{scheme}://{host}");
    for segment in path.into_iter().flat_map(|path| path.split('/')) {
        out.push('/');
        let plain = super::percent::decoded(segment).unwrap_or_default();
        out.push_str(&if is_secret(&plain) {
            REDACTED_URL.to_owned()
        } else {
            super::percent::encoded(&plain)
        });
    }
    for (place, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        out.push(if place == 0 { '?' } else { '&' });
        // Without a name it may be the secret itself.
        out.push_str(&match pair.split_once('=') {
            Some((name, _)) if !is_secret(name) => {
                format!("{}={REDACTED_URL}", super::percent::encoded(name))
            }
            _ => REDACTED_URL.to_owned(),
        });
    }
    Some(out)
}

/// Takes known secrets out of an address, as they are or percent-encoded.
pub(super) fn known_in_url(mut url: String, secrets: &[&str]) -> String {
    for secret in secrets {
        url = url.replace(secret, REDACTED_URL).replace(&super::percent::encoded(secret), REDACTED_URL);
    }
    url
}

/// A text that may be an address or a secret.
pub(super) fn text(text: &str) -> String {
    if is_secret(text) {
        return REDACTED.to_owned();
    }
    if let Some(url) = url(text) {
        return url;
    }
    if text.contains("://") && text.contains('@') {
        // An address of another kind, with a user in it.
        return REDACTED.to_owned();
    }
    text.to_owned()
}

/// The arguments of a command: what follows a secret's name goes, and what looks like a secret.
pub(super) fn arguments<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut next_is_secret = false;
    let mut shown = Vec::new();
    for arg in args {
        let flag = arg.trim_start_matches('-');
        let named = arg.starts_with('-') || arg.contains('=');
        let secret = std::mem::take(&mut next_is_secret);
        shown.push(match arg.split_once('=') {
            _ if secret && !arg.starts_with('-') => REDACTED.to_owned(),
            Some((name, _)) if named && is_secret_name(name.trim_start_matches('-')) => {
                format!("{name}={REDACTED}")
            }
            Some((name, value)) if !name.contains("://") => format!("{name}={}", text(value)),
            _ => text(arg),
        });
        // `-e NAME=value` of container commands and `-H 'Name: value'` of fetching ones.
        next_is_secret = arg.starts_with('-')
            && !arg.contains('=')
            && (is_secret_name(flag) || matches!(arg, "-H" | "--header" | "-e" | "--env"));
    }
    shown
}

/// The secrets that stand in the arguments of a command: what [`arguments`] takes out of them. A server may repeat them.
pub(super) fn secrets_of_arguments(args: &[String]) -> Vec<String> {
    let shown = arguments(args.iter().map(String::as_str));
    let mut secrets = Vec::new();
    for (arg, shown) in args.iter().zip(shown).filter(|(arg, shown)| *arg != shown) {
        secrets.push(arg.clone());
        // `NAME=value`, `Name: value`, and what stands before the host or behind `?` of an address.
        let value = arg.split_once('=').map(|(_, value)| value).filter(|_| !arg.contains("://"));
        secrets.extend(value.or_else(|| arg.split_once(": ").map(|(_, value)| value)).map(str::to_owned));
        let kept = |part: &&str| part.len() >= SECRET_CHARS_MIN && !shown.contains(part);
        let parts = arg.split(['/', '?', '&', '=', '@', ':', '#', ' ']);
        secrets.extend(parts.filter(kept).filter(|_| arg.contains("://")).map(str::to_owned));
    }
    secrets
}

/// A configuration without its secrets.
pub(super) fn config(config: &Map<String, Value>) -> Map<String, Value> {
    config.iter().map(|(key, value)| (key.clone(), under(key, value))).collect()
}

fn under(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(inner) if SECRET_OBJECTS.contains(&key) => {
            inner.keys().map(|name| (name.clone(), Value::from(REDACTED))).collect()
        }
        Value::Null | Value::Bool(_) => value.clone(),
        _ if is_secret_name(key) || SECRET_OBJECTS.contains(&key) => Value::from(REDACTED),
        Value::Number(_) => value.clone(),
        Value::Object(inner) => Value::Object(config(inner)),
        Value::Array(entries) if entries.iter().all(Value::is_string) => {
            arguments(entries.iter().filter_map(Value::as_str)).into_iter().map(Value::from).collect()
        }
        Value::Array(entries) => entries.iter().map(|entry| under("", entry)).collect(),
        Value::String(said) => Value::from(text(said)),
    }
}

/// Whether a text looks like a key or a token.
pub(crate) fn is_secret(text: &str) -> bool {
    let text = ["Bearer ", "bearer ", "Basic ", "basic "]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .map_or(text, |rest| if rest.len() >= SECRET_CHARS_MIN { "sk-0000000000000000" } else { rest });
    is_known_key(text) || is_random(text)
}

/// Whether a text begins as the keys and tokens of well-known services do.
pub(crate) fn is_known_key(text: &str) -> bool {
    // Few words are so long, and everything that is recorded is looked through.
    text.len() >= KNOWN_KEY_BYTES_MIN
        && PREFIXES
            .iter()
            .filter(|prefix| prefix.as_bytes().first() == text.as_bytes().first())
            .any(|prefix| text.starts_with(prefix) && text.len() >= prefix.len() + REST_BYTES_MIN)
}

/// Long, of letters and digits, and changing between them too often for words. Of what may be a path, more than twice as
/// often.
fn is_random(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+.~".contains(&byte);
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"/+=".contains(&byte);
    if text.len() < RANDOM_CHARS_MIN {
        return false;
    }
    let least = if text.bytes().all(allowed) {
        4
    } else if text.len() >= RANDOM_WITH_SLASHES_MIN && text.bytes().all(is_base64) {
        2
    } else {
        return false;
    };
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        _ => 2,
    };
    let (mut letters, mut digits, mut changes, mut before) = (0, 0, 0, None);
    for class in text.bytes().filter(u8::is_ascii_alphanumeric).map(class) {
        letters += 1;
        digits += usize::from(class == 0);
        changes += usize::from(before.is_some_and(|before| before != class));
        before = Some(class);
    }
    digits >= 2 && digits < letters && changes * least >= letters
}

/// Takes known secrets out of everything a server said. Tells whether one was there.
pub(super) fn scrub(value: &mut Value, secrets: &[&str]) -> bool {
    match value {
        Value::String(said) => scrub_text(said, secrets),
        Value::Array(entries) => {
            let mut found = false;
            // Every one of them, not only the first.
            entries.iter_mut().for_each(|entry| found |= scrub(entry, secrets));
            found
        }
        Value::Object(object) => {
            let mut found = false;
            let leaking = |key: &&String| secrets.iter().any(|secret| key.contains(secret));
            let keys: Vec<String> = object.keys().filter(leaking).cloned().collect();
            for key in keys {
                if let Some(value) = object.remove(&key) {
                    let mut clean = key;
                    found |= scrub_text(&mut clean, secrets);
                    object.insert(clean, value);
                }
            }
            object.values_mut().for_each(|value| found |= scrub(value, secrets));
            found
        }
        _ => false,
    }
}

fn scrub_text(text: &mut String, secrets: &[&str]) -> bool {
    let mut found = false;
    for secret in secrets {
        if text.contains(secret) {
            *text = text.replace(secret, REDACTED);
            found = true;
        }
    }
    found
}

/// The secrets that can be looked for, the longest first, so that none is left in part.
pub(super) fn searchable(secrets: &[String]) -> Vec<&str> {
    let mut secrets: Vec<&str> = secrets
        .iter()
        .map(|secret| secret.trim())
        .filter(|s| s.chars().count() >= SECRET_CHARS_MIN)
        .collect();
    secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    secrets.dedup();
    secrets
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// REQ-DISC-14
    #[test]
    fn addresses_lose_their_secrets_and_keep_the_rest() {
        for (given, shown) in [
            ("https://api.example.com/mcp", "https://api.example.com/mcp"),
            ("HTTPS://api.example.com/mcp/", "https://api.example.com/mcp/"),
            ("http://user:pw@host:8080/a?b=c", "http://host:8080/a?b=REDACTED"),
            ("https://host/mcp?token=x&y=z&raw#frag", "https://host/mcp?token=REDACTED&y=REDACTED&REDACTED"),
            ("https://host/s/a8Fk29dLq0Zx7Tn3Vb5M/mcp", "https://host/s/REDACTED/mcp"),
            ("https://host/b7c1d2e3-4f5a-6b7c-8d9e-0f1a2b3c4d5e", "https://host/REDACTED"),
            ("https://host/a b", "https://host/a%20b"),
            ("http://[::1]:80/mcp", "http://[::1]:80/mcp"),
            ("https://a@b@host/x", "https://host/x"),
        ] {
            assert_eq!(url(given).as_deref(), Some(shown), "{given}");
        }
        for given in ["https://", "ftp://host", "https://ho st/", "https:///x", "nothing"] {
            assert_eq!(url(given), None, "{given}");
        }
    }

    #[test]
    fn arguments_lose_their_secrets_and_keep_the_rest() {
        for (given, shown) in [
            ("-y @modelcontextprotocol/server-github", "-y @modelcontextprotocol/server-github"),
            ("--api-key abc run", "--api-key [redacted] run"),
            ("--token=abc --level=3", "--token=[redacted] --level=3"),
            ("API_KEY=abc", "API_KEY=[redacted]"),
            ("ghp_0123456789abcdef", "[redacted]"),
            ("postgres://me:pw@db/x", "[redacted]"),
            ("--url=https://me:pw@db/x?k=v", "--url=https://db/x?k=REDACTED"),
            ("-e GITHUB=abc -i", "-e [redacted] -i"),
            ("-H X-Key:abc", "-H [redacted]"),
            ("mcp-server-time==2026.10.19", "mcp-server-time==2026.10.19"),
            ("--local-timezone=Europe/Paris", "--local-timezone=Europe/Paris"),
        ] {
            assert_eq!(arguments(given.split(' ')).join(" "), shown, "{given}");
        }
    }

    /// REQ-DISC-14
    #[test]
    fn secrets_in_arguments_are_known_by_their_values() {
        for (given, secret) in [
            ("--api-key abcdefg run", "abcdefg"),
            ("--token=abcdefg --level=3", "abcdefg"),
            ("-e GITHUB=abcdefg -i", "abcdefg"),
            ("postgres://me:abcdefg@db/x", "abcdefg"),
            ("--url=https://db/x?k=abcdefg", "abcdefg"),
        ] {
            let args: Vec<String> = given.split(' ').map(str::to_owned).collect();
            let secrets = secrets_of_arguments(&args);
            assert!(secrets.iter().any(|known| known == secret), "{given}: {secrets:?}");
            assert!(
                !secrets.iter().any(|known| ["run", "--level=3", "-i"].contains(&known.as_str())),
                "{given}"
            );
        }
        assert!(secrets_of_arguments(&["-y".to_owned(), "server-github".to_owned()]).is_empty());
    }

    #[test]
    fn configurations_lose_values_by_name_by_place_and_by_look() {
        let given = json!({"timeout_seconds": 5, "headers": {"X-Key": "v", "X-More": ["w"]}, "env": {"A": "v"},
            "password": "v", "api_key": 12, "per_session": true, "cwd": "/srv/app",
            "args": ["--token", "v"], "nested": [{"secret": "v", "url": "https://u:v@h/"}]});
        let shown = config(given.as_object().unwrap());
        assert_eq!(
            json!(shown),
            json!({"timeout_seconds": 5, "headers": {"X-Key": "[redacted]", "X-More": "[redacted]"},
                "env": {"A": "[redacted]"}, "password": "[redacted]", "api_key": "[redacted]", "per_session": true,
                "cwd": "/srv/app", "args": ["--token", "[redacted]"],
                "nested": [{"secret": "[redacted]", "url": "https://h/"}]})
        );
    }

    #[test]
    fn words_are_no_secrets() {
        for text in [
            "server-github-2025.10.19-extra",
            "createNewIssueInTheRepository",
            "this_is_a_very_long_name_of_something",
            "2026-11-15T19:22:46Z",
            "12345678901234567890123",
            "sk-1",
            "/home/User/Projects/Thing2/Source/Main/Java/Com/V3",
            "node_modules/typescript/lib/lib.es2015.d.ts/and/x86/64",
            "/usr/lib/x86/64/linux/gnu/python3/dist/packages/v2",
        ] {
            assert!(!is_secret(text), "{text}");
        }
        for text in [
            "aB3/x9Kd+2LmQ7/zR4tYu8Vw1Np6Hs5Jg0Fc3Xe9Bk2",
            "9f86d081884c7d659a2feaa0c55ad015",
            "eyJhbGciOiJIUzI1NiJ9.e30.abc",
            "Bearer abcdefgh",
        ] {
            assert!(is_secret(text), "{text}");
        }
    }

    #[test]
    fn known_secrets_are_taken_out_of_keys_and_values() {
        let secrets = ["s3cret".to_owned(), "s3cret-and-more".to_owned(), "x".to_owned()];
        let mut value = json!({"a s3cret": ["s3cret-and-more x", {"b": 1}], "c": null});
        assert!(scrub(&mut value, &searchable(&secrets)));
        assert_eq!(value, json!({"a [redacted]": ["[redacted] x", {"b": 1}], "c": null}));
        assert!(!scrub(&mut value, &searchable(&secrets)));
    }
}
