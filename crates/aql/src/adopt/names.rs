//! Names that the registry takes, whatever the upstream calls its things.

use std::collections::{BTreeMap, HashSet};

use super::words_of_name;
use crate::{define, registry, types::protocol_types};

/// Longer names than this are cut.
const NAME_CHARS_MAX: usize = 100;

/// Names that are used already: the protocol's own, those of built-in operations, those of servers adopted before.
#[derive(Debug, Clone)]
pub struct Taken {
    operations: HashSet<String>,
    types: HashSet<String>,
}

impl Default for Taken {
    /// What the protocol itself takes.
    fn default() -> Self {
        Self {
            operations: registry::RESERVED.iter().map(|&name| name.to_owned()).collect(),
            types: protocol_types().into_iter().map(|known| known.name).collect(),
        }
    }
}

impl Taken {
    /// Takes the names of operations and types that are there already.
    #[must_use]
    pub fn with<'a>(
        mut self,
        operations: impl IntoIterator<Item = &'a define::Operation>,
        types: impl IntoIterator<Item = &'a define::Type>,
    ) -> Self {
        self.operations.extend(operations.into_iter().map(|operation| operation.name.clone()));
        self.types.extend(types.into_iter().map(|known| known.name.clone()));
        self
    }

    /// Gives an operation's name back, for one that gets another.
    pub(crate) fn release_operation(&mut self, name: &str) {
        self.operations.remove(name);
    }

    /// The wanted name if it is free, else the first with a number that is.
    pub(crate) fn operation(&mut self, wanted: &str) -> String {
        let name = unique(wanted, "_", |name| self.operations.contains(name));
        self.operations.insert(name.clone());
        name
    }

    pub(crate) fn type_name(&mut self, wanted: &str) -> String {
        let name = unique(wanted, "", |name| self.types.contains(name));
        self.types.insert(name.clone());
        name
    }

    /// Gives a type's name back that was not needed.
    pub(crate) fn release_type(&mut self, name: &str) {
        self.types.remove(name);
    }
}

fn unique(wanted: &str, joint: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(wanted) {
        return wanted.to_owned();
    }
    // A name that ends in a digit would run into the number.
    let joint =
        if joint.is_empty() && wanted.ends_with(|last: char| last.is_ascii_digit()) { "N" } else { joint };
    (2_usize..).map(|number| format!("{wanted}{joint}{number}")).find(|name| !taken(name)).unwrap_or_default()
}

/// Lowercase words of letters and digits, joined by underscores; `what` goes before a name that no letter begins.
pub(super) fn snake_case(name: &str, what: &str) -> String {
    let words = words_of_name(name);
    let mut joined = String::new();
    for word in words {
        let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        if !joined.is_empty() && !word.is_empty() {
            joined.push('_');
        }
        joined.push_str(&word);
        if joined.len() > NAME_CHARS_MAX {
            break;
        }
    }
    if !joined.starts_with(|first: char| first.is_ascii_lowercase()) {
        joined = if joined.is_empty() { what.to_owned() } else { format!("{what}_{joined}") };
    }
    cut(&joined).to_owned()
}

/// What another server's parameter is called outside, unless that name is taken there.
pub(crate) fn outer_name(property: &str) -> String {
    snake_case(property, "param")
}

/// ASCII already, so every byte is a place to cut.
fn cut(name: &str) -> &str {
    name.get(..NAME_CHARS_MAX.min(name.len())).unwrap_or(name).trim_end_matches('_')
}

/// An operation's name: the prefix as given where it is one, and the tool's.
pub(crate) fn operation(prefix: &str, tool: &str) -> String {
    let tool = snake_case(tool, "tool");
    let whole = match prefix.parse::<crate::name::ToolPrefix>() {
        Ok(prefix) => format!("{}{tool}", prefix.as_str()),
        Err(_) => format!("{}_{tool}", snake_case(prefix, "server")),
    };
    if crate::name::is_snake_case(&whole) { cut(&whole).to_owned() } else { snake_case(&whole, "server") }
}

/// `github_create_issue` and `labels` give `GithubCreateIssueLabels`.
pub(super) fn pascal_case(parts: &[&str]) -> String {
    let mut name = String::new();
    for word in parts.iter().flat_map(|part| words_of_name(part)) {
        let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
        name.insert_str(0, "Type");
    }
    name.truncate(NAME_CHARS_MAX);
    name
}

/// The outer name of each property of one object. A property that is called so already keeps its name; of others that
/// would be called the same, the later ones get a number.
pub(super) fn of_properties<'a>(
    properties: &[&'a str],
    what: &str,
    reserved: &[&str],
) -> BTreeMap<&'a str, String> {
    let mut taken: HashSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    let mut outer = BTreeMap::new();
    let mut others = Vec::new();
    for &property in properties {
        let name = snake_case(property, what);
        if name == property && !taken.contains(&name) {
            taken.insert(name.clone());
            outer.insert(property, name);
        } else {
            others.push((property, name));
        }
    }
    for (property, name) in others {
        let wanted = if reserved.contains(&name.as_str()) { format!("{name}_{what}") } else { name };
        let name = unique(&wanted, "_", |name| taken.contains(name));
        taken.insert(name.clone());
        outer.insert(property, name);
    }
    outer
}

/// What a name says of the values that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    None,
    /// Texts are secret. Numbers count something: `tokens` that were used, tests that `pass`.
    Texts,
    All,
}

/// Whether a parameter of this name holds a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    secrecy(name) != Secrecy::None
}

/// What a name says of its values, by its last words.
pub(crate) fn secrecy(name: &str) -> Secrecy {
    // Most names are written so, and everything that is recorded is looked through.
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return judge(name.rsplit('_').filter(|word| !word.is_empty()));
    }
    let words = words_of_name(name);
    let words = words.iter().rev().map(|word| {
        // `password1` and `password2` are asked for together.
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if bare.is_empty() { word.as_str() } else { bare }
    });
    judge(words.skip_while(|word| word.bytes().all(|byte| byte.is_ascii_digit())))
}

/// The words come from the last to the first.
fn judge<'a>(mut words: impl Iterator<Item = &'a str>) -> Secrecy {
    let last = words.next().unwrap_or_default();
    let mut before = || words.next().unwrap_or_default();
    let all = |is_secret: bool| if is_secret { Secrecy::All } else { Secrecy::None };
    let texts = |is_secret: bool| if is_secret { Secrecy::Texts } else { Secrecy::None };
    match last {
        "token" => all(!says_place(before())),
        "tokens" => texts(matches!(
            before(),
            "" | "access" | "refresh" | "auth" | "api" | "bearer" | "session" | "id" | "secret" | "security"
        )),
        "key" => all(is_of_key(before())),
        "keys" => texts(is_of_key(before())),
        "value" | "text" => all(is_alone(before())),
        "base" => all(before() == "key" && before() == "secret"),
        "passwords" => Secrecy::Texts,
        "pass" => texts(matches!(
            before(),
            "" | "user"
                | "db"
                | "database"
                | "admin"
                | "root"
                | "smtp"
                | "mail"
                | "email"
                | "ftp"
                | "ssh"
                | "login"
                | "auth"
                | "proxy"
                | "mysql"
                | "postgres"
                | "pg"
                | "redis"
                | "account"
                | "sudo"
        )),
        "pin" => all(matches!(
            before(),
            "" | "user"
                | "card"
                | "sim"
                | "security"
                | "login"
                | "account"
                | "device"
                | "access"
                | "door"
                | "unlock"
        )),
        last => all(is_alone(last)),
    }
}

fn is_alone(word: &str) -> bool {
    matches!(
        word,
        "password"
            | "passwd"
            | "passphrase"
            | "passcode"
            | "secret"
            | "secrets"
            | "credential"
            | "credentials"
            | "apikey"
            | "authorization"
            | "otp"
            | "pwd"
            | "jwt"
            | "bearer"
    )
}

fn is_of_key(before: &str) -> bool {
    matches!(before, "api" | "secret" | "private" | "access" | "encryption" | "signing")
}

/// Tokens that only say where a list goes on.
fn says_place(before: &str) -> bool {
    matches!(
        before,
        "page"
            | "next"
            | "previous"
            | "continuation"
            | "continue"
            | "sync"
            | "start"
            | "starting"
            | "cursor"
            | "pagination"
            | "skip"
            | "resume"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Secrecy, is_secret, secrecy};

    #[test]
    fn names_say_what_is_secret() {
        for name in [
            "password",
            "password1",
            "password_2",
            "newPassword",
            "secret_key_base",
            "jwt",
            "user_jwt",
            "bearer",
            "pin",
            "card_pin",
            "api_key",
            "apiKey",
            "access_token",
        ] {
            assert_eq!(secrecy(name), Secrecy::All, "{name}");
        }
        for name in
            ["passwords", "tokens", "access_tokens", "accessTokens", "api_keys", "apiKeys", "pass", "db_pass"]
        {
            assert_eq!(secrecy(name), Secrecy::Texts, "{name}");
        }
        for name in [
            "input_tokens",
            "max_tokens",
            "maxTokens",
            "total_tokens",
            "prompt_tokens",
            "page_token",
            "keys",
            "key",
            "render_pass",
            "first_pass",
            "map_pin",
            "bypass",
            "database",
            "key_base",
            "sort_keys",
            "monkey",
            "sha256",
            "7",
        ] {
            assert_eq!(secrecy(name), Secrecy::None, "{name}");
        }
    }

    proptest! {
        /// Plain names are judged by a shorter way, which has to come to the same as the long one.
        #[test]
        fn a_name_is_as_secret_however_its_words_are_joined(
            words in prop::collection::vec("(token|tokens|pass|pin|base|key|value|text|api|page|next|password|secret|access|name|_|[a-z]{1,6})", 0..5),
        ) {
            let name = words.join("_");
            prop_assert_eq!(is_secret(&name), is_secret(&name.replace('_', "-")), "{}", name);
        }
    }
}
