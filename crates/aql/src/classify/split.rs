//! Tools that mix reading and writing behind one parameter become one operation for each of its values.

use serde_json::Map;

use super::{
    Choice, Evidence, Facts, Judgement, Operation, Override, Overrides, Provenance, Trust,
    description::heaviest,
    judge, name,
    parameters::{self, Chooser},
    patterns, words,
};
use crate::{category::Category, danger::DangerLevel, listed::Annotations};

/// More values than this are data, not deeds.
const VALUES_MAX: usize = 64;

/// The operations of a tool that mixes reads and writes, or none where it does not.
pub(super) fn operations(
    facts: &Facts<'_>,
    of_tool: &Override,
    overrides: &Overrides,
) -> Option<Vec<Operation>> {
    let chooser = parameters::chooser(facts.schema).filter(|chooser| chooser.required)?;
    // What the operator says of the whole tool leaves nothing to tell apart.
    if of_tool.category.is_some() || chooser.values.len() > VALUES_MAX || !mixes(facts, &chooser) {
        return None;
    }
    let mut operations: Vec<Operation> = Vec::new();
    for value in &chooser.values {
        let wanted = snake_case(&format!("{}_{value}", facts.name));
        let taken = |name: &str| operations.iter().any(|operation| operation.name == name);
        let mut name = wanted.clone();
        let mut number = 2_usize;
        while taken(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        let given = overrides.0.get(&name).unwrap_or(of_tool);
        let judgement = of_value(facts, value, given);
        operations.push(Operation {
            name,
            name_from: Provenance::DeterministicNormalization,
            choice: Some(Choice { parameter: chooser.parameter.clone(), value: value.clone() }),
            judgement,
        });
    }
    Some(operations)
}

/// One value, judged as if it were a tool of that name. Description and parameters speak of all values together, so
/// they say nothing about this one; nor does a server's word that the tool as a whole does not only read.
fn of_value(facts: &Facts<'_>, value: &str, given: &Override) -> Judgement {
    let schema = Map::new();
    let annotations = Annotations {
        read_only_hint: facts.annotations.read_only_hint.filter(|only_reads| *only_reads),
        destructive_hint: facts.annotations.destructive_hint.filter(|destroys| !*destroys),
        ..facts.annotations.clone()
    };
    let alone = Facts {
        name: value,
        title: None,
        description: "",
        schema: &schema,
        annotations: &annotations,
        ..*facts
    };
    let mut judgement = judge::judge(&alone, given);
    // Destroying is said of the whole tool: some part of it does, and which one is not told.
    if facts.annotations.destructive_hint == Some(true)
        && facts.trust != Trust::Ignored
        && judgement.category.is_mutating()
        && given.danger.is_none()
        && judgement.danger < DangerLevel::Destructive
    {
        (judgement.danger, judgement.danger_from) =
            (DangerLevel::Destructive, Provenance::DirectSourceMetadata);
        let says = "destructiveHint is true, so destructive".to_owned();
        judgement.evidence.push(Evidence { rule: "annotations", says });
    }
    // The tool's own name may be dangerous by itself, and no value hides it.
    if let Some((level, pattern)) = patterns::level(facts.name, facts.server)
        && judgement.category.is_mutating()
        && given.danger.is_none()
        && judgement.danger < level
    {
        judgement.danger = level;
        let says = format!("the tool's name fits '{pattern}', so {level}");
        judgement.evidence.push(Evidence { rule: "patterns", says });
    }
    judgement
}

/// Whether some values read and others do not. A name that says what is done to stored state ("create_request") means
/// it for every value: there the values are data.
fn mixes(facts: &Facts<'_>, chooser: &Chooser) -> bool {
    let named =
        name::read(facts.name, facts.server).filter(|said| said.sure).and_then(|said| heaviest(&said.verbs));
    let verbs = judge::known_values(chooser);
    let reads = verbs.iter().any(|verb| verb.category == Category::Read);
    let writes = verbs.iter().any(|verb| verb.category.is_mutating());
    let unknown = verbs.len() < chooser.values.len();
    match named.map(|verb| verb.category) {
        Some(Category::Create | Category::Update | Category::Delete) => false,
        Some(Category::Read) => reads && writes,
        Some(Category::Execute) | None => reads && (writes || unknown),
    }
}

/// A split tool counts by its most dangerous operation.
pub(super) fn whole(operations: &[Operation]) -> Judgement {
    let mut worst: Option<&Judgement> = None;
    for operation in operations {
        let judgement = &operation.judgement;
        let rank = |judgement: &Judgement| (judgement.danger, judgement.category.is_mutating());
        if worst.is_none_or(|worst| rank(judgement) > rank(worst)) {
            worst = Some(judgement);
        }
    }
    let mut whole = worst.cloned().unwrap_or_else(|| Judgement {
        category: Category::Execute,
        category_from: Provenance::HeuristicClassification,
        danger: DangerLevel::Destructive,
        danger_from: Provenance::HeuristicClassification,
        confidence_percent: 0,
        reasons: Vec::new(),
        evidence: Vec::new(),
    });
    whole.confidence_percent =
        operations.iter().map(|operation| operation.judgement.confidence_percent).min().unwrap_or(0);
    whole.reasons = vec![format!("it mixes reading and writing and becomes {} operations", operations.len())];
    whole
}

/// A name as operations have them.
pub(super) fn snake_case(name: &str) -> String {
    let words = words::of_name(name);
    let ascii = words.iter().map(|word| word.chars().filter(char::is_ascii_alphanumeric).collect::<String>());
    let joined = ascii.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    if joined.starts_with(|first: char| first.is_ascii_lowercase()) {
        joined
    } else {
        format!("tool_{joined}")
    }
}
