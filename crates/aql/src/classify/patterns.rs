//! Names that are dangerous by themselves, whatever else is known of them.

use super::words;
use crate::danger::DangerLevel;

/// Where the words of a pattern stand in a name.
#[derive(Clone, Copy)]
enum Place {
    Start,
    End,
    Anywhere,
}

struct Pattern {
    text: &'static str,
    place: Place,
    words: &'static [&'static str],
    level: DangerLevel,
}

const fn pattern(
    level: DangerLevel,
    text: &'static str,
    place: Place,
    words: &'static [&'static str],
) -> Pattern {
    Pattern { text, place, words, level }
}

/// The highest level first, since the highest that matches applies.
const PATTERNS: &[Pattern] = {
    use DangerLevel::{Dangerous, Forbidden};
    use Place::{Anywhere, End, Start};
    &[
        pattern(Forbidden, "drop_*", Start, &["drop"]),
        pattern(Forbidden, "delete_all*", Anywhere, &["delete", "all"]),
        pattern(Forbidden, "truncate_*", Start, &["truncate"]),
        pattern(Forbidden, "reset_*", Start, &["reset"]),
        pattern(Forbidden, "destroy_*", Start, &["destroy"]),
        pattern(Forbidden, "wipe_*", Start, &["wipe"]),
        pattern(Forbidden, "*_production", End, &["production"]),
        pattern(Dangerous, "force_*", Start, &["force"]),
        pattern(Dangerous, "*_permanently", End, &["permanently"]),
        pattern(Dangerous, "bulk_delete*", Start, &["bulk", "delete"]),
        pattern(Dangerous, "override_*", Start, &["override"]),
        pattern(Dangerous, "bypass_*", Start, &["bypass"]),
        pattern(Dangerous, "*_without_backup", End, &["without", "backup"]),
        pattern(Dangerous, "purge_*", Start, &["purge"]),
    ]
};

/// The highest level that a name has by itself, and the pattern that says so. A server's prefix does not hide it.
#[must_use]
pub fn level(name: &str, server: Option<&str>) -> Option<(DangerLevel, &'static str)> {
    let parts = words::of_name(name);
    let server = server.map(words::of_name).unwrap_or_default();
    let prefix = parts.iter().take_while(|part| server.contains(part)).count();
    let without = parts.get(prefix..).unwrap_or_default();
    let found = PATTERNS.iter().find(|pattern| pattern.fits(&parts) || pattern.fits(without));
    found.map(|pattern| (pattern.level, pattern.text))
}

/// Whether a pattern has this word. A name without any such word has no level by itself, which is cheaper to ask.
pub(crate) fn has(word: &str) -> bool {
    PATTERNS.iter().any(|pattern| pattern.words.contains(&word))
}

impl Pattern {
    fn fits(&self, parts: &[String]) -> bool {
        // The star stands for at least something, except behind the words of 'delete_all*' and 'bulk_delete*'.
        let alone = self.words.len() == 1 && parts.len() == 1;
        let mut windows = parts.windows(self.words.len());
        let same = |window: &[String]| window.iter().zip(self.words).all(|(part, word)| part == word);
        !alone
            && match self.place {
                Place::Start => windows.next().is_some_and(same),
                Place::End => windows.next_back().is_some_and(same),
                Place::Anywhere => windows.any(same),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LREQ-DANGER-09 LREQ-DANGER-10 LREQ-DANGER-12
    #[test]
    fn each_pattern_gives_its_level_and_the_highest_wins() {
        use DangerLevel::{Dangerous, Forbidden};
        for (name, expected) in [
            ("force_push", Some(Dangerous)),
            ("delete_item_permanently", Some(Dangerous)),
            ("bulk_delete_items", Some(Dangerous)),
            ("override_policy", Some(Dangerous)),
            ("bypass_check", Some(Dangerous)),
            ("migrate_without_backup", Some(Dangerous)),
            ("purge_logs", Some(Dangerous)),
            ("drop_table", Some(Forbidden)),
            ("delete_all_items", Some(Forbidden)),
            ("delete_all", Some(Forbidden)),
            ("truncate_table", Some(Forbidden)),
            ("reset_workspace", Some(Forbidden)),
            ("destroyCluster", Some(Forbidden)),
            ("wipe-disk", Some(Forbidden)),
            ("deploy_to_production", Some(Forbidden)),
            ("force_delete_all", Some(Forbidden)),
            ("delete_item", None),
            ("drop", None),
            ("", None),
        ] {
            assert_eq!(level(name, None).map(|(level, _)| level), expected, "{name}");
            assert!(expected.is_none() || words::of_name(name).iter().any(|word| has(word)), "{name}");
        }
    }

    #[test]
    fn a_server_s_prefix_hides_nothing() {
        assert_eq!(level("acme_drop_table", None), None);
        assert_eq!(level("acme_drop_table", Some("acme-mcp")), Some((DangerLevel::Forbidden, "drop_*")));
    }
}
