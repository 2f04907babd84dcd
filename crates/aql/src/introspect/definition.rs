//! How `introspect` describes itself.

use serde_json::json;

use crate::{
    category::Category,
    define::{Operation, Param},
    registry::INTROSPECT,
    shared,
};

/// The definition that every registry starts with.
#[must_use]
pub fn definition() -> Operation {
    let mut first = shared::first();
    first.default = None;
    first.description =
        "Page size, up to 100; without it the list is complete and a search gives 10. pageInfo stands in _protocol"
            .to_owned();
    let mut fields = shared::fields();
    fields.description =
        "Shorter answers: 'minimal' leaves out descriptions and examples, 'standard' examples; \
         or the keys to keep, among description, examples. Longer ones: 'full' adds what many operations take alike"
            .to_owned();
    Operation::new(Category::Read, INTROSPECT, "Discover available operations and types")
        .param(
            Param::new(
                "query",
                "string",
                "Which list to read; 'danger' tells danger levels and their reasons, 'adapter_info' whom to trust how far, 'quota_status' how much of each quota is used",
            )
            .required()
            .allowed(&["operations", "types", "danger", "adapter_info", "quota_status"]),
        )
        .param(Param::new("name", "string", "Specific operation, type or server name for detailed info"))
        .param(Param::new(
            "search",
            "string",
            "Free text; the operations whose name, description or parameters fit it, best first",
        ))
        .param(
            Param::new(
                "filter",
                "object",
                "Only operations with this 'category', 'endpoint' (family) or 'server'",
            )
            .fields_of("IntrospectionFilter"),
        )
        .param(first)
        .param(shared::after())
        .param(fields)
        .returns("Json", "The operations, one operation, the types or one type")
        .example("List all operations", json!({"query": "operations"}))
        .example("Everything about one operation", json!({"query": "operations", "name": "introspect"}))
        .example(
            "Find operations for a task",
            json!({"query": "operations", "search": "create", "first": 10}),
        )
        .example("Only operations that read", json!({"query": "operations", "filter": {"category": "READ"}}))
}
