//! From a schema of any shape to a [`Node`], one level deep: what stands inside is left as places to be read later.
//!
//! Nothing is an error here. What cannot be said of a parameter is left out and told as a [`Loss`].

use serde_json::{Map, Value};

use super::{
    keywords::{own, words},
    kinds::Kinds,
    loss::Loss,
    node::Node,
    place::{Place, Said, Written},
};

/// More schemas than this in one document are not read; the rest counts as saying nothing.
pub(crate) const SCHEMAS_READ_MAX: usize = 20_000;
/// Longer chains of references and combinations than this lead nowhere.
const CHAIN_MAX: usize = 24;

/// Reads one document.
pub(crate) struct Reader<'a> {
    root: &'a Map<String, Value>,
    name: &'a str,
    left: usize,
}

impl<'a> Reader<'a> {
    /// `name` is what paths of the document begin with.
    pub(crate) fn new(root: &'a Map<String, Value>, name: &'a str) -> Self {
        Self { root, name, left: SCHEMAS_READ_MAX }
    }

    pub(crate) fn root(&self) -> Said<'a> {
        Said::Here(Place::root(self.root, self.name))
    }

    pub(crate) fn node(&mut self, said: &Said<'a>) -> Node<'a> {
        self.said(said, &mut Vec::new())
    }

    fn said(&mut self, said: &Said<'a>, chain: &mut Vec<usize>) -> Node<'a> {
        match said {
            Said::Nothing => Node::anything(),
            Said::Here(place) => self.place(place, chain),
            Said::All(all) => {
                all.iter().fold(Node::anything(), |node, said| node.and(self.said(said, chain)))
            }
            Said::Any(any) => self.any(any, chain),
        }
    }

    fn any(&mut self, any: &[Said<'a>], chain: &mut Vec<usize>) -> Node<'a> {
        let nodes: Vec<Node<'a>> = any.iter().map(|said| self.said(said, chain)).collect();
        nodes.into_iter().reduce(Node::or).unwrap_or_else(Node::anything)
    }

    fn place(&mut self, place: &Place<'a>, chain: &mut Vec<usize>) -> Node<'a> {
        if self.left == 0 {
            return Node::anything().losing(Loss::Huge);
        }
        self.left -= 1;
        match place.written {
            Written::Verdict(true) => Node::anything(),
            Written::Verdict(false) => Node::anything().losing(Loss::Contradiction),
            Written::Malformed => Node::anything().losing(Loss::Malformed("schema")),
            Written::Keywords(_) if chain.contains(&place.address) => Node::anything().losing(Loss::Circular),
            Written::Keywords(_) if chain.len() >= CHAIN_MAX => Node::anything().losing(Loss::Deep),
            Written::Keywords(schema) => {
                chain.push(place.address);
                let node = self.schema(schema, place, chain);
                chain.pop();
                node
            }
        }
    }

    fn schema(
        &mut self,
        schema: &'a Map<String, Value>,
        place: &Place<'a>,
        chain: &mut Vec<usize>,
    ) -> Node<'a> {
        let mut node = own(schema, place);
        if let Some(reference) = schema.get("$ref").or_else(|| schema.get("$dynamicRef")) {
            let target = reference.as_str().and_then(|reference| self.resolve(reference));
            node = match target {
                Some((name, target)) => {
                    let mut there = self.place(&target, chain);
                    let described = match target.written {
                        Written::Keywords(schema) => words(schema, "description").unwrap_or_default(),
                        Written::Verdict(_) | Written::Malformed => "",
                    };
                    there.definition.get_or_insert((name, described));
                    node.and(there)
                }
                None => node.losing(Loss::Unresolved(reference.as_str().unwrap_or("$ref").to_owned())),
            };
        }
        for (keyword, both) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
            let Some(parts) = schema.get(keyword) else { continue };
            let Some(parts) = parts.as_array().filter(|parts| !parts.is_empty()) else {
                node.lose(Loss::Malformed(keyword));
                continue;
            };
            let said: Vec<Said<'a>> = parts
                .iter()
                .enumerate()
                .map(|(index, part)| Said::Here(place.inside(part, &format!("{keyword}.{index}"))))
                .collect();
            let joined = if both { self.said(&Said::All(said), chain) } else { self.any(&said, chain) };
            node = node.and(joined);
        }
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            node.kinds = node.kinds.or(Kinds::NULL);
        }
        node
    }

    /// The schema that a reference inside the document leads to, and its name there.
    fn resolve(&self, reference: &'a str) -> Option<(&'a str, Place<'a>)> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.is_empty() {
            return Some(("", Place::root(self.root, self.name)));
        }
        let mut steps =
            pointer.strip_prefix('/')?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        let first = steps.next()?;
        let mut path = format!("{}.{first}", self.name);
        let mut target = self.root.get(&first)?;
        for step in steps {
            target = match target {
                Value::Array(all) => all.get(step.parse::<usize>().ok()?)?,
                other => other.get(&step)?,
            };
            path.push('.');
            path.push_str(&step);
        }
        let name = pointer.rsplit('/').next().unwrap_or_default();
        Some((name, Place::new(target, &path)))
    }
}
