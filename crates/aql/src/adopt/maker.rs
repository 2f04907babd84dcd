//! From what a schema says to parameters, named types and wiring.

use std::collections::HashMap;

use super::{
    declared, fits, names,
    types::Types,
    warning::{self, Code, Severity, Warning},
    wiring::{Field, Inner, Node as Wire},
};
use crate::{
    define::{Deprecation, Param},
    schema::{
        ANYTHING,
        kinds::Kinds,
        loss::Loss,
        node::{Node, Object, Openness},
        place::Said,
        read::Reader,
    },
};

/// What stands deeper is taken as it is. Calls are nested no deeper unless the operator allows it.
const DEPTH_MAX: usize = 32;

/// Whether fields go by other names here than upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    Ours,
    Theirs,
}

/// Makes the parameters of one schema.
pub(super) struct Maker<'a, 't, 'b> {
    pub(super) reader: Reader<'a>,
    pub(super) wires: Vec<Wire>,
    pub(super) warnings: Vec<Warning>,
    types: &'b mut Types<'t>,
    naming: Naming,
    /// What the names of types begin with: for definitions, and for what has no name of its own.
    prefix: &'a str,
    tool: &'a str,
    /// Objects made already, by their signatures.
    made: HashMap<String, (String, usize)>,
}

/// A parameter, and where its values go.
pub(super) struct Made {
    pub(super) param: Param,
    pub(super) inner: Inner,
}

/// Where in the making we are.
#[derive(Clone, Copy)]
pub(super) struct At<'p> {
    /// What an error would call it: `items[].name`.
    pub(super) path: &'p str,
    /// What a type made here would be called.
    pub(super) type_name: &'p str,
    pub(super) depth: usize,
}

impl<'a, 't, 'b> Maker<'a, 't, 'b> {
    pub(super) fn new(
        reader: Reader<'a>,
        types: &'b mut Types<'t>,
        naming: Naming,
        prefix: &'a str,
        tool: &'a str,
    ) -> Self {
        // The first wire is the parameters' own.
        let wires = vec![Wire::default()];
        Self { reader, wires, warnings: Vec::new(), types, naming, prefix, tool, made: HashMap::new() }
    }

    pub(super) fn param(&mut self, name: &str, said: &Said<'a>, at: At<'_>) -> Made {
        let node = self.reader.node(said);
        let mut made = self.make(name, node, at);
        made.param.sensitive |= declared::is_secret(&self.reader.root(), said);
        made
    }

    pub(super) fn make(&mut self, name: &str, mut node: Node<'a>, at: At<'_>) -> Made {
        let mut param =
            Param { name: name.to_owned(), nullable: node.kinds.meets(Kinds::NULL), ..Param::default() };
        let mut inner = Inner::default();
        let object = std::mem::take(&mut node.object);
        let deep = at.depth >= DEPTH_MAX;
        if deep && (!object.fields.is_empty() || node.items.is_some()) {
            node.lose(Loss::Deep);
            node.items = None;
        }
        let mut kinds: Vec<String> = Vec::new();
        let mut add = |wanted: Kinds, text: &str| {
            if node.kinds.meets(wanted) {
                kinds.push(text.to_owned());
            }
        };
        add(Kinds::STRING, "string");
        add(Kinds::NUMBER, if node.kinds.meets(Kinds::FRACTION) { "number" } else { "integer" });
        add(Kinds::BOOLEAN, "boolean");
        if node.kinds.meets(Kinds::OBJECT) {
            if object.fields.is_empty() || deep {
                kinds.push("object".to_owned());
            } else {
                param.open = object.open != Openness::Closed;
                let (type_name, wire) = self.record(object, node.definition, at);
                kinds.push(type_name);
                inner.object = Some(wire);
            }
        }
        if node.kinds.meets(Kinds::ARRAY) {
            kinds.push(self.array(node.items.take(), &mut param, &mut inner, at));
        }
        if kinds.is_empty() {
            // Null is all that fits, which is no type of ours.
            kinds.push(ANYTHING.to_owned());
        }
        param.kind = Some(kinds.join(" | "));
        param.minimum = node.minimum.filter(|_| node.kinds.meets(Kinds::NUMBER));
        param.maximum = node.maximum.filter(|_| node.kinds.meets(Kinds::NUMBER));
        param.min_length = node.min_length.filter(|_| node.kinds.meets(Kinds::STRING));
        param.max_length = node.max_length.filter(|_| node.kinds.meets(Kinds::STRING));
        param.pattern = node.pattern.filter(|_| node.kinds.meets(Kinds::STRING)).map(str::to_owned);
        param.format = node.format.filter(|_| node.kinds.meets(Kinds::STRING)).map(str::to_owned);
        param.allowed = node.allowed.take().unwrap_or_default();
        param.deprecated = node.deprecated.then(Deprecation::default);
        let secret_kinds = Kinds::STRING.or(Kinds::OBJECT).or(Kinds::ARRAY);
        param.sensitive = names::is_secret(name) && node.kinds.meets(secret_kinds);
        param.default = node.default.cloned();
        if let Some(default) = &param.default
            && !fits::fits(default, &param)
        {
            param.default = None;
            node.lose(Loss::Default);
        }
        param.description = described(name, &node);
        for loss in &node.losses {
            let (code, severity) = warning::judged(loss);
            self.warn(code, severity, loss.to_string(), Some(at.path));
        }
        Made { param, inner }
    }

    /// What an array is called; its element goes into the parameter where the name does not tell all of it.
    fn array(&mut self, items: Option<Said<'a>>, param: &mut Param, inner: &mut Inner, at: At<'_>) -> String {
        let Some(items) = items else { return "array".to_owned() };
        let path = format!("{}[]", at.path);
        let element = self.param("item", &items, At { path: &path, depth: at.depth + 1, ..at });
        inner.element = Some(Box::new(element.inner));
        let element = element.param;
        let kind = element.kind.clone().unwrap_or_default();
        let tells_all = !element.nullable && !kind.contains(" | ");
        let name = if tells_all { format!("{kind}[]") } else { "array".to_owned() };
        if !tells_all || !is_bare(&element) {
            param.items = Some(Box::new(element));
        }
        name
    }

    /// The type of an object's fields, and its wire. An object that was made before, or is being made, is the same.
    pub(super) fn record(
        &mut self,
        object: Object<'a>,
        definition: Option<(&'a str, &'a str)>,
        at: At<'_>,
    ) -> (String, usize) {
        let signature = object.signature();
        if let Some(made) = self.made.get(&signature) {
            return made.clone();
        }
        let (wanted, description) = match definition {
            Some((name, description)) if !name.is_empty() => {
                (names::pascal_case(&[self.prefix, name]), description)
            }
            _ => (at.type_name.to_owned(), ""),
        };
        let name = self.types.reserve(&wanted);
        let wire = self.wires.len();
        self.wires.push(Wire::default());
        self.made.insert(signature.clone(), (name.clone(), wire));
        let at = At { type_name: &wanted, depth: at.depth + 1, ..at };
        let mut fields = Vec::new();
        for named in self.named(object, "field", &[]) {
            let made = self.field(&named, at);
            self.wire(wire, &named, made.inner);
            fields.push(Param { required: named.required, ..made.param });
        }
        let name = self.types.declare(name, description, fields);
        self.made.insert(signature, (name.clone(), wire));
        (name, wire)
    }

    pub(super) fn field(&mut self, named: &Named<'a>, at: At<'_>) -> Made {
        let path = match at.path {
            "" => named.outer.clone(),
            outside => format!("{outside}.{}", named.outer),
        };
        let type_name = names::pascal_case(&[at.type_name, &named.outer]);
        self.param(&named.outer, &named.said, At { path: &path, type_name: &type_name, depth: at.depth })
    }

    pub(super) fn wire(&mut self, wire: usize, named: &Named<'a>, inner: Inner) {
        if let Some(wire) = self.wires.get_mut(wire) {
            let field = Field { original: named.original.to_owned(), inner };
            wire.fields.insert(named.outer.clone(), field);
        }
    }

    /// The fields of an object under the names they have here. One that is required but never described is there too,
    /// or nobody could give it.
    pub(super) fn named(&mut self, mut object: Object<'a>, what: &str, reserved: &[&str]) -> Vec<Named<'a>> {
        for name in &object.required {
            object.fields.entry(name).or_insert(Said::Nothing);
        }
        let properties: Vec<&'a str> = object.fields.keys().copied().collect();
        let outer = match self.naming {
            Naming::Ours => names::of_properties(&properties, what, reserved),
            Naming::Theirs => properties.iter().map(|&name| (name, name.to_owned())).collect(),
        };
        let fields = object.fields.into_iter();
        fields
            .map(|(original, said)| Named {
                original,
                outer: outer.get(original).cloned().unwrap_or_else(|| original.to_owned()),
                required: object.required.contains(original),
                said,
            })
            .collect()
    }

    pub(super) fn warn(&mut self, code: Code, severity: Severity, message: String, param: Option<&str>) {
        let param = param.filter(|param| !param.is_empty()).map(str::to_owned);
        let warning = Warning { code, severity, message, tool: Some(self.tool.to_owned()), param };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// A property under both its names.
pub(super) struct Named<'a> {
    pub(super) original: &'a str,
    pub(super) outer: String,
    pub(super) required: bool,
    pub(super) said: Said<'a>,
}

/// Whether an element's kind says all there is to say.
fn is_bare(element: &Param) -> bool {
    let ruled = !element.allowed.is_empty()
        || element.minimum.is_some()
        || element.maximum.is_some()
        || element.min_length.is_some()
        || element.max_length.is_some()
        || element.pattern.is_some()
        || element.format.is_some()
        || element.items.is_some();
    !ruled && !element.open && !element.sensitive && element.description.is_empty()
}

/// The schema's own words, and what it says otherwise than in words and we do not enforce.
fn described(name: &str, node: &Node<'_>) -> String {
    let title = node.title.filter(|title| names::snake_case(title, "") != name);
    let mut description = node.description.clone().or_else(|| title.map(str::to_owned)).unwrap_or_default();
    if !node.notes.is_empty() {
        let notes = node.notes.join("; ");
        description = if description.is_empty() { notes } else { format!("{description} ({notes})") };
    }
    description
}
