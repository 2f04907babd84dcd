//! Trust and danger in adapter files.

use crate::{
    discover::adapter::{read, with_trust},
    trust::{Block, Evidence, TrustLevel},
};

const PLAIN: &str = "---\nname: sample\ntype: adapter\nversion: \"1.0.0\"\ndescription: A sample\n\
    # who it is\ntarget:\n  base_url: mcp:sample\n  transport: native\n  protocol: custom\n  serialization: json\n\
    operations:\n  delete:\n    - name: delete_repo\n      maps_to: tools/call delete_repo\n---\n\ntrust: me\n";

fn with(block: &str) -> String {
    PLAIN.replace("operations:\n", &format!("{block}operations:\n"))
}

fn level(block: &str) -> TrustLevel {
    read(&with(block), None).unwrap_or_else(|problems| panic!("{problems:?}")).adapter.trust.level
}

/// LREQ-TRUST-01 LREQ-TRUST-02
#[test]
fn the_block_says_the_level_and_without_one_it_is_untested() {
    assert_eq!(level(""), TrustLevel::Untested);
    for known in TrustLevel::ALL {
        assert_eq!(level(&format!("trust:\n  level: {known}\n")), known);
    }
    let older = read(&with("trust:\n  level: medium\n"), None).unwrap();
    assert_eq!(older.adapter.trust.level, TrustLevel::Validated);
    assert!(older.notes.iter().any(|note| note.message.contains("read as 'validated'")), "{:?}", older.notes);
}

/// LREQ-TRUST-02
#[test]
fn what_cannot_be_read_is_told_and_not_believed() {
    for (block, part) in [
        (
            "trust:\n  level: official\n",
            "'official' is none of untested, generated, validated, community_reviewed, certified",
        ),
        ("trust:\n  level: 5\n", "must be a text"),
        ("trust: validated\n", "must be a table"),
        ("trust: {}\n", "'level' is missing"),
        ("trust:\n  levl: validated\n", "did you mean 'level'?"),
        ("trust:\n  level: validated\n  validated_at: soon\n", "cannot be read"),
        ("trust:\n  level: validated\n  promotion_history: [{from: untested}]\n", "cannot be read"),
    ] {
        let problems = read(&with(block), None).unwrap_err();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(part)), "{block} {told:?}");
    }
}

/// LREQ-TRUST-04 LREQ-TRUST-05
#[test]
fn another_block_is_written_and_the_rest_of_the_file_stays() {
    let now = "2026-03-01T00:00:00Z".parse().unwrap();
    let one = Block::default().promoted(TrustLevel::Generated, &Evidence::Schema, "ann", now).unwrap();
    let written = with_trust(PLAIN, &one).unwrap();
    assert_eq!(read(&written, None).unwrap().adapter.trust, one);
    let two = one.demoted(TrustLevel::Untested, "bob: the \"second\"", "it\nfails", now).unwrap();
    let again = with_trust(&written, &two).unwrap();
    assert_eq!(read(&again, None).unwrap().adapter.trust, two);
    for kept in ["# who it is", "trust: me", "  base_url: mcp:sample\n"] {
        assert!(again.contains(kept), "{again}");
    }
    let lines = |text: &str| text.lines().filter(|line| PLAIN.lines().any(|known| known == *line)).count();
    assert_eq!(lines(&again), PLAIN.lines().count());
    assert_eq!(with_trust("no front matter", &one), None);
    assert_eq!(with_trust("---\nname: x\n", &one), None);
}

/// LREQ-DANGER-02 LREQ-DANGER-04
#[test]
fn danger_is_a_level_or_a_table_with_more_to_it() {
    let danger = |text: &str| {
        let text = PLAIN.replace("tools/call delete_repo\n", &format!("tools/call delete_repo\n{text}"));
        read(&text, None).map(|read| read.adapter.operations.into_iter().next().unwrap())
    };
    let said = danger(
        "      danger:\n        level: dangerous\n        reasons: [it is gone]\n        cooldown_seconds: 5\n\
         \x20       confirmation_message: \"Delete '{repo}'?\"\n        requires_reauth: true\n        audit_context: [repo]\n",
    )
    .unwrap();
    assert_eq!(said.danger, Some(crate::danger::DangerLevel::Dangerous));
    assert_eq!((said.words.cooldown_seconds, said.words.requires_reauth), (Some(5), Some(true)));
    assert_eq!(said.words.confirmation_message.as_deref(), Some("Delete '{repo}'?"));
    assert_eq!((said.words.reasons.len(), said.words.audit_context.len()), (1, 1));
    assert_eq!(
        danger("      danger: forbidden\n").unwrap().danger,
        Some(crate::danger::DangerLevel::Forbidden)
    );
    for (text, part) in [
        ("      danger:\n        level: bad\n", "none of safe"),
        ("      danger:\n        lvl: safe\n", "unknown here"),
        ("      danger:\n        cooldown_seconds: -1\n", "whole number of seconds"),
        ("      danger:\n        cooldown_seconds: 86401\n", "whole number of seconds"),
        ("      danger:\n        reasons: gone\n", "must be a list"),
        (
            "      danger_level: dangerous\n      danger:\n        level: destructive\n",
            "where 'danger_level' says",
        ),
    ] {
        let told: Vec<String> = danger(text).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(part)), "{text} {told:?}");
    }
}
