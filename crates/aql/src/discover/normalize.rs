//! From listed tools to the records of a bundle, by way of what [`adopt`](crate::adopt) makes of them.

use serde_json::{Map, Number, Value};

use super::{
    bundle::{Confidence, InferenceSources, Operation, OperationProvenance, Param, Returns, Rules, Warning},
    make::Options,
    source_path,
    target::{self, Target},
};
use crate::{
    adopt::{self, Taken},
    classify::Provenance,
    define,
    listed::ListedTool,
};

/// The record of each operation, in the order of the tools.
pub(super) fn operations(
    server: &str,
    read: Vec<(ListedTool, &Map<String, Value>)>,
    options: &Options<'_>,
    warnings: &mut Vec<Warning>,
) -> Vec<Operation> {
    let (tools, entries): (Vec<ListedTool>, Vec<&Map<String, Value>>) = read.into_iter().unzip();
    let adopting =
        adopt::Options { server, prefix: options.prefix, trust: options.trust, overrides: options.overrides };
    let adopted = adopt::adopt(&tools, &adopting, &mut Taken::default());
    warnings.extend(adopted.warnings.into_iter().map(warning));
    let places = places(&adopted.operations, &tools);
    for (operation, place) in adopted.operations.iter().zip(&places) {
        if let Some(entry) = entries.get(*place) {
            alternatives(operation, entry, warnings);
        }
    }
    let records = adopted.operations.iter().zip(places).filter_map(|(operation, place)| {
        let (tool, entry) = (tools.get(place)?, entries.get(place)?);
        Some(record(operation, tool, entry))
    });
    records.collect()
}

/// Adoption takes alternatives as they are; a bundle has no place for them.
fn alternatives(operation: &adopt::Operation, entry: &Map<String, Value>, warnings: &mut Vec<Warning>) {
    let several = |schema: &Value| {
        ["oneOf", "anyOf"].into_iter().find(|key| {
            let branches = schema.get(key).and_then(Value::as_array);
            let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
            branches.is_some_and(|branches| branches.iter().filter(|branch| !is_null(branch)).count() > 1)
        })
    };
    let params =
        operation.params.iter().map(|param| (param.source_path.as_str(), Some(&param.definition.name)));
    for (path, name) in params.chain(std::iter::once(("inputSchema", None))) {
        let Some(key) = source_path::resolve(entry, path).and_then(several) else { continue };
        let told = Warning {
            tool: Some(operation.tool.clone()),
            field: name.cloned(),
            ..Warning::new(
                UNSUPPORTED,
                adopt::Severity::Info,
                format!("'{key}' is told by its types alone; the raw capture has it whole"),
            )
        };
        let known = |warning: &Warning| {
            warning.code == told.code && warning.tool == told.tool && warning.field == told.field
        };
        if !warnings.iter().any(known) {
            warnings.push(told);
        }
    }
}

const UNSUPPORTED: &str = "UNSUPPORTED_SHAPE";

/// Which tool each operation was made of. Tools may share a name, and one may give several operations in a row.
pub(super) fn places(operations: &[adopt::Operation], tools: &[ListedTool]) -> Vec<usize> {
    let mut place = 0;
    let mut seen: Vec<&str> = Vec::new();
    let mut places = Vec::new();
    for operation in operations {
        let choice = operation.judged.choice.as_ref().map(|choice| choice.value.as_str());
        let begun = places.last() == Some(&place);
        let same_tool = tools.get(place).is_some_and(|tool| tool.name == operation.tool);
        let goes_on =
            begun && same_tool && choice.is_some_and(|value| !seen.contains(&value)) && !seen.is_empty();
        if begun && !goes_on {
            place += 1;
        }
        if !goes_on {
            seen.clear();
        }
        seen.extend(choice);
        places.push(place);
    }
    places
}

fn warning(given: adopt::Warning) -> Warning {
    let heuristic = (given.code == adopt::Code::NeedsReview).then(|| "classification".to_owned());
    Warning {
        tool: given.tool,
        field: given.param,
        heuristic,
        ..Warning::new(&given.code.to_string(), given.severity, given.message)
    }
}

/// A bundle has a sentence for every answer, also where the server has none.
fn returns(definition: &define::Operation, tool: &str) -> Returns {
    let define::Returns { type_name, description } = &definition.returns;
    let word = if type_name == "Json" { "Whatever" } else { "What" };
    let server = definition.server.as_deref().unwrap_or_default();
    Returns {
        kind: "object".to_owned(),
        name: type_name.clone(),
        description: match description.as_str() {
            "" => format!("{word} '{tool}' of '{server}' answers"),
            said => said.to_owned(),
        },
    }
}

fn record(operation: &adopt::Operation, tool: &ListedTool, entry: &Map<String, Value>) -> Operation {
    let adopt::Operation { definition, judged, .. } = operation;
    let judgement = &judged.judgement;
    let (description, described_by, description_from) = described(operation, tool);
    let annotations = entry.get("annotations").and_then(Value::as_object);
    // A name that was taken got a number, which no source has.
    let name_from = match judged.name_from {
        Provenance::DirectSourceMetadata if definition.name != tool.name => {
            Provenance::DeterministicNormalization
        }
        from => from,
    };
    Operation {
        source_tool_name: tool.name.clone(),
        operation_name: definition.name.clone(),
        title: tool.title.clone().or_else(|| tool.annotations.title.clone()),
        description,
        endpoint: judgement.category,
        endpoint_confidence: Confidence::of(judgement.confidence_percent),
        danger_level: judgement.danger,
        needs_review: judgement.needs_review(),
        review_reasons: judgement.reasons.clone(),
        params: operation.params.iter().map(|param| self::param(param, entry)).collect(),
        maps_to: target(operation).to_string(),
        returns: returns(definition, &tool.name),
        provenance: OperationProvenance {
            name: "name".to_owned(),
            description: Some(described_by.to_owned()),
            annotations: annotations.into_iter().flat_map(Map::keys).cloned().collect(),
            input_schema_present: entry.get("inputSchema").is_some_and(|schema| !schema.is_null()),
            inference_sources: InferenceSources {
                operation_name: Some(name_from),
                description: Some(description_from),
                endpoint: Some(judgement.category_from),
                danger_level: Some(judgement.danger_from),
                maps_to: Some(Provenance::DeterministicNormalization),
            },
        },
    }
}

/// The tool that an operation calls, and what makes the tool do it.
pub(super) fn target(operation: &adopt::Operation) -> Target {
    let fixed = operation.judged.choice.iter().map(|choice| target::Argument {
        name: choice.parameter.clone(),
        from: target::From::Fixed(choice.value.clone()),
    });
    Target { tool: operation.tool.clone(), arguments: fixed.collect() }
}

/// The source's own words where they are the operation's, the field they come from, and whether they are unchanged.
fn described(operation: &adopt::Operation, tool: &ListedTool) -> (String, &'static str, Provenance) {
    let said = [
        ("description", Some(&tool.description)),
        ("title", tool.title.as_ref()),
        ("annotations.title", tool.annotations.title.as_ref()),
    ];
    let ours = &operation.definition.description;
    for (field, text) in said {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            return if text.trim() == ours.trim() {
                (text.clone(), field, Provenance::DirectSourceMetadata)
            } else {
                (ours.clone(), field, Provenance::DeterministicNormalization)
            };
        }
    }
    (ours.clone(), "name", Provenance::DeterministicNormalization)
}

fn param(param: &adopt::Param, entry: &Map<String, Value>) -> Param {
    let definition = &param.definition;
    let said = source_path::resolve(entry, &param.source_path).and_then(|schema| schema.get("description"));
    let said = said.and_then(Value::as_str).map(str::to_owned);
    let ours = Some(definition.description.clone()).filter(|text| !text.is_empty());
    Param {
        name: definition.name.clone(),
        original_name: param.original_name.clone(),
        kind: json_type(definition),
        required: definition.required,
        rules: Rules { description: said.or(ours), ..rules(definition) },
        source_path: param.source_path.clone(),
    }
}

/// What bundle and adapter file can say of a parameter; adoption has warned of the rest.
pub(super) fn rules(definition: &define::Param) -> Rules {
    let texts: Option<Vec<String>> =
        definition.allowed.iter().map(|value| value.as_str().map(str::to_owned)).collect();
    Rules {
        description: Some(definition.description.clone()).filter(|text| !text.is_empty()),
        default: definition.default.clone(),
        allowed: texts.filter(|texts| !texts.is_empty()),
        minimum: definition.minimum.and_then(number),
        maximum: definition.maximum.and_then(number),
        pattern: definition.pattern.clone(),
        format: definition.format.clone(),
    }
}

/// The types of JSON, joined where it may be one of several: named types are not the file's to declare.
pub(super) fn json_type(definition: &define::Param) -> String {
    let kind = definition.kind.as_deref().unwrap_or_default();
    let mut kinds: Vec<&str> = Vec::new();
    for part in kind.split(" | ") {
        let part = match part {
            "string" | "integer" | "number" | "boolean" | "array" | "object" => part,
            part if part.ends_with("[]") => "array",
            _ => "object",
        };
        if !kinds.contains(&part) {
            kinds.push(part);
        }
    }
    kinds.join(" | ")
}

/// Whole numbers are written as such.
fn number(value: f64) -> Option<Number> {
    /// Beyond this not every whole number is one of its own.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        let whole = value as i64;
        return Some(whole.into());
    }
    Number::from_f64(value)
}
