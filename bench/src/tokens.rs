//! What tool lists and introspection cost a model: o200k tokens of compact JSON.

use aql::{
    define,
    profile::{Mode, Profile},
    registry::{Builder, Registry},
};
use serde_json::{Map, Value, json};
use tiktoken_rs::CoreBPE;

use crate::{
    Result,
    captured::{self, Captured},
    report::{Report, Target},
    subject,
};

/// Operations whose details a model looks up before it calls them.
const LOOKED_UP: usize = 10;
/// As many operations as the specification's own figures are for.
const SPECIFICATION_OPERATIONS: usize = 50;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let tokenizer = tiktoken_rs::o200k_base()?;
    let all = subject::definitions();
    let few: Vec<define::Operation> = all.iter().take(SPECIFICATION_OPERATIONS).cloned().collect();
    lists(report, &tokenizer, &all)?;
    costs(report, &tokenizer, "Costs with 50 operations (REQ-COST-01 to 04)", &few)?;
    costs(report, &tokenizer, "Costs with 500 operations", &all)?;
    hits(report, &tokenizer, &all)?;
    real(report, &tokenizer)
}

/// The same over the tool lists of real servers, where they lie beside the project.
fn real(report: &mut Report, tokenizer: &CoreBPE) -> Result<()> {
    const SECTION: &str = "Real servers, all captures together";
    let Some(folder) = captured::folder() else { return Ok(()) };
    let captured = captured::read(&folder)?;
    let eager = count(tokenizer, &Value::Array(captured.tools.clone()));
    let costs = Costs::of(tokenizer, &captured, &captured::queries(&folder)?)?;
    report.add(SECTION, "their own tools/list", eager, "tokens", Target::None);
    report.add(SECTION, "tools/list, five tools", costs.list, "tokens", Target::AtMost(900.0));
    for (what, share, target) in [
        ("a search with five hits, median", 0.5, Target::None),
        ("a search with five hits, the longest", 1.0, Target::AtMost(400.0)),
    ] {
        report.add(SECTION, what, costs.searches.at(share), "tokens", target);
    }
    for (what, share, target) in [
        ("a description, median", 0.5, Target::AtMost(250.0)),
        ("a description, nine in ten below", 0.9, Target::None),
        ("a description, the longest", 1.0, Target::None),
    ] {
        report.add(SECTION, what, costs.details.at(share), "tokens", target);
    }
    Ok(())
}

/// What a model pays for real operations.
struct Costs {
    list: f64,
    searches: Sorted,
    details: Sorted,
}

impl Costs {
    fn of(tokenizer: &CoreBPE, captured: &Captured, queries: &[String]) -> Result<Self> {
        let registry = captured.builder().build()?;
        let ask = |params: Value| Ok(tokens(tokenizer, &introspect(&registry, params)?));
        let search = |query: &String| ask(json!({"query": "operations", "search": query, "first": 5}));
        let detail =
            |operation: &define::Operation| ask(json!({"query": "operations", "name": operation.name}));
        Ok(Self {
            list: count(tokenizer, &tools(&registry)),
            searches: Sorted::new(queries.iter().map(search).collect::<Result<_>>()?),
            details: Sorted::new(captured.operations.iter().map(detail).collect::<Result<_>>()?),
        })
    }
}

/// Counts in their order.
struct Sorted(Vec<f64>);

impl Sorted {
    fn new(mut counts: Vec<f64>) -> Self {
        counts.sort_unstable_by(f64::total_cmp);
        Self(counts)
    }

    /// The count that this share of them does not exceed.
    fn at(&self, share: f64) -> f64 {
        let place = share * (self.0.len() as f64 - 1.0);
        self.0.get(place as usize).copied().unwrap_or_default()
    }
}

fn introspect(registry: &Registry, params: Value) -> Result<String> {
    let params = params.as_object().cloned().unwrap_or_default();
    const SESSION: &str = "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d";
    Ok(aql::introspect::answer(registry, &params, SESSION).map_err(|error| error.message)?.to_text())
}

/// What a model reads of a search: the operations that were found, and the whole answer around them.
fn hits(report: &mut Report, tokenizer: &CoreBPE, operations: &[define::Operation]) -> Result<()> {
    const SECTION: &str = "A search with five hits among 500 operations";
    let registry = build(operations, |builder| builder.mode(Mode::Single))?;
    let params = json!({"query": "operations", "search": "rename a sensor", "first": 5});
    let params = params.as_object().cloned().unwrap_or_default();
    let answer = aql::introspect::answer(&registry, &params, "").map_err(|error| error.message)?.to_text();
    let hits =
        serde_json::from_str::<Value>(&answer)?.pointer("/data/operations").cloned().unwrap_or_default();
    report.add(SECTION, "the hits", count(tokenizer, &hits), "tokens", Target::AtMost(400.0));
    report.add(SECTION, "the whole answer", tokens(tokenizer, &answer), "tokens", Target::None);
    Ok(())
}

fn lists(report: &mut Report, tokenizer: &CoreBPE, all: &[define::Operation]) -> Result<()> {
    const SECTION: &str = "tools/list with 500 operations";
    for (what, mode, profile, target) in [
        ("CRUDE profile, five tools", Mode::Semantic, Profile::crude(), Target::AtMost(900.0)),
        ("single mode, one tool", Mode::Single, Profile::crude(), Target::AtMost(300.0)),
        ("discover profile, four tools", Mode::Semantic, Profile::discover(), Target::None),
    ] {
        let registry = build(all, |builder| builder.mode(mode).profile(profile))?;
        report.add(SECTION, what, count(tokenizer, &tools(&registry)), "tokens", target);
    }
    Ok(())
}

fn costs(
    report: &mut Report,
    tokenizer: &CoreBPE,
    section: &'static str,
    operations: &[define::Operation],
) -> Result<()> {
    let semantic = build(operations, |builder| builder)?;
    let single = build(operations, |builder| builder.mode(Mode::Single))?;
    let discrete = count(tokenizer, &Value::Array(operations.iter().map(discrete_tool).collect()));
    let registered = count(tokenizer, &tools(&single));
    let semantic = count(tokenizer, &tools(&semantic));
    report.add(section, "one tool for each operation", discrete, "tokens", Target::None);
    report.add(section, "semantic mode", semantic, "tokens", Target::AtMost(4300.0));
    report.add(section, "single mode", registered, "tokens", Target::AtMost(1100.0));
    let saved = |tokens: f64| 100.0 * (1.0 - tokens / discrete);
    report.add(section, "semantic mode saves", saved(semantic), "%", Target::AtLeast(80.0));
    report.add(section, "single mode saves", saved(registered), "%", Target::AtLeast(95.0));
    let mut looked_up = registered;
    for operation in spread(operations) {
        let params = json!({"query": "operations", "name": operation.name});
        let params = params.as_object().cloned().unwrap_or_default();
        let answer = aql::introspect::answer(&single, &params, "").map_err(|error| error.message)?;
        looked_up += tokens(tokenizer, &answer.to_text());
    }
    report.add(section, "single mode and ten details", looked_up, "tokens", Target::AtMost(5200.0));
    let share = 100.0 * looked_up / discrete;
    report.add(section, "  of one tool for each operation", share, "%", Target::AtMost(20.0));
    Ok(())
}

/// Ten operations of all kinds.
fn spread(operations: &[define::Operation]) -> impl Iterator<Item = &define::Operation> {
    let step = operations.len() / LOOKED_UP + 1;
    operations.iter().step_by(step.max(1)).chain(operations.last()).take(LOOKED_UP)
}

fn build(operations: &[define::Operation], with: impl FnOnce(Builder) -> Builder) -> Result<Registry> {
    Ok(with(Registry::builder("bench")).operations(operations.to_vec()).build()?)
}

/// What a model sees of a tool list.
fn tools(registry: &Registry) -> Value {
    let tool = |tool: &aql::tools::Tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema});
    Value::Array(registry.tools().iter().map(tool).collect())
}

/// The same operation as a tool of its own, as most servers have them.
fn discrete_tool(operation: &define::Operation) -> Value {
    let mut properties = Map::new();
    for param in &operation.params {
        let mut schema = json!({"type": param.kind, "description": param.description});
        for (key, value) in [
            ("minimum", param.minimum.map(Value::from)),
            ("maximum", param.maximum.map(Value::from)),
            ("minLength", param.min_length.map(Value::from)),
            ("maxLength", param.max_length.map(Value::from)),
            ("default", param.default.clone()),
        ] {
            if let (Value::Object(schema), Some(value)) = (&mut schema, value) {
                schema.insert(key.to_owned(), value);
            }
        }
        properties.insert(param.name.clone(), schema);
    }
    let required: Vec<&str> =
        operation.params.iter().filter(|p| p.required).map(|p| p.name.as_str()).collect();
    json!({
        "name": operation.name,
        "description": operation.description,
        "inputSchema": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        },
    })
}

fn count(tokenizer: &CoreBPE, value: &Value) -> f64 {
    tokens(tokenizer, &value.to_string())
}

fn tokens(tokenizer: &CoreBPE, text: &str) -> f64 {
    tokenizer.encode_ordinary(text).len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What real servers' operations cost a model, over every capture together.
    #[test]
    fn hundreds_of_real_operations_stay_within_their_budget() {
        let Some(folder) = captured::folder() else {
            eprintln!("skipped: the captures are not there");
            return;
        };
        let tokenizer = tiktoken_rs::o200k_base().unwrap();
        let costs =
            Costs::of(&tokenizer, &captured::read(&folder).unwrap(), &captured::queries(&folder).unwrap());
        let costs = costs.unwrap();
        assert!(costs.list <= 900.0, "tools/list: {}", costs.list);
        assert!(costs.searches.at(1.0) <= 400.0, "the longest search: {}", costs.searches.at(1.0));
        assert!(costs.details.at(0.5) <= 250.0, "the median description: {}", costs.details.at(0.5));
    }
}
