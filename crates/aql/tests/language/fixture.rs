//! The fixture adapter: items and jobs, with every kind of constraint on some parameter.

use std::sync::Arc;

use aql::{
    category::Category::{self, Create, Delete, Execute, Read, Update},
    danger::DangerLevel,
    define::{Answers, Deprecation, Operation, Param, Selection, Type},
    policy::Policy,
    registry::{Builder, Registry},
    shared,
};
use serde_json::json;

/// The adapter with every default in force.
pub(crate) fn registry() -> Arc<Registry> {
    built(builder())
}

pub(crate) fn built(builder: Builder) -> Arc<Registry> {
    Arc::new(builder.build().unwrap_or_else(|problems| panic!("{problems}")))
}

/// The adapter, still to be configured.
pub(crate) fn builder() -> Builder {
    Registry::builder("items").types(types()).operations(operations()).policy(asking())
}

/// What the rules are where callers are asked and get a token.
pub(crate) fn asking() -> Policy {
    Policy { gating: true, tokens: true, ..Policy::default() }
}

fn types() -> Vec<Type> {
    let text = |name: &str, description: &str| Param::new(name, "string", description);
    vec![
        Type::enumeration("ItemCategory", "What an item is", &["product", "service"]),
        Type::object(
            "Part",
            "A part of an item",
            vec![
                text("label", "What stands on it").required(),
                Param::new("size", "integer", "Its size in millimetres").range(1.0, 500.0),
                Param::new("kind", "ItemCategory", "What the part is"),
            ],
        ),
        Type::object(
            "Item",
            "An item as stored",
            vec![
                text("id", "Its identifier").required(),
                text("name", "Its name").required(),
                text("title", "Its title"),
                Param::new("category", "ItemCategory", "What it is"),
                Param::new("price", "number", "Its price"),
                text("created_at", "When it was created").format("date-time").required(),
            ],
        ),
        Type::object(
            "ItemChanges",
            "What of an item can be changed",
            vec![
                text("title", "Its title").length(1, 100),
                Param::new("category", "ItemCategory", "What it is"),
                Param { minimum: Some(0.0), ..Param::new("price", "number", "Its price") },
                Param::new("tags", "array", "Words for it").items(text("tag", "A word")),
                Param::new("metadata", "object", "Anything else").nullable(),
                Param::new("parts", "Part[]", "What it is made of"),
                text("pin", "What opens it").sensitive().pattern("^[0-9]{4}$"),
            ],
        ),
        Type::object(
            "ItemSort",
            "How a list is sorted",
            vec![
                text("field", "The field to sort by").required(),
                text("order", "Upwards or downwards").allowed(&["asc", "desc"]),
            ],
        ),
        Type::union("Stored", "Whatever is stored", &["Item", "Part"]),
    ]
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        create_item(),
        get_item(),
        list_items(),
        search_items(),
        update_item(),
        update_settings(),
        delete_item(),
        purge_cache(),
        execute_job(),
        Operation::new(Execute, "cancel_job", "End a job, pending or running")
            .param(Param::new("job_id", "string", "Which job").required()),
        find_items(),
        // A name that speaks of another category than the declared one, which is what counts.
        Operation::new(Read, "delete_view", "The deletions so far, as a view"),
    ]
}

fn create_item() -> Operation {
    let plain = |name: &str, kind: &str, description: &str| Param::new(name, kind, description);
    Operation::new(Create, "create_item", "Create an item")
        .param(plain("name", "string", "The item's name.").required().length(1, 100))
        .param(plain("category", "ItemCategory", "What the item is").required())
        .param(Param { minimum: Some(0.0), ..plain("price", "number", "What it costs") })
        .param(plain("priority", "integer", "How urgent it is").range(1.0, 10.0).default_value(5))
        .param(Param { maximum: Some(99.5), ..plain("discount", "number", "Percent off") })
        .param(plain("active", "boolean", "Whether it is for sale"))
        .param(plain("tags", "array", "Words for it").items(plain("tag", "string", "A word").length(1, 20)))
        .param(plain("attributes", "object", "Anything else, free-form"))
        .param(plain("categories", "ItemCategory[]", "Whatever else it is"))
        .param(plain("parts", "Part[]", "What it is made of"))
        .param(plain("code", "string", "A short code").pattern("^[a-zA-Z][a-zA-Z0-9_-]*$"))
        .param(Param { min_length: Some(3), ..plain("slug", "string", "Its place in addresses") })
        .param(plain("due_date", "string", "The day it is due").format("date"))
        .param(plain("due_at", "string", "The moment it is due").format("date-time"))
        .param(plain("link", "string", "Where to read more").format("uri"))
        .param(plain("contact", "string", "Whom to ask").format("email"))
        .param(plain("batch_id", "string", "The batch it came in").format("uuid"))
        .param(plain("file_content", "string", "A file, in base64").format("base64"))
        .param(plain("file_encoding", "string", "How file_content is written").allowed(&["base64"]))
        .param(plain("file_mime_type", "string", "What file_content is, such as text/plain"))
        .param(
            plain(
                "amount",
                "string",
                "Amount with all its digits, as a string; 'amount_type' says which kind",
            )
            .pattern("^-?[0-9]+(\\.[0-9]+)?$"),
        )
        .param(plain("amount_type", "string", "What 'amount' holds").allowed(&["bigint", "decimal"]))
        .param(plain("api_key", "string", "Key for the shop").sensitive().length(8, 64))
        .param(
            plain("api_pins", "array", "Keys for the doors")
                .sensitive()
                .items(plain("pin", "string", "One key")),
        )
        .param(plain("note", "string", "A remark").nullable())
        .param(Param { nul_safe: true, ..plain("blob", "string", "Text that may hold U+0000") })
        .param(plain("size", "string | number", "Its size, in words or millimetres"))
        .param(shared::dry_run())
        .returns("Item", "The item created")
        .example("Create a product", json!({"category": "product", "name": "Lamp"}))
}

fn selection(answers: Answers) -> Selection {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    Selection {
        answers,
        minimal: names(&["id"]),
        standard: names(&["id", "name"]),
        full: names(&["id", "name", "title", "settings.theme", "metadata.*", "due_date"]),
        presets: [("contact".to_owned(), names(&["name", "settings.theme"]))].into(),
    }
}

fn get_item() -> Operation {
    Operation::new(Read, "get_item", "Get one item")
        .param(Param::new("item_id", "string", "Which item").required().alias("itemId"))
        .returns("Item", "The item")
        .selection(selection(Answers::One))
}

fn filter() -> Param {
    Param::new("filter", "object", "Only items whose fields equal these values")
}

fn sort() -> Param {
    Param::new("sort", "object", "How to sort, as 'field' and 'order'").fields_of("ItemSort")
}

fn list_items() -> Operation {
    Operation::new(Read, "list_items", "List items")
        .param(filter())
        .param(sort())
        .param(shared::first())
        .param(shared::after())
        .returns("Item", "A page of items")
        .selection(selection(Answers::Collection))
}

fn search_items() -> Operation {
    Operation::new(Read, "search_items", "Search items, because a list takes no free text")
        .param(Param::new("query", "string", "Free text to look for").required())
        .param(filter())
        .param(sort())
        .param(shared::first())
        .param(shared::after())
        .returns("Item", "A page of hits")
        .selection(selection(Answers::Search))
}

fn update_item() -> Operation {
    Operation::new(Update, "update_item", "Change an item")
        .param(Param::new("item_id", "string", "Which item").required().alias("itemId"))
        .param(Param::new("input", "object", "The fields to change").fields_of("ItemChanges"))
        .param(shared::if_match())
        .param(shared::dry_run())
        .returns("Item", "The item as it is now")
        .example("Rename", json!({"input": {"title": "New"}, "item_id": "1"}))
}

fn update_settings() -> Operation {
    Operation::new(Update, "update_settings", "Change settings, of which any may exist")
        .param(Param::new("scope_id", "string", "Whose settings").required())
        .param(Param::new("input", "object", "The settings to change"))
}

fn delete_item() -> Operation {
    Operation::new(Delete, "delete_item", "Delete an item")
        .param(Param::new("item_id", "string", "Which item").required().alias("itemId"))
        .param(shared::dry_run())
}

fn purge_cache() -> Operation {
    Operation::new(Delete, "purge_cache", "Purge the cache, as caches customarily say for delete")
        .danger(DangerLevel::Dangerous, &["every cached answer is lost"])
}

fn execute_job() -> Operation {
    Operation::new(Execute, "execute_job", "Start a job")
        .param(Param::new("job_name", "string", "Which job").required())
        .param(Param::new("arguments", "object", "What the job is given"))
}

fn find_items() -> Operation {
    let mut limit = Param::new("limit", "integer", "How many").default_value(25).range(1.0, 100.0);
    limit.deprecated = Some(Deprecation {
        replacement: Some("first".to_owned()),
        removal_date: Some("2027-01-01".to_owned()),
    });
    Operation::new(Read, "find_items", "Find items")
        .param(Param::new("text", "string", "What to look for"))
        .param(limit)
        .param(shared::first())
        .deprecated(Some("list_items"), Some("2027-01-01"))
}

/// As many plain operations as asked for, spread over the categories.
pub(crate) fn synthetic(count: usize) -> Vec<Operation> {
    let verbs = ["create", "get", "update", "delete", "execute"];
    let categories = Category::ALL;
    (0..count)
        .map(|n| {
            let operation = Operation::new(
                categories[n % 5],
                &format!("{}_thing_{n:04}", verbs[n % 5]),
                "Does something to a thing",
            );
            let thing = Param::new("thing_id", "string", "Which thing").required();
            match categories[n % 5] {
                Update => operation.param(thing).param(Param::new("input", "object", "The changes")),
                _ => operation.param(thing),
            }
        })
        .collect()
}
