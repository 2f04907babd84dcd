//! What looks like a secret in the parameters of a call, by its name, its place or itself.
//!
//! Whoever decides about a call has to see what it is about, so that ids and digests stay where their names say that
//! they are no secrets.

use serde_json::{Map, Value};

use super::plain;
use crate::{
    adopt::is_secret_name,
    discover::redact::{REDACTED, is_known_key, is_secret},
};

/// The same inside an address, where brackets mean something else.
const REDACTED_IN_ADDRESS: &str = "REDACTED";
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
    let words = name.trim().trim_start_matches('-');
    let has_capitals = words.bytes().any(|byte| byte.is_ascii_uppercase());
    // From the end, without what joins the words.
    let plain = || {
        let letters = words.bytes().rev().filter(u8::is_ascii_alphanumeric);
        letters.map(|byte| byte.to_ascii_lowercase())
    };
    let last = plain().next();
    let ends =
        |ending: &str| ending.bytes().last() == last && plain().take(ending.len()).eq(ending.bytes().rev());
    is_secret_name(words)
        || (has_capitals && is_secret_name(&words.to_ascii_lowercase()))
        || (last == Some(b'n') && plain().eq("proxyauthorization".bytes().rev()))
        || HOLDING.iter().any(|holding| ends(holding))
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
    argument.starts_with('-') && !argument.contains(['=', ' ']) && is_secret_key(argument)
}

/// Whether a text may be JSON with names in it, which count as well.
pub(super) fn may_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether a word of a text with this name stays as it is, and says nothing of the next one.
pub(super) fn is_unchanged(name: &str, word: &str) -> bool {
    matches!(hidden(word, Next::Plain, tells_apart(name)), (None, Next::Plain))
}

/// A text without what looks like a secret in it. The name is that of the member which holds it.
pub(super) fn text(name: &str, text: &str) -> String {
    if plain::are_words(name, text) {
        return text.to_owned();
    }
    long_way(name, text)
}

/// The same, word by word.
pub(super) fn long_way(name: &str, text: &str) -> String {
    let told = tells_apart(name);
    let mut shown = String::with_capacity(text.len());
    let mut hides = Next::Plain;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        let gap = piece.get(word.len()..).unwrap_or_default();
        if !word.is_empty() {
            let (hidden, next) = hidden(word, hides, told);
            shown.push_str(hidden.as_deref().unwrap_or(word));
            hides = next;
        }
        shown.push_str(gap);
        if matches!(hides, Next::Line) && gap.contains(['\n', '\r']) {
            hides = Next::Plain;
        }
    }
    shown
}

/// What the word before says of the next one.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Plain,
    /// It is secret.
    Word,
    /// It is, if it looks like something encoded.
    Encoded,
    /// So is everything to the end of the line, as behind the name of a header.
    Line,
}

/// What is shown in a word's place, where it is not the word itself, and what it says of the next one.
fn hidden(word: &str, hides: Next, told: bool) -> (Option<String>, Next) {
    let core = word.trim_matches(QUOTES);
    match hides {
        Next::Line => return (put(word, core, REDACTED), Next::Line),
        Next::Word if !core.starts_with('-') => return (put(word, core, REDACTED), Next::Plain),
        Next::Encoded if is_encoded(core) => return (put(word, core, REDACTED), Next::Plain),
        _ => {}
    }
    if announces(core) {
        return (None, Next::Word);
    }
    if is_scheme(core) {
        return (None, Next::Encoded);
    }
    if let Some(header) = core.strip_suffix(':').filter(|header| is_secret_key(header)) {
        let header_line = header.contains('-') || header.eq_ignore_ascii_case("cookie");
        let header_line = header_line || header.eq_ignore_ascii_case("authorization");
        return (None, if header_line { Next::Line } else { Next::Word });
    }
    if core.contains("://") {
        return (put(word, core, &address(core)), Next::Plain);
    }
    if let Some((name, _)) = core.split_once(['=', ':']).filter(|(name, value)| {
        !name.is_empty()
            && !value.is_empty()
            && (is_secret_key(name.trim_matches(QUOTES)) || is_looking(value, false))
    }) {
        let joint = core.get(name.len()..=name.len()).unwrap_or("=");
        return (put(word, core, &format!("{name}{joint}{REDACTED}")), Next::Plain);
    }
    let instead = is_looking(core, told).then(|| put(word, core, REDACTED));
    (instead.flatten(), Next::Plain)
}

/// Whether this is the name of a way to authenticate, which the next word may be the secret of.
pub(super) fn is_scheme(core: &str) -> bool {
    core.eq_ignore_ascii_case("bearer") || core.eq_ignore_ascii_case("basic")
}

/// What may stand around a word and does not belong to it.
pub(super) const QUOTES: [char; 13] = ['"', '\'', '`', ',', ';', '(', ')', '[', ']', '{', '}', '<', '>'];

/// The word with something else in the place of its core, where that makes it another one.
fn put(word: &str, core: &str, instead: &str) -> Option<String> {
    // What is hidden already stays as it is, and nothing else stands beside it.
    let is_hidden = core == instead.trim_matches(QUOTES) && word.contains(instead);
    let stays = core.is_empty() || is_hidden || core == instead;
    (!stays).then(|| word.replacen(core, instead, 1))
}

/// Whether a text without blanks looks like a secret. What tells things apart only has to look like a known key.
pub(super) fn is_looking(text: &str, told: bool) -> bool {
    let text = text.trim_matches(QUOTES);
    is_known_key(text) || (!told && !is_uuid(text) && is_secret(text))
}

/// Whether the last word of a name says that the value tells one thing from another.
fn tells_apart(name: &str) -> bool {
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
fn is_encoded(text: &str) -> bool {
    text.len() >= 6
        && (text.len() >= 24
            || text.chars().skip(1).any(|c| c.is_ascii_digit() || c.is_ascii_uppercase() || c == '='))
}

/// An address without its user and the values in it that are secret. The rest stays, so that it can be judged.
fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    // A setting may stand before it: `--url=https://…`.
    let (rest, fragment) =
        rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let (authority, path) = before.split_once('/').map_or((before, None), |(host, path)| (host, Some(path)));
    let mut shown = format!("{scheme}://");
    match authority.rsplit_once('@') {
        Some((_, host)) => shown.push_str(&format!("{REDACTED_IN_ADDRESS}@{host}")),
        None => shown.push_str(authority),
    }
    for segment in path.into_iter().flat_map(|path| path.split('/')) {
        shown.push('/');
        shown.push_str(if is_looking(segment, false) { REDACTED_IN_ADDRESS } else { segment });
    }
    for (mark, pairs) in [('?', query), ('#', fragment)] {
        for (place, pair) in pairs.into_iter().flat_map(|pairs| pairs.split('&')).enumerate() {
            shown.push(if place == 0 { mark } else { '&' });
            match pair.split_once('=') {
                Some((name, value)) if is_secret_in_query(name) || is_looking(value, tells_apart(name)) => {
                    shown.push_str(&format!("{name}={REDACTED_IN_ADDRESS}"));
                }
                None if is_looking(pair, false) => shown.push_str(REDACTED_IN_ADDRESS),
                _ => shown.push_str(pair),
            }
        }
    }
    shown
}

/// Addresses call them shorter than parameters do.
fn is_secret_in_query(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    is_secret_key(&name)
        || ["key", "sig", "signature", "auth", "code", "x-amz-signature"].contains(&name.as_str())
}
