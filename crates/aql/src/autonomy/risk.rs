//! How risky an action is, from 0 to 100, and why. The score of an operation that is known begins with its danger level;
//! of anything else the words are weighed.

use super::{directive::SafetyTier, fold::Folded};
use crate::{classify, danger::DangerLevel};

/// An action to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub hint: Folded,
    /// The most dangerous operation of ours that the hint names.
    pub known: Option<(String, DangerLevel)>,
    /// How many times the same was done in this execution before.
    pub repeated: u32,
}

/// A score with what led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    pub score: u8,
    pub factors: Vec<String>,
}

/// Judges actions. Anybody may bring their own.
pub trait Scorer: Send + Sync {
    fn score(&self, action: &Action, escalate_after: u32) -> Risk;
}

impl<F: Fn(&Action) -> Risk + Send + Sync> Scorer for F {
    fn score(&self, action: &Action, _escalate_after: u32) -> Risk {
        self(action)
    }
}

/// The scorer that is used unless another is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Words;

/// Where nothing is known of what is done, somebody is asked.
const UNKNOWN_SCORE: u8 = 35;

fn baseline(level: DangerLevel) -> u8 {
    match level {
        DangerLevel::Safe => 5,
        DangerLevel::Reversible => 22,
        DangerLevel::Destructive => 45,
        DangerLevel::Dangerous => 70,
        DangerLevel::Forbidden => 92,
    }
}

/// Words that make things worse, and by how much.
struct Weight {
    about: &'static str,
    points: u8,
    /// Whether they count although nothing is changed.
    for_reading: bool,
    words: &'static [&'static str],
}

const WEIGHTS: &[Weight] = &[
    Weight {
        about: "it cannot be undone",
        points: 20,
        for_reading: false,
        words: &[
            "permanently",
            "irreversibly",
            "irreversible",
            "forever",
            "force",
            "forced",
            "forcibly",
            "hard",
            "rf",
            "fr",
            "unrecoverable",
            "overwrite",
            "overwriting",
            "shred",
            "mkfs",
            "format",
        ],
    },
    Weight {
        about: "it concerns many things",
        points: 18,
        for_reading: false,
        words: &[
            "all",
            "every",
            "everything",
            "everyone",
            "everybody",
            "entire",
            "whole",
            "bulk",
            "mass",
            "recursive",
            "recursively",
            "batch",
            "wildcard",
        ],
    },
    Weight {
        about: "it concerns what others rely on",
        points: 15,
        for_reading: false,
        words: &[
            "production",
            "prod",
            "live",
            "customer",
            "customers",
            "main",
            "master",
            "database",
            "backup",
            "backups",
        ],
    },
    Weight {
        about: "it concerns credentials",
        points: 30,
        for_reading: true,
        words: &[
            "password",
            "passwords",
            "passwd",
            "credential",
            "credentials",
            "secret",
            "secrets",
            "token",
            "tokens",
            "apikey",
            "keychain",
            "ssh",
            "id_rsa",
            "shadow",
            "env",
            "private",
        ],
    },
    Weight {
        about: "it concerns money",
        points: 25,
        for_reading: false,
        words: &[
            "money",
            "payment",
            "payments",
            "pay",
            "paying",
            "invoice",
            "invoices",
            "refund",
            "purchase",
            "purchasing",
            "transfer",
            "transferring",
            "bank",
            "wire",
            "salary",
            "payroll",
            "card",
        ],
    },
    Weight {
        about: "it takes or gives rights",
        points: 20,
        for_reading: true,
        words: &[
            "sudo",
            "root",
            "admin",
            "administrator",
            "chmod",
            "chown",
            "grant",
            "granting",
            "privilege",
            "privileges",
        ],
    },
    Weight {
        about: "it runs a command whose effects are open",
        points: 10,
        for_reading: false,
        words: &["shell", "bash", "sh", "powershell", "eval", "exec", "curl", "wget", "script", "command"],
    },
    Weight {
        about: "it leaves this place",
        points: 6,
        for_reading: false,
        words: &[
            "http",
            "https",
            "email",
            "emailing",
            "upload",
            "uploading",
            "publish",
            "publishing",
            "tweet",
            "post",
            "external",
        ],
    },
];

/// Verbs that only say that something else is done.
const NEUTRAL: [&str; 7] = ["call", "invoke", "execute", "exec", "run", "perform", "request"];

impl Scorer for Words {
    fn score(&self, action: &Action, escalate_after: u32) -> Risk {
        let mut factors = Vec::new();
        let named = action.known.as_ref().map(|(name, _)| name.as_str());
        let words = words(&action.hint.text, named);
        let said = spoken(&words, action.known.is_some());
        let mut score = match (&action.known, said) {
            (Some((name, level)), said) => {
                factors.push(format!("it names the operation '{name}', which is {level}"));
                let worse = said.filter(|said| said.level > *level);
                // Naming something harmless makes nothing else harmless.
                baseline(worse.map_or(*level, |said| said.tell(&mut factors)))
            }
            (None, Some(said)) => baseline(said.tell(&mut factors)),
            (None, None) => {
                factors.push("it is not clear what is to be done".to_owned());
                UNKNOWN_SCORE
            }
        };
        let reading = score <= baseline(DangerLevel::Safe);
        for weight in WEIGHTS.iter().filter(|weight| weight.for_reading || !reading) {
            if let Some(word) = words.iter().find(|word| weight.words.contains(word)) {
                score = score.saturating_add(weight.points);
                factors.push(format!("{} ('{word}'): +{}", weight.about, weight.points));
            }
        }
        score = score.min(100);
        if action.hint.hides && score < SafetyTier::Confirm.floor() {
            score = SafetyTier::Confirm.floor();
            factors.push("characters are hidden in its words".to_owned());
        }
        if !reading && action.repeated >= escalate_after {
            let raised = match SafetyTier::of(score) {
                SafetyTier::Advisory => SafetyTier::Confirm,
                SafetyTier::Confirm => SafetyTier::Verify,
                SafetyTier::Verify | SafetyTier::DangerZone => SafetyTier::DangerZone,
            };
            score = score.max(raised.floor());
            factors.push(format!("the same was done {} times before", action.repeated));
        }
        factors.insert(0, format!("risk score {score}"));
        Risk { score, factors }
    }
}

/// What is done by the same words counts as the same deed.
#[must_use]
pub fn deed(hint: &Folded, known: Option<&str>) -> String {
    if let Some(known) = known {
        return known.to_owned();
    }
    let words = words(&hint.text, None);
    let said = verb(&words, false).map(|verb| verb.word);
    said.or(words.first().copied()).unwrap_or_default().to_owned()
}

/// The words of a hint, without those of an operation that is looked at by its name.
fn words<'a>(text: &'a str, named: Option<&str>) -> Vec<&'a str> {
    let names = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let others = names.filter(|name| named != Some(*name));
    others.flat_map(|name| name.split('_')).filter(|word| !word.is_empty()).collect()
}

/// What the words of a hint say.
#[derive(Clone, Copy)]
struct Said {
    level: DangerLevel,
    what: &'static str,
}

impl Said {
    fn tell(self, factors: &mut Vec<String>) -> DangerLevel {
        factors.push(format!("'{}' is {}", self.what, self.level));
        self.level
    }
}

fn spoken(words: &[&str], beside_a_name: bool) -> Option<Said> {
    if let Some((level, what)) = phrase(words) {
        return Some(Said { level, what });
    }
    verb(words, beside_a_name).map(|verb| Said { level: verb.danger, what: verb.word })
}

/// The worst verb. Those that only lead to another count where there is none.
fn verb(words: &[&str], beside_a_name: bool) -> Option<classify::Verb> {
    let verbs = || words.iter().filter_map(|word| classify::verb(word));
    let worst = verbs().filter(|verb| !NEUTRAL.contains(&verb.word)).max_by_key(|verb| verb.danger);
    worst.or_else(|| verbs().next().filter(|_| !beside_a_name))
}

/// Phrases as dangerous as the names that read like them, wherever in the sentence they stand.
fn phrase(words: &[&str]) -> Option<(DangerLevel, &'static str)> {
    let verbs: Vec<Option<classify::Verb>> = words.iter().map(|word| classify::verb(word)).collect();
    let plain = |place: usize| match verbs.get(place)? {
        Some(verb) => Some(verb.word),
        None => words.get(place).copied(),
    };
    let starts = (0..words.len()).filter(|&place| matches!(verbs.get(place), Some(Some(_))));
    // A few words behind the verb are as much as a name has.
    let phrases = starts.map(|start| (start..start + 3).map_while(plain).collect::<Vec<_>>().join("_"));
    phrases.filter_map(|phrase| classify::patterns::level(&phrase, None)).max_by_key(|(level, _)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autonomy::fold::fold;

    fn risk(hint: &str, known: Option<DangerLevel>, repeated: u32) -> Risk {
        let known = known.map(|level| ("some_operation".to_owned(), level));
        Words.score(&Action { hint: fold(hint), known, repeated }, 20)
    }

    /// REQ-AUTO-18
    #[test]
    fn what_does_more_harm_scores_higher() {
        let rising = [
            "listing files in the project",
            "sending message to #general channel via Slack MCP server",
            "calling write_file on project/config.json to update database URL",
            "deleting the customer record 17 in production",
            "deleting all records",
        ];
        let scores: Vec<u8> = rising.iter().map(|hint| risk(hint, None, 0).score).collect();
        assert!(scores.is_sorted() && scores[0] < 16 && scores[4] > 85, "{scores:?}");
        for hint in ["reading the password file", "doing the thing", "sudo ls", "execute shell command: make"]
        {
            assert!(SafetyTier::of(risk(hint, None, 0).score) >= SafetyTier::Confirm, "{hint}");
        }
        for hint in ["", "🦀", "\u{200b}"] {
            assert!(risk(hint, None, 0).score > 30, "{hint:?}");
        }
    }

    #[test]
    fn a_score_says_what_led_to_it() {
        let risk = risk("permanently delete all invoices", None, 0);
        let text = risk.factors.join("; ");
        for word in ["risk score 100", "delete_all", "'permanently'", "'all'", "'invoices'"] {
            assert!(text.contains(word), "{text}");
        }
    }

    /// LREQ-DANGER-18
    #[test]
    fn an_operation_s_level_gives_the_range() {
        for (level, low, high) in [
            (DangerLevel::Safe, 0, 15),
            (DangerLevel::Reversible, 16, 40),
            (DangerLevel::Destructive, 41, 60),
            (DangerLevel::Dangerous, 61, 85),
            (DangerLevel::Forbidden, 86, 100),
        ] {
            let score = risk("calling some_operation for item 7", Some(level), 0).score;
            assert!((low..=high).contains(&score), "{level}: {score}");
        }
    }

    #[test]
    fn naming_something_harmless_makes_nothing_else_harmless() {
        let hint = "calling some_operation, then wiping the disk";
        assert!(risk(hint, Some(DangerLevel::Safe), 0).score > 85);
        assert!(
            risk("calling get_weather for Oslo", None, 0).score < 16,
            "a call is as good as what it calls"
        );
    }

    /// LREQ-DANGER-19
    #[test]
    fn repetition_raises_the_tier_of_what_changes_something() {
        let tier = |repeated| {
            SafetyTier::of(risk("delete_record 5", Some(DangerLevel::Destructive), repeated).score)
        };
        let tiers: Vec<_> = (0..50).map(tier).collect();
        assert!(tiers[..20].iter().all(|tier| *tier == SafetyTier::Confirm));
        assert!(tiers[20..].iter().all(|tier| *tier == SafetyTier::Verify));
        assert_eq!(risk("some_operation 5", Some(DangerLevel::Safe), 500).score, 5);
        assert_eq!(deed(&fold("Deleting record 5"), None), deed(&fold("delete the record 6"), None));
    }

    #[test]
    fn what_is_hidden_is_seen_by_somebody() {
        assert_eq!(SafetyTier::of(risk("read\u{200b}ing notes", None, 0).score), SafetyTier::Confirm);
    }
}
