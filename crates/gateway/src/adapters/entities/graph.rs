//! `query_relationships`: the graph around an entity, a page of its relations a time.

use aql::{
    category::Category,
    define::{Answers, Operation, Param, Queried, Relationships, Selection, Type},
    error::Error,
    query::{Answer, Collection, Kind, Order, collection},
    response::Data,
    warning::Warning,
};
use serde_json::{Map, Value, json};

use super::{
    Params,
    define::{ENTITY_TYPES, relationship},
    not_found, record, store_error,
};
use crate::{
    adapters::Operations,
    dispatch::{Context, Outcome, Work},
    gate::Permitted,
    store::entities::{
        EntityStore,
        graph::{Cut, DEPTH_MAX, Direction, EDGES_MAX, Edge, Graph, NODES_MAX, Node, Root, Walk},
    },
};

/// The names that mean the same in every adapter.
const PORTABLE: [&str; 5] = ["uses", "extends", "references", "triggers", "composes"];
const DIRECTIONS: [&str; 3] = ["incoming", "outgoing", "both"];
const SECTIONS: [&str; 5] = ["root", "relationships", "graph", "graph.nodes", "graph.edges"];

/// What an item of the collection carries on its way through the query and loses before it is answered.
const RELATION_ID: &str = "_relation_id";
const EDGE: &str = "_edge";

pub(super) fn types() -> Vec<Type> {
    let text = |name: &str, about: &str| Param::new(name, "string", about);
    let element_type = || text("element_type", "Type of entity").allowed(&ENTITY_TYPES).required();
    let element_name = || text("element_name", "Entity name").required();
    let way = text("direction", "Whether it leads away from the entity it was met from, or to it");
    vec![
        Type::object(
            "EntityReference",
            "An entity by type and name, or by its id",
            vec![
                element_type().unless("entity_id"),
                element_name().unless("entity_id"),
                text("entity_id", "The id made by create_entity, instead of type and name"),
            ],
        ),
        Type::object(
            "Relationship",
            "A relation that was followed, or that closed a cycle",
            vec![
                text("type", "The name of the relation").required(),
                way.allowed(&DIRECTIONS).required(),
                Param::new("target", "EntityReference", "The entity it led to").required(),
                Param::new("depth", "integer", "How many relations away from the root").required(),
            ],
        ),
        Type::object(
            "GraphNode",
            "An entity in a graph",
            vec![text("id", "type:name, as edges have it").required(), element_type(), element_name()],
        ),
        Type::object(
            "GraphEdge",
            "A relation in a graph, as it was created",
            vec![
                text("source", "The id of the node it starts from").required(),
                text("target", "The id of the node it leads to").required(),
                text("type", "The name of the relation").required(),
            ],
        ),
        Type::object(
            "Graph",
            "The page's relations with the entities between them",
            vec![
                Param::new("nodes", "GraphNode[]", "The root and both ends of every edge"),
                Param::new("edges", "GraphEdge[]", "The relations"),
            ],
        ),
        Type::object(
            "RelationshipResult",
            "The relations around an entity, nearest first",
            vec![
                Param::new("root", "EntityReference", "Where it begins").required(),
                Param::new("relationships", "Relationship[]", "One page of the relations"),
                Param::new("graph", "Graph", "The same relations as nodes and edges"),
                Param::new("pageInfo", "PageInfo", "Where the page stands"),
                Param::new(
                    "truncated",
                    "boolean",
                    "There and true if the graph is larger than what was walked",
                ),
            ],
        ),
    ]
}

pub(super) fn query_relationships() -> Operation {
    let mut relationship = relationship();
    relationship.description = format!(
        "Only relations of this name: {}, or any other that create_relation was given; all if left out",
        PORTABLE.join(", ")
    );
    let depth = Param::new("depth", "integer", "How many relations to follow one after another");
    let section = Param::new("section", "string", "A section").allowed(&SECTIONS);
    let include =
        Param::new("include", "array", "Which sections to answer, all if left out; root is always there");
    Operation::new(
        Category::Read,
        "query_relationships",
        "Follow relations from an entity, unlike list_entities and get_entity: what it leads to, what leads to it, and \
         how they hang together",
    )
    .param(Param::new("root", "EntityReference", "The entity to begin with").required())
    .param(Param::new("direction", "string", "Which relations to follow").allowed(&DIRECTIONS).required())
    .param(relationship)
    .param(depth.range(1.0, DEPTH_MAX as f64).default_value(1))
    .param(include.items(section))
    .returns("RelationshipResult", "The relations around the entity, nearest first")
    .example(
        "What an item uses, and what that uses",
        json!({
            "root": {"element_type": "item", "element_name": "MyItem"},
            "direction": "outgoing", "relationship": "uses", "depth": 2
        }),
    )
    .example(
        "Everything that depends on an entity, without the graph",
        json!({
            "root": {"entity_id": "0198c0de-0000-7000-8000-000000000000"},
            "direction": "incoming", "include": ["relationships"], "first": 10
        }),
    )
    .selection(selection())
    .relationships(Relationships {
        types: PORTABLE.iter().map(|&name| name.to_owned()).collect(),
        max_depth: DEPTH_MAX,
    })
    .queried_if(collection(), Queried::Stored)
}

fn selection() -> Selection {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Selection {
        answers: Answers::One,
        minimal: list(&["root", "relationships", "pageInfo", "truncated"]),
        standard: list(&["root", "relationships", "graph", "pageInfo", "truncated"]),
        full: list(&["root.*", "relationships", "graph.nodes", "graph.edges", "pageInfo.*", "truncated"]),
        presets: Default::default(),
    }
}

/// The relations as a list to be paged: nearest first, and of equally near ones the oldest, so that a page stays where
/// it is while others are added.
fn collection() -> Result<Collection, collection::Error> {
    let withheld = ["filter", "sort", "aggregate", "include_items", "include_total"];
    let builder = Collection::builder("query_relationships")
        .id(RELATION_ID)
        .distinct(RELATION_ID, Kind::Text)
        .field("depth", Kind::Number)
        .default_sort("depth", Order::Asc);
    withheld.into_iter().fold(builder, |builder, control| builder.without(control)).build()
}

/// Binds the operation to the store. It warns, so it makes its outcome itself.
pub(super) fn add(operations: &mut Operations, store: &EntityStore) {
    let store = store.clone();
    operations.add(query_relationships(), move |mut permitted: Permitted, context: Context| -> Work {
        let params = Params(permitted.take_params());
        Box::pin(query(store.clone(), params, context))
    });
}

async fn query(store: EntityStore, mut params: Params, context: Context) -> Result<Outcome, Error> {
    let root = params.object("root").unwrap_or_default();
    let walk = Walk {
        root: read_root(&root),
        direction: match params.text("direction") {
            Some("incoming") => Direction::Incoming,
            Some("outgoing") => Direction::Outgoing,
            _ => Direction::Both,
        },
        relationship: params.text("relationship").map(str::to_owned),
        depth: record::integer(params.0.get("depth"))
            .and_then(|depth| usize::try_from(depth).ok())
            .unwrap_or(1),
    };
    let sought = match &walk.root {
        Root::Id(id) => id.clone(),
        Root::Named { entity_type, name } => format!("{entity_type}:{name}"),
    };
    let found = store.walk(walk).await.map_err(store_error)?;
    let graph = found.filter(|graph| is_meant(graph, &root)).ok_or_else(|| not_found(&sought))?;
    let items = graph.edges.iter().enumerate().map(|(index, edge)| item(&graph, index, edge));
    let answer = match &context.query {
        Some(query) => query.run(items, context.now)?,
        None => Answer { aggregations: None, page: None },
    };
    let sections = Sections::read(params.0.get("include"));
    let data = Data::Value(answered(&graph, answer, &sections));
    Ok(Outcome { warnings: graph.cut.map(truncated).into_iter().collect(), ..Outcome::from(data) })
}

fn read_root(root: &Map<String, Value>) -> Root {
    let text = |name: &str| root.get(name).and_then(Value::as_str).map(str::to_owned);
    match text("entity_id") {
        Some(id) => Root::Id(id),
        None => Root::Named {
            entity_type: text("element_type").unwrap_or_default(),
            name: text("element_name").unwrap_or_default(),
        },
    }
}

/// Whether everything given of the root fits the entity, where an id stands beside a name.
fn is_meant(graph: &Graph, given: &Map<String, Value>) -> bool {
    let fits = |key: &str, value: &str| given.get(key).is_none_or(|given| given == value);
    let root = graph.nodes.first();
    root.is_some_and(|node| fits("element_type", &node.entity_type) && fits("element_name", &node.name))
}

/// Which parts of the answer are wanted. The root is always part of it.
struct Sections {
    relationships: bool,
    nodes: bool,
    edges: bool,
}

impl Sections {
    fn read(include: Option<&Value>) -> Self {
        let wanted: Option<Vec<&str>> =
            include.and_then(Value::as_array).map(|all| all.iter().filter_map(Value::as_str).collect());
        let has = |names: &[&str]| {
            wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|section| names.contains(section)))
        };
        Self {
            relationships: has(&["relationships"]),
            nodes: has(&["graph", "graph.nodes"]),
            edges: has(&["graph", "graph.edges"]),
        }
    }
}

fn reference(node: &Node) -> Value {
    json!({"element_type": node.entity_type, "element_name": node.name, "entity_id": node.id})
}

fn node_id(node: &Node) -> String {
    format!("{}:{}", node.entity_type, node.name)
}

fn item(graph: &Graph, index: usize, edge: &Edge) -> Value {
    let direction = if edge.direction == Direction::Outgoing { "outgoing" } else { "incoming" };
    json!({
        "type": edge.relationship,
        "direction": direction,
        "target": graph.nodes.get(edge.far).map(reference),
        "depth": edge.depth,
        RELATION_ID: edge.relation_id,
        EDGE: index,
    })
}

fn answered(graph: &Graph, answer: Answer, sections: &Sections) -> Value {
    let mut data = Map::new();
    data.insert("root".to_owned(), graph.nodes.first().map(reference).into());
    if graph.cut.is_some() {
        data.insert("truncated".to_owned(), true.into());
    }
    let Some((mut items, info)) = answer.page else { return Value::Object(data) };
    let mut drawing = Drawing::new(graph);
    for item in &mut items {
        let Value::Object(item) = item else { continue };
        item.remove(RELATION_ID);
        let index = item.remove(EDGE).and_then(|index| usize::try_from(index.as_u64()?).ok());
        drawing.add(index.and_then(|index| graph.edges.get(index)));
    }
    if sections.relationships {
        data.insert("relationships".to_owned(), items.into());
    }
    if sections.nodes || sections.edges {
        data.insert("graph".to_owned(), drawing.into_value(sections));
    }
    if data.contains_key("relationships") || data.contains_key("graph") {
        data.insert(info.key().to_owned(), json!(info));
    }
    Value::Object(data)
}

/// Nodes and edges of a page.
struct Drawing<'a> {
    graph: &'a Graph,
    drawn: Vec<bool>,
    nodes: Vec<Value>,
    edges: Vec<Value>,
}

impl<'a> Drawing<'a> {
    fn new(graph: &'a Graph) -> Self {
        let drawn = vec![false; graph.nodes.len()];
        let mut drawing = Self { graph, drawn, nodes: Vec::new(), edges: Vec::new() };
        drawing.node(0);
        drawing
    }

    fn node(&mut self, place: usize) -> Option<String> {
        let node = self.graph.nodes.get(place)?;
        let id = node_id(node);
        if let Some(drawn) = self.drawn.get_mut(place).filter(|drawn| !**drawn) {
            *drawn = true;
            self.nodes.push(json!({"id": id, "element_type": node.entity_type, "element_name": node.name}));
        }
        Some(id)
    }

    fn add(&mut self, edge: Option<&Edge>) {
        let Some(edge) = edge else { return };
        let (Some(near), Some(far)) = (self.node(edge.near), self.node(edge.far)) else { return };
        let (source, target) = if edge.direction == Direction::Outgoing { (near, far) } else { (far, near) };
        self.edges.push(json!({"source": source, "target": target, "type": edge.relationship}));
    }

    fn into_value(self, sections: &Sections) -> Value {
        let mut graph = Map::new();
        if sections.nodes {
            graph.insert("nodes".to_owned(), self.nodes.into());
        }
        if sections.edges {
            graph.insert("edges".to_owned(), self.edges.into());
        }
        Value::Object(graph)
    }
}

/// What was walked is all that is known; a smaller depth, one direction or one relationship shows the rest.
fn truncated(cut: Cut) -> Warning {
    let (what, most) = match cut {
        Cut::Nodes => ("graph.nodes", NODES_MAX),
        Cut::Edges => ("graph.edges", EDGES_MAX),
    };
    Warning::truncated(what, None, most, most)
}

#[cfg(test)]
mod tests {
    use aql::query::{CursorKey, Query};

    use super::*;

    /// LREQ-REL-04
    #[test]
    fn what_is_left_out_of_a_large_graph_is_told_and_a_page_draws_only_itself() {
        let node = |n: usize| Node { id: n.to_string(), entity_type: "item".into(), name: format!("N{n}") };
        let edge = |n: usize| Edge {
            relation_id: format!("{n:05}"),
            relationship: "uses".into(),
            near: 0,
            far: n,
            direction: if n.is_multiple_of(2) { Direction::Outgoing } else { Direction::Incoming },
            depth: 1,
        };
        let graph = Graph {
            nodes: (0..NODES_MAX).map(node).collect(),
            edges: (1..NODES_MAX).map(edge).collect(),
            cut: Some(Cut::Nodes),
        };
        let params = Map::from_iter([("first".to_owned(), json!(2))]);
        let query = Query::read(&params, &collection().unwrap(), &CursorKey::new(&[0; 32])).unwrap();
        let items = graph.edges.iter().enumerate().map(|(index, edge)| item(&graph, index, edge));
        let answer = query.run(items, jiff::Timestamp::UNIX_EPOCH).unwrap();
        let data = answered(&graph, answer, &Sections::read(None));
        assert_eq!((&data["truncated"], &data["pageInfo"]["hasNextPage"]), (&json!(true), &json!(true)));
        let nodes = data["graph"]["nodes"].as_array().unwrap();
        assert_eq!(
            nodes.iter().map(|node| &node["id"]).collect::<Vec<_>>(),
            ["item:N0", "item:N1", "item:N2"]
        );
        assert_eq!(
            data["graph"]["edges"],
            json!([
                {"source": "item:N1", "target": "item:N0", "type": "uses"},
                {"source": "item:N0", "target": "item:N2", "type": "uses"},
            ])
        );
        let carried =
            data["relationships"].as_array().unwrap().iter().flat_map(|r| r.as_object().unwrap().keys());
        assert!(carried.into_iter().all(|key| !key.starts_with('_')));
        for cut in [Cut::Nodes, Cut::Edges] {
            let warning = truncated(cut);
            assert!(warning.message.contains(&warning.details["limit"].to_string()), "{warning:?}");
        }
    }

    /// LREQ-REL-01
    #[test]
    fn the_relations_can_be_paged() {
        let registry = aql::registry::Registry::builder("x")
            .operation(query_relationships())
            .types(crate::adapters::entities::define::types().into_iter().chain(types()))
            .build()
            .unwrap();
        let operation = registry.get(registry.id("query_relationships").unwrap()).unwrap();
        let names: Vec<&str> = operation.params().iter().map(|param| param.name()).collect();
        assert_eq!(
            names,
            [
                "root",
                "direction",
                "relationship",
                "depth",
                "include",
                "first",
                "after",
                "last",
                "before",
                "fields"
            ]
        );
    }
}
