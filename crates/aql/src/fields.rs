//! Field selection: presets and dotted paths over whatever an operation returned.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    define::Answers,
    query::{
        Collection,
        compute::{COMPUTED, PREFIX},
        observe,
        refuse::nearest_path,
    },
    suggest,
    warning::{Severity, Warning},
};

/// The fields of an operation's result, frozen.
#[derive(Debug, Clone)]
pub struct Selection {
    pub(crate) answers: Answers,
    pub(crate) presets: BTreeMap<String, Vec<Path>>,
    pub(crate) known: Vec<Known>,
    /// Whether nothing is known of the result, so that any path may be in it.
    pub(crate) anything: bool,
}

/// A dotted path, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(Vec<String>);

/// A field that exists; the inner keys of an open one are anybody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) path: Path,
    pub(crate) open: bool,
}

pub(crate) const FULL: &str = "full";
pub(crate) const STANDARD: &str = "standard";
pub(crate) const MINIMAL: &str = "minimal";

/// Longer lists of observed names are cut, as those in errors are.
const LISTED_NAMES_MAX: usize = 100;

/// What one call selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    Everything,
    Only(Vec<Path>),
    /// Of items that nobody described: what has no parts of its own.
    Plain,
    /// Of items that nobody described: what names them.
    Naming,
}

impl Chosen {
    /// The chosen paths as a `fields` value, where they are known.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Only(paths) => paths.iter().map(Path::to_string).collect(),
            Self::Everything | Self::Plain | Self::Naming => Value::Null,
        }
    }
}

/// Why a `fields` value selects nothing: the preset names that exist, and the one most like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPreset {
    pub given: String,
    pub known: Vec<String>,
    pub near: Option<String>,
}

impl Path {
    /// None for an empty path or an empty step in it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let steps: Vec<String> = text.split('.').map(str::to_owned).collect();
        (!steps.iter().any(String::is_empty)).then_some(Self(steps))
    }

    pub(crate) fn steps(&self) -> &[String] {
        &self.0
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl Known {
    /// `metadata.*` is open, `priority` is not.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let open = text.ends_with(".*");
        let path = Path::parse(text.strip_suffix(".*").unwrap_or(text))?;
        Some(Self { path, open })
    }

    fn covers(&self, path: &Path) -> bool {
        self.path == *path
            || path.0.starts_with(&self.path.0) && self.open
            // Selecting an object selects what is known to be in it.
            || self.path.0.starts_with(&path.0)
    }
}

/// Under these keys most systems keep what a thing is called and found by.
const NAMING: [&str; 12] =
    ["id", "name", "title", "key", "number", "slug", "login", "path", "uri", "url", "type", "status"];

impl Selection {
    /// For results that nobody described: any field may be asked for, and everything is shown unasked.
    pub(crate) fn of_anything() -> Self {
        Self { answers: Answers::One, presets: BTreeMap::new(), known: Vec::new(), anything: true }
    }

    /// Lets the computed fields of a collection be chosen.
    pub(crate) fn compute(&mut self, collection: &Collection) {
        let paths = collection.computed().iter().map(|field| format!("{PREFIX}{}", field.name()));
        self.known.extend(paths.filter_map(|path| Known::parse(&path)));
    }

    /// What a call without `fields` shows.
    #[must_use]
    pub fn unasked(&self) -> Chosen {
        let preset = match self.answers {
            Answers::One => FULL,
            Answers::Collection => STANDARD,
            Answers::Search => MINIMAL,
        };
        self.preset(preset).unwrap_or(Chosen::Everything)
    }

    #[must_use]
    pub fn preset_names(&self) -> Vec<String> {
        let standard = [MINIMAL, STANDARD, FULL].map(str::to_owned);
        let own = self.presets.keys().filter(|name| !standard.contains(name)).cloned();
        standard.iter().cloned().chain(own).collect()
    }

    fn preset(&self, name: &str) -> Option<Chosen> {
        match name {
            FULL => return Some(Chosen::Everything),
            STANDARD if self.anything => return Some(Chosen::Plain),
            MINIMAL if self.anything => return Some(Chosen::Naming),
            _ => {}
        }
        self.presets.get(name).map(|paths| Chosen::Only(paths.clone()))
    }

    /// Reads a `fields` value that already has the right type. Paths that no result can have become a warning.
    pub fn choose(&self, fields: &Value) -> Result<(Chosen, Option<Warning>), UnknownPreset> {
        if let Some(name) = fields.as_str() {
            return match self.preset(name) {
                Some(chosen) => Ok((chosen, None)),
                None => {
                    let known = self.preset_names();
                    let near = suggest::nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
                    Err(UnknownPreset { given: name.to_owned(), known, near })
                }
            };
        }
        let texts: Vec<&str> =
            fields.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default();
        let mut paths = Vec::new();
        let mut unknown = Vec::new();
        for text in texts {
            match Path::parse(text) {
                Some(path) if self.anything || self.known.iter().any(|known| known.covers(&path)) => {
                    paths.push(path)
                }
                _ => unknown.push(text),
            }
        }
        let known = || self.known.iter().map(|known| known.path.to_string()).collect();
        let warning = (!unknown.is_empty()).then(|| unknown_fields(&unknown, known()));
        Ok((Chosen::Only(paths), warning))
    }

    /// Trims `data` to the chosen fields: the resource itself, or each of `data.items`.
    #[must_use]
    pub fn apply(&self, chosen: &Chosen, data: Value) -> Value {
        match (self.answers, data) {
            (Answers::One, data) => chosen.of(data),
            (Answers::Collection | Answers::Search, Value::Object(mut data)) => {
                if let Some(Value::Array(items)) = data.get_mut("items") {
                    for item in items {
                        *item = chosen.of(item.take());
                    }
                }
                Value::Object(data)
            }
            (_, other) => other,
        }
    }
}

fn unknown_fields(unknown: &[&str], known: Vec<String>) -> Warning {
    let message = format!("Unknown field(s) in 'fields' were left out: {}", unknown.join(", "));
    let near = unknown.iter().filter_map(|given| Some(((*given).to_owned(), nearest_path(given, &known)?)));
    let near: Map<String, Value> = near.map(|(given, near)| (given, near.into())).collect();
    let warning = Warning::new("VALIDATION_UNKNOWN_FIELD_WARNING", message, Severity::Medium)
        .with("unknown_fields", unknown.iter().map(|&name| Value::from(name)).collect::<Vec<_>>())
        .with("valid_fields", known);
    if near.is_empty() { warning } else { warning.with("suggestions", near) }
}

impl Chosen {
    /// Warns of chosen paths that none of these items has. No items tell nothing.
    #[must_use]
    pub fn missing_in(&self, items: &[Value]) -> Option<Warning> {
        let Self::Only(paths) = self else { return None };
        let is_there =
            |path: &Path| items.iter().filter_map(Value::as_object).any(|item| reaches(path.steps(), item));
        let missing: Vec<String> = paths.iter().filter(|path| !is_there(path)).map(Path::to_string).collect();
        if items.is_empty() || missing.is_empty() {
            return None;
        }
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let mut known = observe::names(items);
        known.truncate(LISTED_NAMES_MAX);
        Some(unknown_fields(&missing, known))
    }

    /// The chosen part of one item.
    #[must_use]
    pub fn of(&self, item: Value) -> Value {
        let kept = |wanted: fn(&str, &Value) -> bool, mut fields: Map<String, Value>| {
            fields.retain(|key, value| wanted(key, value));
            Value::Object(fields)
        };
        match (self, item) {
            (Self::Only(paths), item) => project(paths, item),
            (Self::Plain, Value::Object(fields)) => {
                kept(|key, value| key == COMPUTED || !(value.is_object() || value.is_array()), fields)
            }
            (Self::Naming, Value::Object(fields)) if fields.keys().any(|key| names_it(key)) => {
                kept(|key, value| names_it(key) && !(value.is_object() || value.is_array()), fields)
            }
            // What no key seems to name is shown as a whole.
            (Self::Everything | Self::Plain | Self::Naming, item) => item,
        }
    }
}

fn names_it(key: &str) -> bool {
    NAMING.contains(&key) || key.ends_with("_id") || key.ends_with("Id")
}

/// The parts of an object that the paths name, nesting kept. What is not an object passes unchanged.
fn project(paths: &[Path], value: Value) -> Value {
    let Value::Object(mut source) = value else { return value };
    let mut target = Map::new();
    for path in paths {
        match path.0.as_slice() {
            [only] => {
                if let Some(value) = source.remove(only) {
                    target.insert(only.clone(), value);
                }
            }
            steps => copy(steps, &source, &mut target),
        }
    }
    Value::Object(target)
}

fn copy(steps: &[String], source: &Map<String, Value>, target: &mut Map<String, Value>) {
    let Some((first, rest)) = steps.split_first() else { return };
    if !reaches(steps, source) {
        return;
    }
    match source.get(first) {
        Some(Value::Object(inner)) if !rest.is_empty() => {
            let nested = target.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(nested) = nested {
                copy(rest, inner, nested);
            }
        }
        Some(value) => drop(target.insert(first.clone(), value.clone())),
        None => {}
    }
}

fn reaches(steps: &[String], source: &Map<String, Value>) -> bool {
    match steps.split_first() {
        None => true,
        Some((first, [])) => source.contains_key(first),
        Some((first, rest)) => {
            source.get(first).and_then(Value::as_object).is_some_and(|inner| reaches(rest, inner))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selection(answers: Answers) -> Selection {
        let paths = |names: &[&str]| names.iter().map(|name| Path::parse(name).unwrap()).collect::<Vec<_>>();
        Selection {
            answers,
            presets: [
                (MINIMAL.to_owned(), paths(&["id"])),
                (STANDARD.to_owned(), paths(&["id", "name"])),
                ("contact".to_owned(), paths(&["name", "settings.mail"])),
            ]
            .into(),
            known: ["id", "name", "settings.theme", "settings.mail", "metadata.*", "due"]
                .map(|text| Known::parse(text).unwrap())
                .to_vec(),
            anything: false,
        }
    }

    fn shown(selection: &Selection, fields: Value, data: Value) -> Value {
        let (chosen, _) = selection.choose(&fields).unwrap();
        selection.apply(&chosen, data)
    }

    fn item() -> Value {
        json!({"id": "1", "name": "n", "settings": {"theme": "dark", "mail": null, "x": 1}, "metadata": {"a": {"b": 2}}})
    }

    /// LREQ-FSEL-03 LREQ-FSEL-07
    #[test]
    fn dotted_paths_keep_their_nesting_and_absent_fields_are_left_out() {
        let one = selection(Answers::One);
        assert_eq!(
            shown(&one, json!(["id", "settings.theme", "settings.mail", "due", "metadata.a.b"]), item()),
            json!({"id": "1", "settings": {"theme": "dark", "mail": null}, "metadata": {"a": {"b": 2}}})
        );
    }

    /// LREQ-FSEL-02 LREQ-FSEL-05
    #[test]
    fn presets_nest_and_the_default_follows_what_is_answered() {
        let one = selection(Answers::One);
        assert_eq!(shown(&one, json!("minimal"), item()), json!({"id": "1"}));
        assert_eq!(shown(&one, json!("standard"), item()), json!({"id": "1", "name": "n"}));
        assert_eq!(shown(&one, json!("full"), item()), item());
        assert_eq!(shown(&one, json!("contact"), item()), json!({"name": "n", "settings": {"mail": null}}));
        assert_eq!(one.unasked(), Chosen::Everything);
        let unasked =
            |answers| selection(answers).apply(&selection(answers).unasked(), json!({"items": [item()]}));
        assert_eq!(unasked(Answers::Collection), json!({"items": [{"id": "1", "name": "n"}]}));
        assert_eq!(unasked(Answers::Search), json!({"items": [{"id": "1"}]}));
        assert_eq!(
            one.choose(&json!("minimum")).unwrap_err().known,
            ["minimal", "standard", "full", "contact"]
        );
    }

    /// LREQ-FSEL-06 LREQ-FSEL-08
    #[test]
    fn selection_touches_the_items_only_and_names_what_it_does_not_know() {
        let list = selection(Answers::Collection);
        let data = json!({"items": [item()], "pageInfo": {"hasNextPage": true}});
        assert_eq!(
            shown(&list, json!(["id"]), data),
            json!({"items": [{"id": "1"}], "pageInfo": {"hasNextPage": true}})
        );
        let (chosen, warning) = list.choose(&json!(["nosuch", "id", "id..x", "name.first"])).unwrap();
        assert_eq!(chosen, Chosen::Only(vec![Path::parse("id").unwrap()]));
        assert_eq!(warning.unwrap().details["unknown_fields"], json!(["nosuch", "id..x", "name.first"]));
        let (_, warning) = list.choose(&json!(["nam", "settings.thme", "zzz"])).unwrap();
        let suggestions = json!({"nam": "name", "settings.thme": "settings.theme"});
        assert_eq!(warning.unwrap().details["suggestions"], suggestions);
        assert_eq!(list.choose(&json!("minimall")).unwrap_err().near.as_deref(), Some("minimal"));
    }

    #[test]
    fn paths_that_no_item_has_are_told_beside_those_that_some_have() {
        let items =
            [json!({"id": 1, "author": {"login": "a"}, "tags": [{"n": 1}]}), json!({"id": 2, "due": null})];
        let missing = |fields: Value, items: &[Value]| {
            let (chosen, _) = Selection::of_anything().choose(&fields).unwrap();
            chosen.missing_in(items).map(|warning| warning.details)
        };
        let told = missing(json!(["id", "due", "titel", "author.name", "tags.n"]), &items).unwrap();
        assert_eq!(told["unknown_fields"], json!(["titel", "author.name", "tags.n"]));
        assert_eq!(told["valid_fields"], json!(["author", "author.login", "due", "id", "tags"]));
        assert_eq!(missing(json!(["id", "author", "author.login", "due"]), &items), None);
        assert_eq!(missing(json!(["titel"]), &[]), None);
        assert_eq!(missing(json!("minimal"), &items), None);
    }

    #[test]
    fn a_whole_object_and_a_path_in_it_give_the_whole_object() {
        let one = selection(Answers::One);
        let whole = item()["settings"].clone();
        for fields in [json!(["settings", "settings.theme"]), json!(["settings.theme", "settings"])] {
            assert_eq!(shown(&one, fields, item())["settings"], whole);
        }
    }
}
