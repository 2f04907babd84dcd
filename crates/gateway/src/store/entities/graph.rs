//! Following relations from an entity, breadth first.
//!
//! Every node is expanded once, so a cycle ends where it closes: the closing edge is part of the graph, what lies behind
//! it is already there. Each node costs one look-up in an index for each direction, and all of them see one state of the
//! store.

use std::collections::{HashMap, HashSet};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::EntityStore;
use crate::store::Error;

/// How far relations are followed.
pub const DEPTH_MAX: usize = 10;
/// How many entities a walk visits before it stops.
pub const NODES_MAX: usize = 10_000;
/// How many relations a walk keeps before it stops.
pub const EDGES_MAX: usize = 20_000;

/// Outgoing edges in the order of the index that finds them, so that nothing is sorted.
const OUTGOING: &str = "
SELECT r.id, r.relationship, e.id, e.entity_type, e.name
FROM relations r CROSS JOIN entities e ON e.id = r.to_id
WHERE r.from_id = ?1 AND (?2 IS NULL OR r.relationship = ?2)
ORDER BY r.to_id, r.relationship";

/// Incoming edges, oldest first, which is how their index lies.
const INCOMING: &str = "
SELECT r.id, r.relationship, e.id, e.entity_type, e.name
FROM relations r CROSS JOIN entities e ON e.id = r.from_id
WHERE r.to_id = ?1 AND (?2 IS NULL OR r.relationship = ?2)
ORDER BY r.row";

/// Where a walk begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    Id(String),
    Named { entity_type: String, name: String },
}

/// Which relations of a node are followed, or how one was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Outgoing,
    Incoming,
    Both,
}

/// What to follow, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    pub root: Root,
    pub direction: Direction,
    /// Only relations of this name; all if none is given.
    pub relationship: Option<String>,
    /// Counted in relations; more than [`DEPTH_MAX`] are followed that far.
    pub depth: usize,
}

/// An entity that was visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    pub entity_type: String,
    pub name: String,
}

/// A relation that was followed, or that closed a cycle. Every relation is met once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub relation_id: String,
    pub relationship: String,
    /// The node it was met from, by its place among the nodes.
    pub near: usize,
    /// The node it led to.
    pub far: usize,
    /// Outgoing if it points from near to far, else incoming.
    pub direction: Direction,
    /// How many relations away from the root it leads.
    pub depth: usize,
}

/// Why a walk stopped before it was through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Nodes,
    Edges,
}

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// In the order they were met, the root first.
    pub nodes: Vec<Node>,
    /// Nearest first.
    pub edges: Vec<Edge>,
    pub cut: Option<Cut>,
}

impl EntityStore {
    /// The graph around an entity; none if there is no such entity.
    pub async fn walk(&self, walk: Walk) -> Result<Option<Graph>, Error> {
        self.database
            .read(move |connection| {
                // One state for all look-ups; ended by being dropped.
                let transaction = connection.unchecked_transaction()?;
                match find(&transaction, &walk.root)? {
                    Some(root) => explore(&transaction, root, &walk).map(Some),
                    None => Ok(None),
                }
            })
            .await
    }
}

fn find(connection: &Connection, root: &Root) -> Result<Option<Node>, Error> {
    let node = |row: &Row<'_>| node(row, 0);
    let found = match root {
        Root::Id(id) => connection
            .prepare_cached("SELECT id, entity_type, name FROM entities WHERE id = ?1")?
            .query_row([id], node),
        Root::Named { entity_type, name } => connection
            .prepare_cached(
                "SELECT id, entity_type, name FROM entities WHERE name = ?1 AND entity_type = ?2",
            )?
            .query_row([name, entity_type], node),
    };
    Ok(found.optional()?)
}

fn node(row: &Row<'_>, column: usize) -> rusqlite::Result<Node> {
    Ok(Node { id: row.get(column)?, entity_type: row.get(column + 1)?, name: row.get(column + 2)? })
}

fn explore(connection: &Connection, root: Node, walk: &Walk) -> Result<Graph, Error> {
    let mut visit = Visit::new(root);
    let follows = |way: Direction| walk.direction == way || walk.direction == Direction::Both;
    // Nodes wait for their turn in the order they were met, so the list of them is the queue.
    let mut next = 0;
    while let Some((id, depth)) = visit.waiting(next, walk.depth.min(DEPTH_MAX)) {
        for (way, query) in [(Direction::Outgoing, OUTGOING), (Direction::Incoming, INCOMING)] {
            if follows(way) && visit.graph.cut.is_none() {
                let statement = connection.prepare_cached(query)?;
                visit.expand(statement, (next, &id), walk.relationship.as_deref(), way, depth)?;
            }
        }
        if visit.graph.cut.is_some() {
            break;
        }
        next += 1;
    }
    Ok(visit.graph)
}

/// A walk under way.
struct Visit {
    graph: Graph,
    /// How far each node is from the root, beside the nodes.
    depths: Vec<usize>,
    places: HashMap<String, usize>,
    met: HashSet<String>,
}

impl Visit {
    fn new(root: Node) -> Self {
        Self {
            places: HashMap::from([(root.id.clone(), 0)]),
            graph: Graph { nodes: vec![root], edges: Vec::new(), cut: None },
            depths: vec![0],
            met: HashSet::new(),
        }
    }

    /// The node of this number, if it is there and near enough to be expanded, and how far what it leads to is.
    fn waiting(&self, number: usize, depth: usize) -> Option<(String, usize)> {
        let far = self.depths.get(number).filter(|far| **far < depth)?;
        Some((self.graph.nodes.get(number)?.id.clone(), far + 1))
    }

    fn expand(
        &mut self,
        mut statement: CachedStatement<'_>,
        (near, id): (usize, &str),
        relationship: Option<&str>,
        direction: Direction,
        depth: usize,
    ) -> Result<(), Error> {
        // Row by row, so that a hub costs no more than what is kept of it.
        let mut rows = statement.query((id, relationship))?;
        while let Some(row) = rows.next()? {
            let relation_id: String = row.get(0)?;
            if self.met.contains(&relation_id) {
                continue;
            }
            if self.graph.edges.len() >= EDGES_MAX {
                self.graph.cut = Some(Cut::Edges);
                return Ok(());
            }
            let Some(far) = self.place(node(row, 2)?, depth) else {
                self.graph.cut = Some(Cut::Nodes);
                return Ok(());
            };
            self.met.insert(relation_id.clone());
            let relationship = row.get(1)?;
            self.graph.edges.push(Edge { relation_id, relationship, near, far, direction, depth });
        }
        Ok(())
    }

    /// The place of a node, new or known; none if there is no room for another.
    fn place(&mut self, node: Node, depth: usize) -> Option<usize> {
        if let Some(place) = self.places.get(&node.id) {
            return Some(*place);
        }
        let place = self.graph.nodes.len();
        if place >= NODES_MAX {
            return None;
        }
        self.places.insert(node.id.clone(), place);
        self.graph.nodes.push(node);
        self.depths.push(depth);
        Some(place)
    }
}

#[cfg(test)]
pub(super) const QUERIES: [&str; 2] = [OUTGOING, INCOMING];
