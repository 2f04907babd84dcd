//! What looks like a secret in the parameters of a call, by its name, its place or itself.
//!
//! Whoever decides about a call has to see what it is about, so that ids and digests stay where their names say that
//! they are no secrets.

use serde_json::{Map, Value};

use crate::{
    adopt::{self, Secrecy},
    discover::redact::{is_known_key, is_secret},
};

/// Names whose last words say that what looks random only tells one thing from another.
const TELLING: [&str; 16] = [
    "id", "ids", "uuid", "guid", "sha", "sha1", "sha256", "commit", "hash", "digest", "checksum", "etag",
    "match", "ref", "cursor", "after",
];
/// Names, without what joins their words, of values that hold a password among other things.
const HOLDING: [&str; 13] = [
    "cookie",
    "cookies",
    "setcookie",
    "databaseurl",
    "databaseuri",
    "dburl",
    "dburi",
    "dsn",
    "redisurl",
    "mongourl",
    "mongouri",
    "mongodburi",
    "connectionstring",
];

/// Whether what has this name is secret as a whole.
#[must_use]
pub fn is_secret_key(name: &str) -> bool {
    secrecy(name) != Secrecy::None
}

/// Whether texts that have this name are secret, and numbers count something.
#[must_use]
pub fn is_counting_key(name: &str) -> bool {
    secrecy(name) == Secrecy::Texts
}

/// What a name says of its values.
pub(super) fn secrecy(name: &str) -> Secrecy {
    let words = name.trim().trim_start_matches('-');
    let of_words = adopt::secrecy(words);
    if of_words != Secrecy::None {
        return of_words;
    }
    if words.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let of_words = adopt::secrecy(&words.to_ascii_lowercase());
        if of_words != Secrecy::None {
            return of_words;
        }
    }
    // From the end, without what joins the words.
    let plain = || {
        let letters = words.bytes().rev().filter(u8::is_ascii_alphanumeric);
        letters.map(|byte| byte.to_ascii_lowercase())
    };
    let last = plain().next();
    let ends =
        |ending: &str| ending.bytes().last() == last && plain().take(ending.len()).eq(ending.bytes().rev());
    let is_proxys = || last == Some(b'n') && plain().eq("proxyauthorization".bytes().rev());
    if is_proxys() || HOLDING.iter().any(|holding| ends(holding)) { Secrecy::All } else { Secrecy::None }
}

/// Whether a value is hidden because of the name that it has.
#[must_use]
pub fn hides(name: &str, value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Null => false,
        Value::String(_) => is_secret_key(name),
        Value::Number(_) => secrecy(name) == Secrecy::All,
        Value::Array(_) | Value::Object(_) => match secrecy(name) {
            Secrecy::None => false,
            Secrecy::Texts => holds_text(value),
            Secrecy::All => true,
        },
    }
}

fn holds_text(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(items) => items.iter().any(holds_text),
        Value::Object(members) => members.values().any(holds_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What lists of headers and variables call the name of a pair.
pub(super) const PAIRS_NAMES: [&str; 6] = ["name", "key", "Name", "Key", "header", "variable"];

/// Whether an object is a name with its value, as lists of headers and variables have them, and the name a secret's.
pub(super) fn is_secret_pair(object: &Map<String, Value>) -> bool {
    let secret = |name: &&str| object.get(*name).and_then(Value::as_str).is_some_and(is_secret_key);
    object.keys().any(|key| is_pairs_value(key)) && PAIRS_NAMES.iter().any(secret)
}

/// Whether the value of such a pair is called so.
pub(super) fn is_pairs_value(name: &str) -> bool {
    name.eq_ignore_ascii_case("value")
}

/// Whether this is a flag whose secret is the next argument.
pub(super) fn announces(argument: &str) -> bool {
    argument.starts_with('-') && !argument.contains(['=', ' ']) && secrecy(argument) != Secrecy::None
}

/// Whether an item of a list is the name of a header that is secret, so that the next may be its value.
pub(super) fn names_header(item: &str) -> bool {
    item.len() <= HEADER_BYTES_MAX
        && is_header(item)
        && item.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        && !item.starts_with('-')
        && is_secret_key(item)
}

/// The names of headers are not longer.
const HEADER_BYTES_MAX: usize = 64;

/// Whether a text may be JSON with names in it, which count as well.
pub(super) fn may_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether this is the name of a way to authenticate, which the next word may be the secret of.
pub(super) fn is_scheme(core: &str) -> bool {
    core.eq_ignore_ascii_case("bearer") || core.eq_ignore_ascii_case("basic")
}

/// The same where a secret has to stand, so that it is no word of a language.
pub(super) fn is_scheme_of_header(core: &str) -> bool {
    const OTHERS: [&str; 8] =
        ["token", "digest", "negotiate", "ntlm", "apikey", "api-key", "hmac", "aws4-hmac-sha256"];
    is_scheme(core) || OTHERS.iter().any(|scheme| core.eq_ignore_ascii_case(scheme))
}

/// Whether a name is that of a header whose whole line is secret, if it is a secret's at all.
pub(super) fn is_header(name: &str) -> bool {
    name.contains('-') || is_whole_header(name)
}

/// Whether it is that of one whose line says several things.
pub(super) fn is_whole_header(name: &str) -> bool {
    ["authorization", "proxy-authorization", "cookie", "set-cookie"]
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header))
}

/// What may stand around a word and does not belong to it.
pub(super) const QUOTES: [char; 13] = ['"', '\'', '`', ',', ';', '(', ')', '[', ']', '{', '}', '<', '>'];

/// Whether a text without blanks looks like a secret. What tells things apart only has to look like a known key.
pub(super) fn is_looking(text: &str, told: bool) -> bool {
    let text = text.trim_matches(QUOTES);
    is_known_key(text) || (!told && !is_uuid(text) && is_secret(text))
}

/// Whether the last word of a name says that the value tells one thing from another.
pub(super) fn tells_apart(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let last_hump = last.rfind(|c: char| c.is_ascii_uppercase()).and_then(|place| last.get(place..));
    let telling = |word: &str| TELLING.contains(&word.to_ascii_lowercase().as_str());
    telling(last) || last_hump.is_some_and(telling)
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Words of a language have neither digits nor capitals in the middle.
pub(super) fn is_encoded(text: &str) -> bool {
    text.len() >= 6
        && (text.len() >= 24
            || text.chars().skip(1).any(|c| c.is_ascii_digit() || c.is_ascii_uppercase() || c == '='))
}
