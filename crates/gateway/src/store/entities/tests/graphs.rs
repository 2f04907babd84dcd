//! Walking along relations.

use std::collections::BTreeSet;

use super::graph::{Cut, DEPTH_MAX, Direction, EDGES_MAX, Graph, NODES_MAX, QUERIES, Root, Walk};
use super::*;

fn walk(from: usize, direction: Direction, depth: usize) -> Walk {
    Walk { root: Root::Id(id(from)), direction, relationship: None, depth }
}

impl Fixture {
    /// Entities of these numbers, and relations between them.
    async fn graph(&self, entities: usize, relations: &[(usize, usize, &str)]) {
        for number in 0..entities {
            self.add(number, new("note", &format!("n{number}"))).await;
        }
        for (number, (from, to, relationship)) in relations.iter().enumerate() {
            let related = self.relate(number, *from, *to, relationship).await;
            assert!(matches!(related, RelationCreated::Created(_)), "{related:?}");
        }
    }

    async fn walk(&self, walk: Walk) -> Graph {
        let found = self.store.walk(walk.clone()).await.unwrap().unwrap();
        assert_eq!(self.store.walk(walk).await.unwrap().as_ref(), Some(&found), "it is the same every time");
        found
    }
}

/// `near way far depth`, by the entities' names.
fn lines(graph: &Graph) -> Vec<String> {
    let name = |place: usize| graph.nodes[place].name.as_str();
    let line = |edge: &super::graph::Edge| {
        let arrow = if edge.direction == Direction::Outgoing { "->" } else { "<-" };
        format!("{} {arrow} {} {} {}", name(edge.near), name(edge.far), edge.relationship, edge.depth)
    };
    graph.edges.iter().map(line).collect()
}

/// LREQ-REL-02
#[tokio::test]
async fn a_known_graph_is_walked_nearest_first() {
    let f = fixture();
    f.graph(
        5,
        &[
            (0, 1, "uses"),
            (0, 2, "uses"),
            (1, 3, "uses"),
            (3, 4, "uses"),
            (4, 0, "extends"),
            (2, 3, "extends"),
        ],
    )
    .await;
    let two = f.walk(walk(0, Direction::Outgoing, 2)).await;
    assert_eq!(lines(&two), ["n0 -> n1 uses 1", "n0 -> n2 uses 1", "n1 -> n3 uses 2", "n2 -> n3 extends 2"]);
    let only = Walk { relationship: Some("uses".into()), ..walk(0, Direction::Outgoing, 2) };
    assert_eq!(lines(&f.walk(only).await), ["n0 -> n1 uses 1", "n0 -> n2 uses 1", "n1 -> n3 uses 2"]);
    assert_eq!(lines(&f.walk(walk(0, Direction::Incoming, 1)).await), ["n0 <- n4 extends 1"]);
    assert_eq!(
        lines(&f.walk(walk(3, Direction::Both, 1)).await),
        ["n3 -> n4 uses 1", "n3 <- n1 uses 1", "n3 <- n2 extends 1"]
    );
    let named = Root::Named { entity_type: "note".into(), name: "n4".into() };
    let by_name = f.walk(Walk { root: named, ..walk(0, Direction::Outgoing, 1) }).await;
    assert_eq!(lines(&by_name), ["n4 -> n0 extends 1"]);
    assert_eq!(f.walk(walk(0, Direction::Both, 0)).await.nodes.len(), 1);
}

/// LREQ-REL-04
#[tokio::test]
async fn a_cycle_ends_where_it_closes_and_shows_the_closing_edge() {
    let f = fixture();
    f.graph(4, &[(0, 1, "uses"), (1, 0, "uses"), (2, 2, "uses"), (2, 3, "uses"), (2, 3, "extends")]).await;
    let cycle = f.walk(walk(0, Direction::Outgoing, DEPTH_MAX)).await;
    assert_eq!(lines(&cycle), ["n0 -> n1 uses 1", "n1 -> n0 uses 2"]);
    assert_eq!((cycle.nodes.len(), cycle.cut), (2, None));
    // Met from both ends, a relation is still one.
    let both = f.walk(walk(0, Direction::Both, DEPTH_MAX)).await;
    assert_eq!(lines(&both), ["n0 -> n1 uses 1", "n0 <- n1 uses 1"]);
    let own = f.walk(walk(2, Direction::Both, DEPTH_MAX)).await;
    assert_eq!(lines(&own), ["n2 -> n2 uses 1", "n2 -> n3 extends 1", "n2 -> n3 uses 1"]);
}

/// LREQ-REL-05
#[tokio::test]
async fn depth_is_bounded_and_a_missing_root_is_told() {
    let f = fixture();
    let chain: Vec<(usize, usize, &str)> = (0..DEPTH_MAX + 2).map(|n| (n, n + 1, "uses")).collect();
    f.graph(DEPTH_MAX + 3, &chain).await;
    for (depth, edges) in [(1, 1), (4, 4), (DEPTH_MAX, DEPTH_MAX), (usize::MAX, DEPTH_MAX)] {
        assert_eq!(f.walk(walk(0, Direction::Outgoing, depth)).await.edges.len(), edges);
    }
    assert_eq!(f.store.walk(walk(9999, Direction::Both, 1)).await.unwrap(), None);
    for hostile in ["", "' OR 1=1 --", "\0", "n0%", "%"] {
        let roots = [
            Root::Id(hostile.into()),
            Root::Named { entity_type: "note".into(), name: hostile.into() },
            Root::Named { entity_type: hostile.into(), name: "n0".into() },
        ];
        for root in roots {
            let asked = Walk { root, ..walk(0, Direction::Both, 1) };
            assert_eq!(f.store.walk(asked).await.unwrap(), None, "{hostile:?}");
        }
        let asked = Walk { relationship: Some(hostile.into()), ..walk(0, Direction::Both, 9) };
        assert_eq!(f.walk(asked).await.edges, []);
    }
}

/// Entities and relations past the store, which would take a commit for each.
fn fill(f: &Fixture, entities: usize, relations: impl Iterator<Item = (usize, usize, &'static str)>) {
    let mut connection = Connection::open(f.dir.path().join(schema::FILE)).unwrap();
    let transaction = connection.transaction().unwrap();
    {
        let mut entity = transaction
            .prepare(
                "INSERT INTO entities (id, entity_type, name, priority, version, created_at, updated_at, description)
                 VALUES (?1, 'note', ?1, 5, 1, 0, 0, '')",
            )
            .unwrap();
        for number in 0..entities {
            entity.execute([id(number)]).unwrap();
        }
        let mut relation = transaction
            .prepare(
                "INSERT INTO relations (id, from_id, to_id, relationship, created_at) VALUES (?1, ?2, ?3, ?4, 0)",
            )
            .unwrap();
        for (number, (from, to, relationship)) in relations.enumerate() {
            relation.execute((format!("r-{number:06}"), id(from), id(to), relationship)).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// LREQ-REL-04
#[tokio::test]
async fn a_hub_is_cut_short_and_says_so() {
    const EDGES: usize = 50_000;
    let f = fixture();
    let spokes = (1..=EDGES).map(|n| if n % 2 == 0 { (0, n, "uses") } else { (n, 0, "uses") });
    fill(&f, EDGES + 1, spokes);
    for (direction, depth) in
        [(Direction::Outgoing, 1), (Direction::Incoming, 1), (Direction::Both, DEPTH_MAX)]
    {
        let graph = f.walk(walk(0, direction, depth)).await;
        assert_eq!((graph.nodes.len(), graph.edges.len()), (NODES_MAX, NODES_MAX - 1));
        assert_eq!(graph.cut, Some(Cut::Nodes));
    }
    let none = Walk { relationship: Some("extends".into()), ..walk(0, Direction::Both, DEPTH_MAX) };
    let none = f.walk(none).await;
    assert_eq!((none.nodes.len(), none.edges.len(), none.cut), (1, 0, None));
    // From a spoke the hub is one step away and everything else two.
    let spoke = f.walk(walk(2, Direction::Both, 1)).await;
    assert_eq!((spoke.edges.len(), spoke.cut), (1, None));
}

#[tokio::test]
async fn a_dense_graph_is_cut_by_its_edges() {
    const DENSE: usize = 160;
    let f = fixture();
    let all = (0..DENSE).flat_map(|from| (0..DENSE).map(move |to| (from, to, "uses")));
    fill(&f, DENSE, all);
    let graph = f.walk(walk(0, Direction::Both, DEPTH_MAX)).await;
    assert_eq!((graph.nodes.len(), graph.edges.len(), graph.cut), (DENSE, EDGES_MAX, Some(Cut::Edges)));
    let met: BTreeSet<&str> = graph.edges.iter().map(|edge| edge.relation_id.as_str()).collect();
    assert_eq!(met.len(), EDGES_MAX, "no relation is met twice");
}

#[tokio::test]
async fn every_look_up_goes_through_an_index_and_nothing_is_sorted() {
    let f = fixture();
    f.graph(1, &[]).await;
    let connection = Connection::open(f.dir.path().join(schema::FILE)).unwrap();
    for query in QUERIES {
        let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let plan: Vec<String> = explained
            .query_map(("x", None::<String>), |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(plan.iter().all(|line| line.starts_with("SEARCH") && line.contains("INDEX")), "{plan:?}");
    }
}
