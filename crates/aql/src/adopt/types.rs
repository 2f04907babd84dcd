//! The named types of one server's operations. Equal ones are declared once.

use std::collections::HashMap;

use super::names::Taken;
use crate::define::{Param, Shape, Type};

/// Types declared so far, and the names that are taken.
pub(super) struct Types<'t> {
    pub(super) taken: &'t mut Taken,
    pub(super) declared: Vec<Type>,
    by_text: HashMap<String, String>,
}

impl<'t> Types<'t> {
    pub(super) fn new(taken: &'t mut Taken) -> Self {
        Self { taken, declared: Vec::new(), by_text: HashMap::new() }
    }

    /// Takes a name for a type whose fields are not known yet; they may be of that very type.
    pub(super) fn reserve(&mut self, wanted: &str) -> String {
        self.taken.type_name(wanted)
    }

    /// Declares the type, unless there is an equal one: then that one's name is given and this one's is free again.
    pub(super) fn declare(&mut self, name: String, description: &str, fields: Vec<Param>) -> String {
        let text =
            format!("{description} {:?}", fields.iter().map(|f| nameless(f, &name)).collect::<Vec<_>>());
        if let Some(known) = self.by_text.get(&text) {
            self.taken.release_type(&name);
            return known.clone();
        }
        self.by_text.insert(text, name.clone());
        let description = description.to_owned();
        self.declared.push(Type { name: name.clone(), description, shape: Shape::Object { fields } });
        name
    }
}

/// The field with its own type's name taken out, so that types which contain themselves can be compared.
fn nameless(field: &Param, own: &str) -> Param {
    let mut field = field.clone();
    let anonymous = |part: &str| {
        let element = part.trim_end_matches("[]");
        if element == own { part.replacen(own, "*", 1) } else { part.to_owned() }
    };
    field.kind = field.kind.map(|kind| kind.split(" | ").map(anonymous).collect::<Vec<_>>().join(" | "));
    field.items = field.items.map(|items| Box::new(nameless(&items, own)));
    field
}
