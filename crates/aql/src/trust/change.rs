//! Raising and lowering trust. Up it goes one level a time and only with what the level takes; down it goes as far as
//! somebody says, and either way it is written down.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Block, Certification, Change, Report, TrustLevel};

/// So many people have to have looked at an adapter, unless somebody wants more.
pub const REVIEWS_DEFAULT: usize = 2;

/// What a promotion rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// The adapter was read without a mistake.
    Schema,
    /// It was tested against what stands behind it.
    Tests(Report),
    /// People looked at it, and these were their worries about safety.
    Reviews {
        by: Vec<String>,
        flags: Vec<String>,
        needed: usize,
    },
    Certificate(Certification),
}

/// Why a level does not change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the adapter is '{from}', so the next level is '{next}' and not '{wanted}'; no level is skipped")]
    Skipped { from: TrustLevel, next: TrustLevel, wanted: TrustLevel },
    #[error("the adapter is '{from}' already, which is no less than '{wanted}'")]
    NotHigher { from: TrustLevel, wanted: TrustLevel },
    #[error("the adapter is '{from}', which is no more than '{wanted}'")]
    NotLower { from: TrustLevel, wanted: TrustLevel },
    #[error("'{0}' takes {needed}", needed = needed(*.0))]
    NoEvidence(TrustLevel),
    #[error("{passed} of {total} tests passed, and every test has to")]
    TestsFailed { passed: u64, total: u64 },
    #[error("{by} people reviewed it, and {needed} have to")]
    TooFewReviews { by: usize, needed: usize },
    #[error("a review raised a worry about safety: {0}")]
    Flagged(String),
    #[error("the certificate has run out, or names no authority, or bears no signature")]
    CertificateInvalid,
    #[error("it has to be said who changes the level")]
    Nobody,
    #[error("a demotion needs a reason")]
    NoReason,
}

fn needed(level: TrustLevel) -> &'static str {
    match level {
        TrustLevel::Untested => "nothing",
        TrustLevel::Generated => "an adapter that reads without a mistake",
        TrustLevel::Validated => "a test report",
        TrustLevel::CommunityReviewed => "reviews by several people",
        TrustLevel::Certified => "a signed certificate",
    }
}

impl Block {
    /// Raises the level by one.
    pub fn promoted(
        &self,
        wanted: TrustLevel,
        evidence: &Evidence,
        by: &str,
        now: Timestamp,
    ) -> Result<Self, Refused> {
        // A certificate that ran out leaves an adapter where it effectively is, so it can be certified again.
        let from = self.effective(now);
        if wanted <= from {
            return Err(Refused::NotHigher { from, wanted });
        }
        if let Some(next) = from.next().filter(|next| *next != wanted) {
            return Err(Refused::Skipped { from, next, wanted });
        }
        if by.trim().is_empty() {
            return Err(Refused::Nobody);
        }
        let mut block = self.clone();
        let reason = match (wanted, evidence) {
            (TrustLevel::Generated, Evidence::Schema) => "schema validation passed".to_owned(),
            (TrustLevel::Validated, Evidence::Tests(report)) => {
                if report.tests_total == 0 || report.tests_passed != report.tests_total {
                    let (passed, total) = (report.tests_passed, report.tests_total);
                    return Err(Refused::TestsFailed { passed, total });
                }
                (block.validated_at, block.validated_by) = (Some(now), Some(by.to_owned()));
                block.validation_report = Some(report.clone());
                format!("{} of {} tests passed", report.tests_passed, report.tests_total)
            }
            (TrustLevel::CommunityReviewed, Evidence::Reviews { by, flags, needed }) => {
                // Nobody counts twice.
                let people: BTreeSet<&str> =
                    by.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
                if people.len() < (*needed).max(1) {
                    return Err(Refused::TooFewReviews { by: people.len(), needed: (*needed).max(1) });
                }
                if let Some(flag) = flags.first() {
                    return Err(Refused::Flagged(flag.clone()));
                }
                format!("reviewed by {}", people.into_iter().collect::<Vec<_>>().join(", "))
            }
            (TrustLevel::Certified, Evidence::Certificate(certificate)) => {
                if !certificate.holds(now) {
                    return Err(Refused::CertificateInvalid);
                }
                block.certification = Some(certificate.clone());
                format!("certificate '{}' of {}", certificate.certificate_id, certificate.authority)
            }
            (level, _) => return Err(Refused::NoEvidence(level)),
        };
        block.level = wanted;
        block.promoted_from = Some(from);
        block.promotion_history.push(Change {
            from,
            to: wanted,
            at: now,
            by: by.to_owned(),
            reason: Some(reason),
        });
        Ok(block)
    }

    /// Lowers the level. When it was validated stays on record.
    pub fn demoted(
        &self,
        wanted: TrustLevel,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Self, Refused> {
        let from = self.level;
        if wanted >= from {
            return Err(Refused::NotLower { from, wanted });
        }
        if by.trim().is_empty() {
            return Err(Refused::Nobody);
        }
        if reason.trim().is_empty() {
            return Err(Refused::NoReason);
        }
        let mut block = self.clone();
        block.level = wanted;
        let (by, reason) = (by.to_owned(), Some(reason.to_owned()));
        block.promotion_history.push(Change { from, to: wanted, at: now, by, reason });
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn report(passed: u64, total: u64) -> Evidence {
        Evidence::Tests(Report {
            tests_passed: passed,
            tests_total: total,
            endpoints_verified: None,
            coverage_percent: None,
            last_api_response: None,
        })
    }

    fn reviews(by: &[&str], flags: &[&str]) -> Evidence {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Evidence::Reviews { by: owned(by), flags: owned(flags), needed: REVIEWS_DEFAULT }
    }

    fn certificate(expires: i64) -> Evidence {
        Evidence::Certificate(Certification {
            authority: "Example, Inc.".to_owned(),
            signature: "c2lnbmVk".to_owned(),
            certificate_id: "X-1".to_owned(),
            issued_at: at(0),
            expires_at: at(expires),
            scope: vec![],
        })
    }

    fn evidence() -> [Evidence; 4] {
        [Evidence::Schema, report(3, 3), reviews(&["ann", "bob"], &[]), certificate(100)]
    }

    /// LREQ-TRUST-03 LREQ-TRUST-05
    #[test]
    fn a_level_is_reached_from_the_one_below_with_what_it_takes() {
        let mut block = Block::default();
        for (level, evidence) in TrustLevel::ALL.into_iter().skip(1).zip(evidence()) {
            let from = block.level;
            block = block.promoted(level, &evidence, "ann", at(1)).unwrap();
            assert_eq!((block.level, block.promoted_from), (level, Some(from)));
            let last = block.promotion_history.last().unwrap();
            assert_eq!((last.from, last.to, last.at, last.by.as_str()), (from, level, at(1), "ann"));
        }
        assert_eq!(block.promotion_history.len(), 4);
        assert_eq!(block.validated_at, Some(at(1)));
        let skipped = Block::default().promoted(TrustLevel::Validated, &report(3, 3), "ann", at(1));
        assert!(matches!(skipped, Err(Refused::Skipped { next: TrustLevel::Generated, .. })), "{skipped:?}");
    }

    /// LREQ-TRUST-05
    #[test]
    fn without_its_evidence_nothing_is_promoted() {
        for (place, level) in TrustLevel::ALL.into_iter().enumerate().skip(1) {
            let block = Block::of_level(TrustLevel::ALL[place - 1]);
            for (other, evidence) in evidence().into_iter().enumerate() {
                let made = block.promoted(level, &evidence, "ann", at(1));
                assert_eq!(made.is_ok(), other + 1 == place, "{level} {evidence:?}: {made:?}");
            }
        }
        let from = |level: TrustLevel, evidence: Evidence| {
            let wanted = level.next().unwrap();
            Block::of_level(level).promoted(wanted, &evidence, "ann", at(1)).unwrap_err().to_string()
        };
        assert!(from(TrustLevel::Generated, report(2, 3)).contains("2 of 3"));
        assert!(from(TrustLevel::Generated, report(0, 0)).contains("0 of 0"));
        assert!(from(TrustLevel::Validated, reviews(&["ann", " ann "], &[])).contains("1 people"));
        assert!(from(TrustLevel::Validated, reviews(&["ann", "bob"], &["leaks"])).contains("leaks"));
        assert!(from(TrustLevel::CommunityReviewed, certificate(1)).contains("run out"));
        let nobody = Block::default().promoted(TrustLevel::Generated, &Evidence::Schema, " ", at(1));
        assert_eq!(nobody, Err(Refused::Nobody));
    }

    /// LREQ-TRUST-04
    #[test]
    fn a_demotion_is_on_record_and_keeps_when_it_was_validated() {
        let validated = Block::of_level(TrustLevel::Generated)
            .promoted(TrustLevel::Validated, &report(3, 3), "harness", at(1))
            .unwrap();
        let lower = validated.demoted(TrustLevel::Generated, "ann", "3 operations fail", at(9)).unwrap();
        assert_eq!((lower.level, lower.validated_at), (TrustLevel::Generated, Some(at(1))));
        let change = lower.promotion_history.last().unwrap();
        assert_eq!((change.from, change.to), (TrustLevel::Validated, TrustLevel::Generated));
        assert_eq!((change.at, change.by.as_str()), (at(9), "ann"));
        assert_eq!(change.reason.as_deref(), Some("3 operations fail"));
        for (wanted, by, reason, expected) in [
            (TrustLevel::Validated, "ann", "x", "no more than"),
            (TrustLevel::Untested, "ann", " ", "needs a reason"),
            (TrustLevel::Untested, "", "x", "who changes"),
        ] {
            let error = validated.demoted(wanted, by, reason, at(9)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// LREQ-TRUST-06
    #[test]
    fn a_certificate_that_ran_out_certifies_nothing() {
        let reviewed = Block::of_level(TrustLevel::CommunityReviewed);
        let block = reviewed.promoted(TrustLevel::Certified, &certificate(100), "ann", at(1)).unwrap();
        assert_eq!(block.effective(at(99)), TrustLevel::Certified);
        assert_eq!(block.effective(at(100)), TrustLevel::CommunityReviewed);
        assert_eq!(Block::of_level(TrustLevel::Certified).effective(at(0)), TrustLevel::CommunityReviewed);
        let again = block.promoted(TrustLevel::Certified, &certificate(300), "ann", at(200)).unwrap();
        assert_eq!(again.effective(at(250)), TrustLevel::Certified);
        assert_eq!(Block::of_level(TrustLevel::Generated).effective(at(0)), TrustLevel::Generated);
    }

    proptest! {
        /// LREQ-TRUST-03
        #[test]
        fn no_run_of_changes_skips_a_level_upwards(steps in prop::collection::vec((0_usize..5, 0_usize..4, any::<bool>()), 0..30)) {
            let mut block = Block::default();
            for (second, (level, evidence_of, up)) in steps.into_iter().enumerate() {
                let (wanted, now) = (TrustLevel::ALL[level], at(second as i64));
                let made = match up {
                    true => block.promoted(wanted, &evidence()[evidence_of], "ann", now),
                    false => block.demoted(wanted, "ann", "because", now),
                };
                block = made.unwrap_or(block);
            }
            for change in &block.promotion_history {
                let up = change.to > change.from;
                prop_assert!(!up || change.from.next() == Some(change.to), "{change:?}");
                prop_assert!(change.reason.is_some());
            }
            let last = block.promotion_history.last().map_or(TrustLevel::Untested, |change| change.to);
            prop_assert_eq!(block.level, last);
        }
    }
}
