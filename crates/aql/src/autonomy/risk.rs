//! How risky an action is, from 0 to 100, and why. The score of an operation that is known begins with its danger level;
//! of anything else the words are weighed.

use super::{
    directive::SafetyTier,
    hint::Hint,
    speech::{Said, Speech},
    weights::WEIGHTS,
};
use crate::danger::DangerLevel;

/// An action to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub hint: Hint,
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

impl Scorer for Words {
    fn score(&self, action: &Action, escalate_after: u32) -> Risk {
        let mut factors = Vec::new();
        let named = action.known.as_ref().map(|(name, _)| name.as_str());
        // Both ways to read it count: "dropTable" hides two words, and "dElEtE" is one.
        let speeches: Vec<Speech<'_>> = action.hint.forms().map(|text| Speech::read(text, named)).collect();
        let said = speeches.iter().enumerate().filter_map(|(place, speech)| {
            let followed = speeches.get(place + 1).is_some_and(Speech::has_neutral);
            speech.said(followed)
        });
        let said = said.max_by_key(|said| said.level);
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
        let is_reading = |score: u8| score <= baseline(DangerLevel::Safe);
        // No verb before a command makes it a harmless one.
        if score < UNKNOWN_SCORE
            && let Some(more) = speeches.iter().find_map(|speech| speech.does_more(is_reading(score)))
        {
            score = UNKNOWN_SCORE;
            factors.push(format!("{more} can do more than that"));
        }
        let reading = is_reading(score);
        for (place, weight) in WEIGHTS.iter().enumerate().filter(|(_, weight)| weight.for_reading || !reading)
        {
            if let Some(word) = speeches.iter().find_map(|speech| speech.weighed(place)) {
                score = score.saturating_add(weight.points);
                factors.push(format!("{} ('{word}'): +{}", weight.about, weight.points));
            }
        }
        score = score.min(100);
        for (unseen, why) in [
            (action.hint.folded.hides, "characters are hidden in its words"),
            (speeches.iter().any(Speech::is_spelled), "words are spelled letter by letter"),
            (action.hint.is_foreign(), "some of its words are in a script that nothing is known of here"),
        ] {
            if unseen && score < SafetyTier::Confirm.floor() {
                score = SafetyTier::Confirm.floor();
                factors.push(why.to_owned());
            }
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

impl Said<'_> {
    fn tell(self, factors: &mut Vec<String>) -> DangerLevel {
        factors.push(format!("'{}' is {}", self.what, self.level));
        self.level
    }
}

/// What is done by the same words counts as the same deed.
#[must_use]
pub fn deed(hint: &Hint, known: Option<&str>) -> String {
    if let Some(known) = known {
        return known.to_owned();
    }
    Speech::read(hint.apart().unwrap_or(&hint.folded.text), None).deed().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk(hint: &str, known: Option<DangerLevel>, repeated: u32) -> Risk {
        let known = known.map(|level| ("some_operation".to_owned(), level));
        Words.score(&Action { hint: Hint::read(hint), known, repeated }, 20)
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
        assert_eq!(
            deed(&Hint::read("Deleting record 5"), None),
            deed(&Hint::read("delete the record 6"), None)
        );
    }

    #[test]
    fn what_is_hidden_is_seen_by_somebody() {
        assert_eq!(SafetyTier::of(risk("read\u{200b}ing notes", None, 0).score), SafetyTier::Confirm);
    }
}
