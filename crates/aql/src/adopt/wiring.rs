//! From the parameters of a checked call to the arguments that the upstream knows.
//!
//! Everything is prepared when a tool is adopted. A call whose names are the upstream's own passes as it is.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::shared;

/// How the parameters of one operation become arguments of its tool.
#[derive(Debug, Clone, Default)]
pub struct Wiring {
    /// The first one holds the parameters, those inside `input` too.
    nodes: Vec<Node>,
    /// Arguments that make the tool do this operation and no other.
    fixed: Map<String, Value>,
    has_input: bool,
    /// The parameter that holds further arguments of any name.
    others: Option<String>,
    is_plain: bool,
}

/// The fields of one object by their outer names. Those that are not here pass as they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) fields: HashMap<String, Field>,
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    /// The upstream's own name.
    pub(super) original: String,
    pub(super) inner: Inner,
}

/// Where the values of a field go on: as an object, as elements of an array, or both.
#[derive(Debug, Clone, Default)]
pub(super) struct Inner {
    /// Nodes may lead back to themselves, so they go by number.
    pub(super) object: Option<usize>,
    pub(super) element: Option<Box<Inner>>,
}

impl Wiring {
    pub(super) fn new(
        nodes: Vec<Node>,
        fixed: Map<String, Value>,
        has_input: bool,
        others: Option<String>,
    ) -> Self {
        let mut wiring = Self { nodes, fixed, has_input, others, is_plain: false };
        wiring.prune();
        let root_is_empty = wiring.nodes.first().is_none_or(|root| root.fields.is_empty());
        wiring.is_plain = root_is_empty && wiring.fixed.is_empty() && !has_input && wiring.others.is_none();
        wiring
    }

    /// Leaves only fields that change something or lead to some that do.
    fn prune(&mut self) {
        let renames = |node: &Node| node.fields.iter().any(|(outer, field)| *outer != field.original);
        let mut works: Vec<bool> = self.nodes.iter().map(renames).collect();
        loop {
            let next: Vec<bool> = self
                .nodes
                .iter()
                .zip(&works)
                .map(|(node, works_itself)| {
                    *works_itself || node.fields.values().any(|f| f.inner.works(&works))
                })
                .collect();
            if next == works {
                break;
            }
            works = next;
        }
        for node in &mut self.nodes {
            for field in node.fields.values_mut() {
                field.inner.prune(&works);
            }
            node.fields.retain(|outer, field| *outer != field.original || field.inner.works(&works));
        }
    }

    /// Lets a parameter go by another name from now on.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        if let Some(root) = self.nodes.first_mut() {
            let same = || Field { original: from.to_owned(), inner: Inner::default() };
            let field = root.fields.remove(from).unwrap_or_else(same);
            root.fields.insert(to.to_owned(), field);
            self.is_plain = false;
        }
    }

    /// Gives the tool an argument that is always the same.
    pub(crate) fn fix(&mut self, original: &str, value: Value) {
        self.fixed.insert(original.to_owned(), value);
        self.is_plain = false;
    }

    /// Whether arguments are the parameters as they are: nothing renamed, nothing fixed, no `input`.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The arguments of the upstream's tool. Where the wiring is plain, the same map.
    #[must_use]
    pub fn arguments(&self, params: Map<String, Value>) -> Map<String, Value> {
        if self.is_plain {
            return params;
        }
        let root = self.nodes.first();
        let mut arguments = Map::new();
        for (name, value) in params {
            match value {
                Value::Object(input) if self.has_input && name == shared::INPUT => {
                    self.fill(&mut arguments, root, input);
                }
                Value::Object(others) if self.others.as_ref() == Some(&name) => {
                    for (name, value) in others {
                        arguments.entry(name).or_insert(value);
                    }
                }
                value => self.put(&mut arguments, root, name, value),
            }
        }
        // Last, so that no parameter can make the tool do something else.
        arguments.extend(self.fixed.iter().map(|(name, value)| (name.clone(), value.clone())));
        arguments
    }

    fn fill(&self, into: &mut Map<String, Value>, node: Option<&Node>, fields: Map<String, Value>) {
        for (name, value) in fields {
            self.put(into, node, name, value);
        }
    }

    /// A field that is described wins over one of any name.
    fn put(&self, into: &mut Map<String, Value>, node: Option<&Node>, name: String, value: Value) {
        match node.and_then(|node| node.fields.get(&name)) {
            Some(field) => {
                let value = self.value(&field.inner, value);
                into.insert(field.original.clone(), value);
            }
            None => drop(into.entry(name).or_insert(value)),
        }
    }

    fn value(&self, inner: &Inner, value: Value) -> Value {
        match (value, inner.object, inner.element.as_deref()) {
            (Value::Object(fields), Some(node), _) => {
                let mut object = Map::new();
                self.fill(&mut object, self.nodes.get(node), fields);
                Value::Object(object)
            }
            (Value::Array(elements), _, Some(element)) => {
                elements.into_iter().map(|value| self.value(element, value)).collect()
            }
            (value, ..) => value,
        }
    }
}

impl Inner {
    fn works(&self, nodes: &[bool]) -> bool {
        self.object.is_some_and(|node| nodes.get(node).copied().unwrap_or_default())
            || self.element.as_ref().is_some_and(|element| element.works(nodes))
    }

    fn prune(&mut self, nodes: &[bool]) {
        self.object = self.object.filter(|node| nodes.get(*node).copied().unwrap_or_default());
        if let Some(element) = &mut self.element {
            element.prune(nodes);
        }
        self.element = self.element.take().filter(|element| element.works(nodes));
    }
}
