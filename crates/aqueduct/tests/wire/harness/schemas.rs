//! Schemas that every answer is held against, and words that no failure may hold.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use serde_json::Value;

/// The MCP-AQL answer in a tool result. Whatever test asks for it, it is checked here.
pub(crate) fn answer_in(result: &Value, arguments: &Value, schemas: &Schemas) -> Value {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    assert_eq!(result["content"][0]["type"], "text");
    let text = result["content"][0]["text"].as_str().unwrap();
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    schemas.check(&answer, arguments);
    if let Some(error) = answer.get("error") {
        let code = error["code"].as_str().unwrap();
        let unrecoverable = code.starts_with("INTERNAL_") || code == "INTROSPECTION_ERROR";
        assert_eq!(result["isError"], unrecoverable, "{answer}");
        no_leaks(error);
    } else {
        assert_eq!(result["isError"], false, "{answer}");
    }
    answer
}

/// REQ-ERR-07 and the published runner's own patterns, on every failure that any test sees.
fn no_leaks(error: &Value) {
    let message = error["message"].as_str().unwrap();
    let whole = error.to_string();
    for word in [
        "panicked",
        "unwrap",
        "serde",
        "TypeError",
        "ReferenceError",
        "SyntaxError",
        "backtrace",
        "/src/",
        "/home/",
        ".rs:",
    ] {
        assert!(!whole.contains(word), "'{word}' in {whole}");
    }
    let lower = message.to_lowercase();
    for (place, _) in lower.match_indices("at") {
        let rest = &lower[place + 2..];
        let looks_like_a_frame = rest.starts_with(char::is_whitespace) && !rest.trim_start().is_empty();
        assert!(!looks_like_a_frame, "'{message}' looks like a stack frame");
    }
    assert!(!message.contains("::"), "{message}");
}

/// Schemas that answers are held against.
pub(crate) struct Schemas {
    published: Option<Published>,
    own: std::collections::HashMap<String, jsonschema::Validator>,
}

struct Published {
    result: jsonschema::Validator,
    batch: jsonschema::Validator,
    introspection: jsonschema::Validator,
}

pub(crate) static SCHEMAS: LazyLock<Arc<Schemas>> = LazyLock::new(|| Arc::new(Schemas::load()));

/// The specification's files, where they lie beside the project.
pub(crate) fn spec_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec-data");
    folder.is_dir().then_some(folder)
}

impl Schemas {
    fn load() -> Self {
        let validator = |path: PathBuf| {
            let schema: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            jsonschema::validator_for(&schema).unwrap()
        };
        let published = spec_data().map(|folder| {
            let schema = |name: &str| validator(folder.join(format!("schemas/{name}.schema.json")));
            Published {
                result: schema("operation-result"),
                batch: schema("batch-operation"),
                introspection: schema("introspection-response"),
            }
        });
        let (operations, types) = gateway::adapters::built_in();
        let registry = gateway::aql::registry::Registry::builder("aqueduct")
            .operations(operations)
            .types(types)
            .build()
            .unwrap();
        let own = registry
            .operations()
            .map(|(_, operation)| {
                let schema = gateway::aql::answer_schema::answer(&registry, operation);
                (operation.name().to_string(), jsonschema::validator_for(&schema).unwrap())
            })
            .collect();
        Self { published, own }
    }

    fn check(&self, answer: &Value, arguments: &Value) {
        let valid = |validator: &jsonschema::Validator, what: &str| {
            if let Some(error) = validator.iter_errors(answer).next() {
                panic!("{answer}\ndoes not fit {what}: {error}");
            }
        };
        let is_batch = arguments.get("operations").is_some();
        let operation = arguments["operation"].as_str().unwrap_or_default();
        let standard_query = matches!(arguments["params"]["query"].as_str(), Some("operations" | "types"));
        if let Some(published) = &self.published {
            if is_batch {
                valid(&published.batch, "batch-operation");
            } else {
                valid(&published.result, "operation-result");
            }
            if operation == "introspect" && (standard_query || answer["success"] == false) {
                valid(&published.introspection, "introspection-response");
            }
        }
        if let Some(own) = self.own.get(operation).filter(|_| !is_batch) {
            valid(own, "the operation's own schema");
        }
    }
}
