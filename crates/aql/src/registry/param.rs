//! Checking and freezing parameters and types.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::check::Report;
use crate::{
    define,
    name::ParamName,
    param::{Kind, Param, Pattern, Shape},
    types::{self, Type, TypeId, Types},
    validate::Format,
};

/// Declared types by name, known before any of them is frozen, so that they may refer to each other.
pub(super) struct Declared<'a> {
    by_name: HashMap<&'a str, (TypeId, &'a define::Type)>,
}

impl<'a> Declared<'a> {
    pub(super) fn new(all: &'a [define::Type], report: &mut Report) -> Self {
        let mut by_name = HashMap::new();
        for (index, declared) in all.iter().enumerate() {
            if by_name.insert(declared.name.as_str(), (TypeId(index), declared)).is_some() {
                report.add(&format!("type '{}'", declared.name), "name", "is declared twice");
            }
        }
        Self { by_name }
    }

    pub(super) fn get(&self, name: &str) -> Option<&(TypeId, &'a define::Type)> {
        self.by_name.get(name)
    }
}

/// Freezes every declared type.
pub(super) fn freeze_types(all: &[define::Type], declared: &Declared<'_>, report: &mut Report) -> Types {
    let frozen = all.iter().map(|declared_type| {
        let subject = format!("type '{}'", declared_type.name);
        let shape = match &declared_type.shape {
            define::Shape::Enum { values } => types::Shape::Enum(values.clone()),
            define::Shape::Scalar => types::Shape::Scalar,
            define::Shape::Union { members } => {
                for member in members.iter().filter(|member| declared.get(member).is_none()) {
                    report.add(&subject, "members", &format!("names the undeclared type '{member}'"));
                }
                types::Shape::Union(members.clone())
            }
            define::Shape::Object { fields } => {
                let fields =
                    fields.iter().filter_map(|field| freeze(field, declared, &subject, false, report));
                types::Shape::Object(fields.map(Arc::new).collect())
            }
        };
        Type { name: declared_type.name.clone(), description: declared_type.description.clone(), shape }
    });
    Types(frozen.collect())
}

/// Freezes a parameter, or reports why it cannot be one. Only a parameter's own name has to be snake_case.
pub(super) fn freeze(
    given: &define::Param,
    declared: &Declared<'_>,
    subject: &str,
    is_parameter: bool,
    report: &mut Report,
) -> Option<Param> {
    let field = |key: &str| format!("{}.{key}", given.name);
    let before = report.count();
    if is_parameter && let Err(error) = given.name.parse::<ParamName>() {
        report.add(subject, "params", &error.to_string());
    }
    let kind = match given.kind.as_deref() {
        None => {
            report.add(subject, &field("type"), "is missing");
            None
        }
        Some(text) => {
            let kind = read_kind(text, declared);
            if kind.is_none() {
                let expected =
                    "which is neither string, number, integer, boolean, object, array nor a declared type";
                report.add(subject, &field("type"), &format!("says '{text}', {expected}"));
            }
            kind
        }
    };
    let pattern = given.pattern.as_ref().and_then(|pattern| match Pattern::new(pattern) {
        Some(known) => Some(Box::new(known)),
        None => {
            report.add(
                subject,
                &field("pattern"),
                &format!("holds '{pattern}', which is no regular expression"),
            );
            None
        }
    });
    let format = given.format.as_ref().and_then(|name| {
        let format = Format::named(name);
        if format.is_none() {
            report.add(
                subject,
                &field("format"),
                &format!("names '{name}', which is not enforced and so cannot be published"),
            );
        }
        format
    });
    let fields_of = given.fields_of.as_ref().and_then(|name| match declared.get(name) {
        Some((id, define::Type { shape: define::Shape::Object { .. }, .. })) => Some(*id),
        _ => {
            report.add(
                subject,
                &field("fields_of"),
                &format!("names '{name}', which is no declared object type"),
            );
            None
        }
    });
    let element = given.items.as_deref().cloned().or_else(|| declared_element(given, declared));
    let items =
        element.as_ref().and_then(|item| freeze(item, declared, subject, false, report)).map(Box::new);
    let kind = kind?;
    let mut allowed = given.allowed.clone();
    if allowed.is_empty() && kind.shapes.len() > 1 && kind.shapes.contains(&Shape::Enum) {
        let message = "joins an enum with other types, which cannot be enforced; list the values in 'enum'";
        report.add(subject, &field("type"), message);
    }
    if allowed.is_empty()
        && let Some((_, define::Type { shape: define::Shape::Enum { values }, .. })) =
            declared.get(&kind.text)
    {
        allowed = values.iter().map(|value| Value::from(value.as_str())).collect();
    }
    (report.count() == before).then(|| Param {
        name: given.name.clone(),
        kind,
        required: given.required,
        unless: given.unless.as_ref().and_then(|name| name.parse().ok()),
        description: describe(given),
        default: given.default.clone(),
        allowed,
        minimum: given.minimum,
        maximum: given.maximum,
        min_length: given.min_length,
        max_length: given.max_length,
        pattern,
        format,
        items,
        fields_of,
        open: given.open,
        sensitive: given.sensitive,
        nul_safe: given.nul_safe,
        aliases: given.aliases.clone(),
        deprecated: given.deprecated.clone(),
        nullable: given.nullable,
    })
}

/// The elements of `Item[]`, so that a declared type is enforced and shown inside an array as it is outside.
fn declared_element(given: &define::Param, declared: &Declared<'_>) -> Option<define::Param> {
    let mut elements = given.kind.as_deref()?.split(" | ").filter_map(|part| part.strip_suffix("[]"));
    let element = elements.find(|text| declared.get(text.trim_end_matches("[]")).is_some())?;
    Some(define::Param::new("item", element, ""))
}

/// The description, with what else a caller must know before it writes the parameter.
fn describe(given: &define::Param) -> String {
    let mut description = String::new();
    if let Some(notice) = &given.deprecated {
        let advice =
            notice.replacement.as_ref().map(|to| format!("; use '{to}' instead")).unwrap_or_default();
        description.push_str(&format!("Deprecated{advice}. "));
    }
    description.push_str(&given.description);
    if let Some(other) = &given.unless {
        description.push_str(&format!(" (or give '{other}' instead)"));
    }
    if given.format.as_deref() == Some("date") && !description.contains("UTC") {
        description.push_str(" (a day in UTC)");
    }
    if given.nullable && !description.contains("null") {
        description.push_str(" (null means no value)");
    }
    if let Some(fields) = given.fields_of.as_ref().filter(|fields| !description.contains(fields.as_str())) {
        description.push_str(&format!(" (an object of type {fields})"));
    }
    if given.open {
        description.push_str(" (other fields are accepted too)");
    }
    let camel: Vec<&str> = given.aliases.iter().map(String::as_str).filter(|a| !a.starts_with('_')).collect();
    if !camel.is_empty() {
        description.push_str(&format!(" (also accepted: {})", camel.join(", ")));
    }
    description
}

fn read_kind(text: &str, declared: &Declared<'_>) -> Option<Kind> {
    let shapes: Option<Vec<Shape>> = text.split(" | ").map(|part| read_shape(part, declared)).collect();
    Some(Kind { text: text.to_owned(), shapes: shapes? })
}

fn read_shape(text: &str, declared: &Declared<'_>) -> Option<Shape> {
    if let Some(element) = text.strip_suffix("[]") {
        return read_shape(element, declared).map(|shape| Shape::ArrayOf(Box::new(shape)));
    }
    Some(match text {
        "string" => Shape::String,
        "number" => Shape::Number,
        "integer" => Shape::Integer,
        "boolean" => Shape::Boolean,
        "object" => Shape::Object,
        "array" => Shape::Array,
        name => match declared.get(name)? {
            (_, define::Type { shape: define::Shape::Enum { .. }, .. }) => Shape::Enum,
            (id, define::Type { shape: define::Shape::Object { .. }, .. }) => Shape::Record(*id),
            // Nothing could be enforced for a scalar or a union, so no parameter may be one.
            (_, define::Type { .. }) => return None,
        },
    })
}
