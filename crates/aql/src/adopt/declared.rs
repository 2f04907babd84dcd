//! What a schema itself says to be secret: `format: "password"` and `writeOnly: true`, however deep within a parameter.
//!
//! A parameter is hidden as a whole, so that one word within it is enough.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::schema::place::{Said, Written};

/// Schemas that are looked at for one parameter. Who says more is not believed to hide nothing.
const LOOKS_MAX: usize = 2_000;

/// Whether something in what is said of a value is declared to be secret. References lead into the root.
pub(super) fn is_secret(root: &Said<'_>, said: &Said<'_>) -> bool {
    let root = match root {
        Said::Here(place) => keywords(place.written),
        _ => None,
    };
    let mut looks = Looks { root, followed: HashSet::new(), open: Vec::new() };
    looks.said(said);
    looks.found()
}

fn keywords(written: Written<'_>) -> Option<&Map<String, Value>> {
    match written {
        Written::Keywords(schema) => Some(schema),
        Written::Verdict(_) | Written::Malformed => None,
    }
}

/// Schemas that are still to be looked at. None is nested in calls of ours, however deep it is.
struct Looks<'a> {
    root: Option<&'a Map<String, Value>>,
    followed: HashSet<&'a str>,
    open: Vec<&'a Map<String, Value>>,
}

impl<'a> Looks<'a> {
    fn said(&mut self, said: &Said<'a>) {
        match said {
            Said::Nothing => {}
            Said::Here(place) => self.open.extend(keywords(place.written)),
            Said::All(said) | Said::Any(said) => said.iter().for_each(|said| self.said(said)),
        }
    }

    fn found(mut self) -> bool {
        for _ in 0..LOOKS_MAX {
            let Some(schema) = self.open.pop() else { return false };
            let is_password = schema.get("format").and_then(Value::as_str) == Some("password");
            if is_password || schema.get("writeOnly") == Some(&Value::Bool(true)) {
                return true;
            }
            self.within(schema);
        }
        !self.open.is_empty()
    }

    fn within(&mut self, schema: &'a Map<String, Value>) {
        for (keyword, value) in schema {
            match keyword.as_str() {
                "properties" | "patternProperties" | "dependentSchemas" => {
                    let named = value.as_object().into_iter().flat_map(Map::values);
                    self.open.extend(named.filter_map(Value::as_object));
                }
                "allOf"
                | "anyOf"
                | "oneOf"
                | "prefixItems"
                | "items"
                | "additionalProperties"
                | "contains"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems" => match value {
                    Value::Array(schemas) => self.open.extend(schemas.iter().filter_map(Value::as_object)),
                    one => self.open.extend(one.as_object()),
                },
                "$ref" | "$dynamicRef" => self.follow(value),
                _ => {}
            }
        }
    }

    fn follow(&mut self, reference: &'a Value) {
        let Some(reference) = reference.as_str().filter(|reference| self.followed.insert(reference)) else {
            return;
        };
        let Some(mut schema) = self.root else { return };
        let steps = reference.strip_prefix('#').unwrap_or(reference).split('/').skip(1);
        for step in steps.map(|step| step.replace("~1", "/").replace("~0", "~")) {
            match schema.get(&step) {
                Some(Value::Object(inner)) => schema = inner,
                _ => return,
            }
        }
        self.open.push(schema);
    }
}
