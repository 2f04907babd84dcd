//! What an adapter file has no place for: where every field comes from, what was suggested and what a person decided.

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::build::{Built, Made};
use crate::{
    classify::Provenance,
    discover::bundle::{Confidence, InferenceSources, Operation, Source, Warning},
};

#[derive(Serialize)]
struct Document<'a> {
    adapter: &'a str,
    version: &'a str,
    /// The bundle that the adapter was made of.
    bundle: Bundle<'a>,
    operations: Vec<Record<'a>>,
    omitted: Vec<Value>,
    warnings: &'a [Warning],
}

#[derive(Serialize)]
struct Bundle<'a> {
    sha256: String,
    source: &'a Source,
}

#[derive(Serialize)]
struct Record<'a> {
    name: &'a str,
    source_tool_name: &'a str,
    /// `suggestion` where nobody decided anything, `reviewed` where somebody did.
    status: &'static str,
    needs_review: bool,
    review_reasons: &'a [String],
    endpoint_confidence: Confidence,
    inference_sources: InferenceSources,
    /// What the bundle suggested, of the fields that a person decided otherwise.
    #[serde(skip_serializing_if = "Map::is_empty")]
    suggested: Map<String, Value>,
    decided: Value,
    params: Vec<Value>,
}

pub(super) fn provenance(built: &Built) -> String {
    let hash = Sha256::digest(built.bundle.to_json());
    let document = Document {
        adapter: &built.adapter.name,
        version: &built.adapter.version,
        bundle: Bundle {
            sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            source: &built.bundle.source,
        },
        operations: built.made.iter().filter_map(|made| Some(record(made, built.source(made)?))).collect(),
        omitted: built.omitted.iter().map(|(name, why)| json!({"operation": name, "because": why})).collect(),
        warnings: &built.warnings,
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Each field that a person decided comes from that person.
pub(super) fn sources(made: &Made, source: &Operation) -> InferenceSources {
    let manual =
        |given: bool, from: Option<Provenance>| if given { Some(Provenance::ManualOverride) } else { from };
    let (given, from) = (&made.given, &source.provenance.inference_sources);
    InferenceSources {
        operation_name: manual(given.name.is_some(), from.operation_name),
        description: manual(given.description.is_some(), from.description),
        endpoint: manual(given.endpoint.is_some(), from.endpoint),
        danger_level: manual(given.danger.is_some() || given.endpoint.is_some(), from.danger_level),
        maps_to: manual(made.operation.maps_to != source.maps_to, from.maps_to),
    }
}

fn record<'a>(made: &'a Made, source: &'a Operation) -> Record<'a> {
    let (operation, given) = (&made.operation, &made.given);
    let suggestions = [
        ("operation_name", given.name.is_some(), json!(source.operation_name)),
        ("description", given.description.is_some(), json!(source.description)),
        ("endpoint", given.endpoint.is_some(), json!(source.endpoint)),
        ("danger_level", given.danger.is_some() || given.endpoint.is_some(), json!(source.danger_level)),
        ("maps_to", operation.maps_to != source.maps_to, json!(source.maps_to)),
    ];
    let suggested: Map<String, Value> = suggestions
        .into_iter()
        .filter(|(_, decided, _)| *decided)
        .map(|(key, _, value)| (key.to_owned(), value))
        .collect();
    let params = source.params.iter().map(|param| {
        let of_param = given.params.get(&param.name);
        let manual = |given: bool| {
            if given { Provenance::ManualOverride } else { Provenance::DeterministicNormalization }
        };
        let renamed = of_param.and_then(|given| given.name.as_ref());
        let mut sources = Map::new();
        let direct = |same: bool| if same { Provenance::DirectSourceMetadata } else { manual(false) };
        let name_from =
            if renamed.is_some() { manual(true) } else { direct(param.name == param.original_name) };
        sources.insert("name".to_owned(), json!(name_from));
        if of_param.is_some_and(|given| given.description.is_some()) {
            sources.insert("description".to_owned(), json!(manual(true)));
        }
        let mut out = json!({
            "name": renamed.unwrap_or(&param.name), "original_name": param.original_name,
            "source_path": param.source_path, "inference_sources": sources,
        });
        if of_param.is_some_and(|given| given.omit)
            && let Some(out) = out.as_object_mut()
        {
            out.insert("omitted".to_owned(), json!(manual(true)));
        }
        out
    });
    Record {
        name: &operation.name,
        source_tool_name: &source.source_tool_name,
        status: if suggested.is_empty() { "suggestion" } else { "reviewed" },
        needs_review: source.needs_review,
        review_reasons: &source.review_reasons,
        endpoint_confidence: source.endpoint_confidence,
        inference_sources: sources(made, source),
        suggested,
        decided: json!({
            "endpoint": operation.category, "danger_level": operation.danger, "maps_to": operation.maps_to,
        }),
        params: params.collect(),
    }
}
