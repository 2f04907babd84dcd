//! What verbs say: a category and how much harm the deed can do. General English, no server's own words.

use std::{collections::HashMap, sync::LazyLock};

use crate::{category::Category, danger::DangerLevel};

/// One verb of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verb {
    pub word: &'static str,
    pub category: Category,
    pub danger: DangerLevel,
    /// Whether the word is as often a noun ("a check", "the order"), so that it needs its place or the description
    /// to count.
    pub doubtful: bool,
}

/// A row of the tables: words that mean the same for us, with a space between them.
struct Row {
    category: Category,
    danger: DangerLevel,
    doubtful: bool,
    words: &'static str,
}

const fn sure(category: Category, danger: DangerLevel, words: &'static str) -> Row {
    Row { category, danger, doubtful: false, words }
}

const fn doubtful(category: Category, danger: DangerLevel, words: &'static str) -> Row {
    Row { category, danger, doubtful: true, words }
}

/// Harm is judged by what is lost: nothing (safe), nothing that the opposite verb does not bring back (reversible),
/// or something (destructive). A verb that leaves open
/// what is done, as "run" does, is destructive.
const ROWS: &[Row] = {
    use Category::{Create, Delete, Execute, Read, Update};
    use DangerLevel::{Destructive, Reversible, Safe};
    &[
        sure(
            Read,
            Safe,
            "get fetch retrieve describe find read lookup inspect introspect browse explain download \
                enumerate return obtain discover verify validate diagnose troubleshoot compare summarize \
                examine peek whoami recommend calculate determine gather collect detect identify \
                analyze analyse parse explore predict observe suggest",
        ),
        doubtful(
            Read,
            Safe,
            "list search query check view count show export preview display diff wait audit estimate see \
                provide answer ask plan head stat look filter aggregate map research ping echo extract tail poll scan lint measure \
                learn",
        ),
        sure(
            Create,
            Reversible,
            "create add insert register append generate duplicate make import upload attach allocate \
                provision subscribe prepend compose",
        ),
        doubtful(
            Create,
            Reversible,
            "new post copy clone fork record save store comment draft snapshot backup reserve build \
                design define commit tag annotate capture",
        ),
        sure(Create, Destructive, "upsert"),
        sure(
            Update,
            Reversible,
            "update edit modify set rename configure enable disable assign unassign reassign toggle \
                resize reorder reprioritize activate adjust archive unarchive unmark unstar unwatch unlock \
                unpin hide unhide restrict upgrade reopen unresolve customize emulate extend complete \
                uncomplete dismiss acknowledge snooze increment decrement",
        ),
        doubtful(
            Update,
            Reversible,
            "patch put mark change move resolve star watch ignore mute pin lock label link connect close \
                sort flag highlight scale convert transition finalize fill sync synchronize resync \
                route associate join leave follow unfollow setup fix format push pull",
        ),
        sure(
            Update,
            Destructive,
            "replace overwrite reschedule deactivate reconfigure unsubscribe rebuild rebase restore \
                revert rollback unpublish write alter mutate downgrade unroute disconnect rotate regenerate \
                recreate migrate",
        ),
        doubtful(Update, Destructive, "merge"),
        sure(
            Delete,
            Destructive,
            "delete remove drop destroy purge clear erase truncate wipe unlink uninstall revoke cleanup \
                clean prune evict detach unregister deregister unset discard del rm decommission expire \
                vacuum empty unload trash pop trim",
        ),
        sure(
            Execute,
            Reversible,
            "trigger send notify publish submit start pause unpause resume retry reboot restart \
                reconnect navigate scroll hover simulate interact crawl scrape reindex invite respond launch \
                enqueue investigate recycle shutdown stop forward reply install checkout stage unstage \
                authenticate login logout compress",
        ),
        doubtful(
            Execute,
            Reversible,
            "request press drag power transfer review queue flush test take switch chat message \
                email print play refresh click type select evaluate open load trace profile",
        ),
        doubtful(Execute, Destructive, "run call place order trade exercise block"),
        sure(
            Execute,
            Destructive,
            "execute exec invoke rerun cancel abort terminate kill apply deploy approve deny reject reset release \
                manage administer perform handle pay buy sell charge refund withdraw force override bypass \
                promote drain cordon failover liquidate decline grant ban eval schedule",
        ),
    ]
};

/// The rows by word: a sentence asks for many of them.
static VERBS: LazyLock<HashMap<&'static str, Verb>> = LazyLock::new(|| {
    let verbs = ROWS.iter().flat_map(|row| {
        row.words.split(' ').map(|word| {
            let Row { category, danger, doubtful, .. } = *row;
            (word, Verb { word, category, danger, doubtful })
        })
    });
    verbs.collect()
});

fn in_rows(word: &str) -> Option<Verb> {
    VERBS.get(word).copied()
}

/// The verb that a word is in any of its forms.
pub(crate) fn of_any_form(word: &str) -> Option<Verb> {
    spoken(word).or_else(|| gerund(word))
}

/// The verb that a word of a name is, in its plain form.
pub(super) fn plain(word: &str) -> Option<Verb> {
    in_rows(word)
}

/// The verb that a word of a sentence is, in its plain form or the one of the third person.
pub(super) fn spoken(word: &str) -> Option<Verb> {
    let third_person = || {
        let stem = word.strip_suffix('s')?;
        let shorter = || in_rows(stem.strip_suffix('e')?);
        let with_y = || in_rows(&format!("{}y", stem.strip_suffix("ie")?));
        in_rows(stem).or_else(shorter).or_else(with_y)
    };
    in_rows(word).or_else(third_person)
}

/// The verb behind a gerund: "listing", "creating", "running".
pub(super) fn gerund(word: &str) -> Option<Verb> {
    let stem = word.strip_suffix("ing")?;
    let with_e = || in_rows(&format!("{stem}e"));
    let undoubled = || {
        let mut letters = stem.chars();
        let last = letters.next_back()?;
        letters.as_str().ends_with(last).then(|| in_rows(letters.as_str())).flatten()
    };
    in_rows(stem).or_else(with_e).or_else(undoubled)
}

/// Nouns that end the name of something that is only looked at.
const LOOKED_AT: &str = "status statuses detail details info information history logs log stats statistics summary overview \
    documentation docs help usage metrics definitions health version versions capabilities schema \
    schemas metadata report list guide guidance instructions reference count contents";

/// Whether a name that ends in this word is one of something looked at.
pub(super) fn looked_at(word: &str) -> bool {
    LOOKED_AT.split(' ').any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_is_safe_and_reading_is_only_safe() {
        for row in ROWS {
            assert_eq!(row.category == Category::Read, row.danger == DangerLevel::Safe, "{:?}", row.words);
        }
    }

    #[test]
    fn no_word_stands_twice() {
        let mut words: Vec<&str> = ROWS.iter().flat_map(|row| row.words.split(' ')).collect();
        words.sort_unstable();
        let twice: Vec<_> = words.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert!(words.iter().all(|word| word.chars().all(|letter| letter.is_ascii_lowercase())), "{words:?}");
    }

    #[test]
    fn forms_lead_back_to_their_verb() {
        for (form, verb) in
            [("deletes", "delete"), ("applies", "apply"), ("pushes", "push"), ("list", "list")]
        {
            assert_eq!(spoken(form).unwrap().word, verb);
        }
        for (form, verb) in [("listing", "list"), ("creating", "create"), ("running", "run")] {
            assert_eq!(gerund(form).unwrap().word, verb);
        }
        assert!(spoken("ss").is_none() && gerund("ing").is_none() && gerund("éing").is_none());
    }
}
