//! What words mean to each other: plain English of doing things with things, in two small tables.

use super::words;

/// What an operation does, as told by its verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Read,
    Create,
    Update,
    Delete,
    Run,
    Send,
}

impl Deed {
    pub(super) fn reads(self) -> bool {
        self == Self::Read
    }
}

/// Verbs by what they do. Those in one row may stand for each other.
const VERBS: &[(Deed, &[&str])] = &[
    (
        Deed::Read,
        &[
            "list",
            "show",
            "get",
            "fetch",
            "view",
            "retrieve",
            "display",
            "read",
            "give",
            "enumerate",
            "return",
        ],
    ),
    (Deed::Read, &["find", "search", "look", "lookup", "discover", "locate", "query", "browse"]),
    (Deed::Read, &["describe", "explain", "detail", "inspect", "info", "information"]),
    (Deed::Read, &["check", "verify", "validate", "test", "diagnose"]),
    (Deed::Read, &["count", "total"]),
    (Deed::Read, &["compare", "diff"]),
    (Deed::Read, &["download", "export"]),
    (
        Deed::Create,
        &["create", "add", "make", "new", "open", "insert", "generate", "build", "provision", "setup"],
    ),
    (Deed::Create, &["upload", "import"]),
    (Deed::Create, &["copy", "clone", "duplicate", "fork"]),
    (Deed::Create, &["write", "save", "store"]),
    (Deed::Update, &["update", "edit", "modify", "change", "set", "adjust", "alter", "patch", "configure"]),
    (Deed::Update, &["rename", "retitle"]),
    (Deed::Update, &["assign", "reassign"]),
    (Deed::Update, &["enable", "activate"]),
    (Deed::Update, &["disable", "deactivate"]),
    (Deed::Delete, &["delete", "remove", "drop", "destroy", "erase", "purge", "clear", "unset", "detach"]),
    (Deed::Run, &["run", "execute", "start", "trigger", "launch", "invoke", "call", "perform"]),
    (Deed::Run, &["stop", "cancel", "abort", "terminate", "kill", "end"]),
    (Deed::Send, &["send", "post", "publish", "deliver"]),
];

/// Nouns and short forms that stand for each other.
const ALIKE: &[&[&str]] = &[
    &["repository", "repo"],
    &["database", "db"],
    &["configuration", "config", "setting"],
    &["environment", "env"],
    &["organization", "organisation", "org"],
    &["application", "app"],
    &["document", "doc"],
    &["documentation", "docs"],
    &["authentication", "auth"],
    &["administrator", "admin"],
    &["picture", "image", "photo", "img"],
    &["message", "msg"],
    &["directory", "folder", "dir"],
    &["mail", "email"],
    &["cost", "price", "pricing"],
    &["person", "people", "user"],
    &["website", "site", "webpage"],
    &["error", "failure", "exception"],
    &["comment", "reply"],
    &["weather", "forecast"],
    &["movie", "film"],
    &["picture", "screenshot"],
    &["location", "place"],
    &["statistics", "stats", "metrics"],
];

/// Words of a question that asks for more than one thing.
const ASKS_FOR_MANY: &[&str] =
    &["all", "any", "enumerate", "every", "find", "first", "list", "many", "search"];

/// Words of a name that answers with more than one thing.
const GIVES_MANY: &[&str] = &["all", "find", "list", "query", "search"];

/// Words that begin a question, which reads and changes nothing.
const ASKING: &[&str] = &["are", "do", "does", "how", "is", "what", "when", "where", "which", "who", "why"];

/// What a word in lower case does, if it is a verb that says so.
pub(super) fn deed(word: &str) -> Option<Deed> {
    VERBS.iter().find(|(_, words)| words.contains(&word)).map(|(deed, _)| *deed)
}

/// What the operation with a name of these words does. A verb may stand last, where names begin with their thing.
pub(super) fn deed_of_name(words: &[String]) -> Option<Deed> {
    let last = words.last().and_then(|word| deed(word));
    last.or_else(|| words.iter().find_map(|word| deed(word)))
}

/// What a question of these words asks to be done.
pub(super) fn deed_of_question(words: &[String]) -> Option<Deed> {
    let asking = || words.first().filter(|word| ASKING.contains(&word.as_str())).map(|_| Deed::Read);
    words.iter().filter(|word| !words::is_filler(word)).find_map(|word| deed(word)).or_else(asking)
}

/// Whether the operation with a name of these words answers with several things.
pub(super) fn gives_many(words: &[String]) -> bool {
    words.iter().any(|word| GIVES_MANY.contains(&word.as_str()) || words::is_plural(word))
}

/// Whether a question of these words asks for several things.
pub(super) fn asks_for_many(words: &[String]) -> bool {
    let plural = |word: &str| words::is_plural(word) && word != "details";
    words.iter().any(|word| ASKS_FOR_MANY.contains(&word.as_str()) || plural(word))
}

/// Every group of words that may stand for each other, and whether they are verbs.
pub(super) fn groups() -> impl Iterator<Item = (bool, &'static [&'static str])> {
    let verbs = VERBS.iter().map(|(_, words)| (true, *words));
    verbs.chain(ALIKE.iter().map(|words| (false, *words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_verb_stands_in_one_row() {
        let mut verbs: Vec<&str> = VERBS.iter().flat_map(|(_, words)| *words).copied().collect();
        let count = verbs.len();
        verbs.sort_unstable();
        verbs.dedup();
        assert_eq!(verbs.len(), count);
    }

    #[test]
    fn verbs_are_found_in_names_and_questions() {
        for (name, expected) in [
            ("github create issue", Some(Deed::Create)),
            ("storage account list", Some(Deed::Read)),
            ("get update", Some(Deed::Update)),
            ("issue", None),
        ] {
            assert_eq!(deed_of_name(&of(name)), expected, "{name}");
        }
        for (question, expected) in [
            ("please remove the user", Some(Deed::Delete)),
            ("which users are there", Some(Deed::Read)),
            ("can you rename it", Some(Deed::Update)),
            ("users", None),
        ] {
            assert_eq!(deed_of_question(&of(question)), expected, "{question}");
        }
    }

    #[test]
    fn one_is_told_from_many() {
        assert!(asks_for_many(&of("show all")) && asks_for_many(&of("my issues")));
        assert!(!asks_for_many(&of("show the details of it")));
        assert!(gives_many(&of("list x")) && gives_many(&of("get issues")) && !gives_many(&of("get issue")));
    }
}
