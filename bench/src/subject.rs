//! What is measured: a gateway over 500 operations of the kind that real servers have.

use std::sync::Arc;

use aql::{
    category::Category::{self, Create, Delete, Execute, Read, Update},
    define::{Operation, Param},
    registry::Registry,
};
use gateway::{
    adapters::Operations,
    dispatch::{Context, Outcome, Work},
    gate::Permitted,
    pipeline::Gateway,
    trace::Recorder,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Result;

/// The operation that pipeline calls go to: a READ with three parameters.
pub(crate) const READ: &str = "get_forecast";

#[derive(Deserialize, JsonSchema)]
struct Asked {
    /// City to look up
    #[schemars(length(min = 1, max = 100))]
    city: String,
    /// Days ahead
    #[schemars(range(min = 1, max = 14))]
    days: i64,
    /// Whether to tell hours as well
    hourly: bool,
}

#[derive(Serialize)]
struct Forecast {
    city: String,
    days: i64,
    hourly: bool,
    sky: &'static str,
    degrees: f64,
}

const NOUNS: [&str; 50] = [
    "account",
    "invoice",
    "payment",
    "refund",
    "customer",
    "order",
    "product",
    "shipment",
    "warehouse",
    "contract",
    "ticket",
    "comment",
    "project",
    "milestone",
    "issue",
    "branch",
    "release",
    "pipeline",
    "runner",
    "secret",
    "document",
    "folder",
    "template",
    "report",
    "dashboard",
    "alert",
    "metric",
    "service",
    "cluster",
    "node",
    "volume",
    "snapshot",
    "backup",
    "bucket",
    "queue",
    "topic",
    "schedule",
    "workflow",
    "employee",
    "team",
    "role",
    "meeting",
    "room",
    "campaign",
    "audience",
    "survey",
    "course",
    "lesson",
    "device",
    "sensor",
];

const VERBS: [(Category, &str, &str); 10] = [
    (Create, "create", "Create a new"),
    (Create, "import", "Import from a file a"),
    (Read, "get", "Get everything known about one"),
    (Read, "find", "Find by name or label a"),
    (Read, "count", "Count by label every"),
    (Read, "check", "Check the health and permissions of a"),
    (Update, "update", "Change the title, labels or owner of a"),
    (Update, "rename", "Give another name to a"),
    (Delete, "delete", "Delete for good a"),
    (Execute, "execute", "Start the synchronisation of a"),
];

/// 500 operations with three parameters each, of all categories.
pub(crate) fn definitions() -> Vec<Operation> {
    let pairs = NOUNS.into_iter().flat_map(|noun| VERBS.into_iter().map(move |verb| (noun, verb)));
    pairs
        .map(|(noun, (category, verb, sentence))| {
            let id = format!("{noun}_id");
            let (second, example) = match category {
                Update => (
                    Param::new("input", "object", "What to change").required(),
                    json!({&id: format!("{noun}_42"), "input": {"title": "Spring"}}),
                ),
                _ => (
                    Param::new("label", "string", "Label to attach or to look for").length(1, 80),
                    json!({&id: format!("{noun}_42")}),
                ),
            };
            let limit = Param::new("limit", "integer", "How many at the most").range(1.0, 100.0);
            Operation::new(category, &format!("{verb}_{noun}"), &format!("{sentence} {noun}"))
                .param(Param::new(&id, "string", &format!("Identifier of the {noun}")).required())
                .param(second)
                .param(limit.default_value(20))
                .example(&format!("For one {noun}"), example)
        })
        .collect()
}

fn nothing(_: Permitted, _: Context) -> Work {
    Box::pin(async { Ok(Outcome::from(aql::response::Data::Value(serde_json::Value::Null))) })
}

/// A gateway that works at no particular time.
pub(crate) fn gateway(recorder: Option<Arc<Recorder>>) -> Result<Arc<Gateway>> {
    let mut operations = Operations::new().typed(
        Operation::new(Read, READ, "Get the weather forecast of a city"),
        |asked: Asked, _| async move {
            let Asked { city, days, hourly } = asked;
            Ok(Forecast { city, days, hourly, sky: "clear", degrees: 21.5 })
        },
    )?;
    for definition in definitions().into_iter().skip(1) {
        operations.add(definition, nothing);
    }
    let surface = operations.publish(Registry::builder("bench"))?;
    let gateway = Gateway::new(surface, || jiff::Timestamp::UNIX_EPOCH);
    Ok(Arc::new(gateway.with_recorder(recorder)))
}
