//! How the workspace's operations and types describe themselves.

use aql::{
    category::Category,
    danger::DangerLevel,
    define::{Answers, Operation, Param, Queried, Selection, Type},
    shared,
};
use serde_json::json;

use crate::{adapters::page_type, store::entities::collection};

pub(super) const PRIORITY_DEFAULT: i64 = 5;
pub(super) const ENTITY_TYPES: [&str; 4] = ["resource", "item", "config", "workflow"];
const NAME_PATTERN: &str = "^[a-zA-Z][a-zA-Z0-9_-]*$";

pub(super) fn entity_id() -> Param {
    Param::new("entity_id", "string", "The id made by create_entity").required()
}

pub(super) fn entity_name() -> Param {
    Param::new("entity_name", "string", "Entity name, unique within its type")
        .length(1, 100)
        .pattern(NAME_PATTERN)
}

fn entity_type() -> Param {
    Param::new("entity_type", "string", "Type of entity").allowed(&ENTITY_TYPES)
}

fn description() -> Param {
    Param::new("description", "string", "Entity description").length(0, 500)
}

fn priority() -> Param {
    Param::new("priority", "integer", "Priority level").range(1.0, 10.0)
}

fn tags() -> Param {
    let tag = Param::new("tag", "string", "A tag").length(1, 100);
    Param::new("tags", "array", "Tags, replaced as a whole").items(tag)
}

fn metadata() -> Param {
    Param::new(
        "metadata",
        "object",
        "Any JSON object; large or exact numbers travel as strings. Of a workflow: 'steps' (WorkflowStep[]), and \
         optionally 'input' and 'output'",
    )
}

pub(super) fn relationship() -> Param {
    Param::new("relationship", "string", "The meaning of the relation, such as depends_on")
        .length(1, 50)
        .pattern("^[a-z][a-z0-9_]*$")
}

pub(super) fn types() -> Vec<Type> {
    let time = |name: &str, text: &str| Param::new(name, "string", text).format("date-time").required();
    vec![
        Type::enumeration("EntityType", "Available entity types", &ENTITY_TYPES),
        Type::object(
            "Entity",
            "A thing in the workspace",
            vec![
                entity_id(),
                entity_name().required(),
                entity_type().required(),
                description().required(),
                priority().required(),
                tags(),
                metadata(),
                time("created_at", "When it was created, UTC; read-only"),
                time("updated_at", "When it was last changed, UTC; read-only"),
                Param::new("_etag", "string", "Its version, for if_match; read-only").required(),
            ],
        ),
        Type::object(
            "EntityUpdate",
            "The fields of an entity that can change",
            vec![
                entity_name(),
                description(),
                Param { description: "Priority level; null sets it to 5".into(), ..priority().nullable() },
                Param {
                    description: "Tags, replaced as a whole; null removes them".into(),
                    ..tags().nullable()
                },
                Param {
                    description: "Merged by key; null removes it or a key in it".into(),
                    ..metadata().nullable()
                },
            ],
        ),
        page_type("EntityPage", "Entity", "One page of entities, or a summary of them"),
        Type::object(
            "DeletedEntity",
            "What was removed",
            vec![
                Param::new("deleted", "boolean", "False for a dry run").required(),
                entity_id(),
                entity_name().required(),
                entity_type().required(),
                Param::new("relations_removed", "integer", "Relations from or to it, removed with it")
                    .required(),
            ],
        ),
        Type::object(
            "Relation",
            "A directed relation between two entities",
            vec![
                Param::new("relation_id", "string", "The id made by create_relation").required(),
                Param::new("from_entity_id", "string", "Where it starts").required(),
                Param::new("to_entity_id", "string", "Where it ends").required(),
                relationship().required(),
                metadata(),
                time("created_at", "When it was created, UTC; read-only"),
            ],
        ),
        Type::object(
            "DeletedRelation",
            "What was removed",
            vec![
                Param::new("deleted", "boolean", "False for a dry run").required(),
                Param::new("relation", "Relation", "The relation as it was").required(),
            ],
        ),
    ]
}

fn selection(answers: Answers) -> Selection {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Selection {
        answers,
        minimal: list(&["entity_id", "entity_name", "entity_type"]),
        standard: list(&[
            "entity_id",
            "entity_name",
            "entity_type",
            "description",
            "priority",
            "tags",
            "updated_at",
            "_etag",
        ]),
        full: list(&[
            "entity_id",
            "entity_name",
            "entity_type",
            "description",
            "priority",
            "tags",
            "metadata.*",
            "created_at",
            "updated_at",
            "_etag",
        ]),
        presets: Default::default(),
    }
}

pub(super) fn create_entity() -> Operation {
    Operation::new(
        Category::Create,
        "create_entity",
        "Create a new entity of any type; the server makes its id",
    )
    .param(entity_name().required())
    .param(entity_type().required())
    .param(description().required())
    .param(priority().default_value(PRIORITY_DEFAULT))
    .param(tags())
    .param(metadata())
    .param(shared::dry_run())
    .returns("Entity", "Newly created entity")
    .example(
        "Create a resource entity",
        json!({"entity_name": "MyResource", "entity_type": "resource", "description": "A sample resource"}),
    )
}

pub(super) fn get_entity() -> Operation {
    let mut by_name = entity_name();
    by_name.description = "Entity name, instead of entity_id".to_owned();
    let mut of_type = entity_type();
    of_type.description = "Needed beside entity_name when entities of several types have it".to_owned();
    Operation::new(Category::Read, "get_entity", "Get one entity by its id or name")
        .param(entity_id().unless("entity_name"))
        .param(by_name)
        .param(of_type)
        .returns("Entity", "The entity")
        .example("Get an entity by id", json!({"entity_id": "0198c0de-0000-7000-8000-000000000000"}))
        .example("Get an entity by name", json!({"entity_name": "MyResource"}))
        .selection(selection(Answers::One))
        .queried_if(collection::list(), Queried::Item)
}

pub(super) fn list_entities() -> Operation {
    Operation::new(
        Category::Read,
        "list_entities",
        "List entities in the order they were created, or as asked",
    )
    .param(entity_type())
    .returns("EntityPage", "One page of entities")
    .example(
        "The most urgent open items",
        json!({
            "entity_type": "item",
            "filter": {"metadata.status": "open", "priority": {"gte": 7}},
            "sort": {"field": "priority", "order": "desc"},
            "fields": ["entity_id", "entity_name", "_computed.age_days"],
            "first": 10
        }),
    )
    .example(
        "How many of each type",
        json!({"aggregate": {"types": {"group_by": "entity_type", "count": true}}}),
    )
    .selection(selection(Answers::Collection))
    .queried_if(collection::list(), Queried::Stored)
}

pub(super) fn search_entities() -> Operation {
    let query = Param::new(
        "query",
        "string",
        "Words to look for in names, descriptions, tags and metadata: any of them fits, \"quoted words\" must stand \
         together",
    );
    Operation::new(
        Category::Read,
        "search_entities",
        "Find entities by free text, best first, equally good ones in the order of creation; unlike list_entities it \
         ranks",
    )
    .param(query.required().length(1, 1000))
    .param(entity_type())
    .returns("EntityPage", "One page of entities, best first")
    .example("Find entities about reports", json!({"query": "quarterly report"}))
    .example(
        "Only those in use, with more than their names",
        json!({"query": "report", "filter": {"metadata.status": "active"}, "fields": "standard", "first": 5}),
    )
    .selection(selection(Answers::Search))
    .queried_if(collection::search(), Queried::Stored)
}

pub(super) fn update_entity() -> Operation {
    Operation::new(Category::Update, "update_entity", "Change fields of an existing entity")
        .param(entity_id())
        .param(
            Param::new(shared::INPUT, "object", "The fields to change").required().fields_of("EntityUpdate"),
        )
        .param(shared::if_match())
        .param(shared::dry_run())
        .returns("Entity", "The whole entity after the change")
        .example(
            "Raise the priority and note the owner",
            json!({
                "entity_id": "0198c0de-0000-7000-8000-000000000000",
                "input": {"priority": 8, "metadata": {"owner": "alice"}}
            }),
        )
}

pub(super) fn delete_entity() -> Operation {
    Operation::new(Category::Delete, "delete_entity", "Remove an entity and its relations for good")
        .param(entity_id())
        .param(shared::if_match())
        .param(shared::dry_run())
        .returns("DeletedEntity", "What was removed")
        .example("Delete an entity", json!({"entity_id": "0198c0de-0000-7000-8000-000000000000"}))
        .danger(DangerLevel::Destructive, &["Removes the entity and every relation from or to it"])
}

pub(super) fn create_relation() -> Operation {
    Operation::new(Category::Create, "create_relation", "Relate one entity to another")
        .param(Param::new("from_entity_id", "string", "The id of the entity it starts from").required())
        .param(Param::new("to_entity_id", "string", "The id of the entity it leads to").required())
        .param(relationship().required())
        .param(metadata())
        .param(shared::dry_run())
        .returns("Relation", "Newly created relation")
        .example(
            "One entity depends on another",
            json!({
                "from_entity_id": "0198c0de-0000-7000-8000-000000000000",
                "to_entity_id": "0198c0de-0000-7000-8000-000000000001",
                "relationship": "depends_on"
            }),
        )
}

pub(super) fn delete_relation() -> Operation {
    Operation::new(Category::Delete, "delete_relation", "Remove a relation; its entities stay")
        .param(Param::new("relation_id", "string", "The id made by create_relation").required())
        .param(shared::dry_run())
        .returns("DeletedRelation", "What was removed")
        .example("Delete a relation", json!({"relation_id": "0198c0de-0000-7000-8000-000000000002"}))
        .danger(DangerLevel::Destructive, &["Removes the relation for good"])
}
