//! What can be asked of a collection: its fields, their kinds, how it is paged. Built and checked when a registry is.

mod build;

use std::sync::Arc;

use serde_json::Value;

pub use self::build::{Builder, Error};
use super::{
    compute::{self, Computed},
    path::{PATH_STEPS_MAX, Path, Target},
    sort,
};

/// What values a field has, and so what can be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Boolean,
    /// A date-time in UTC, always written in microseconds ([`compute::time_text`]), so that its text has the order of
    /// time.
    Time,
    List,
    Object,
    /// Any of these; nothing is known before it is seen.
    Any,
}

impl Kind {
    /// JSON's name for the type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text | Self::Time => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "array",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    fn is_scalar(self) -> bool {
        !matches!(self, Self::List | Self::Object)
    }

    fn is_numeric(self) -> bool {
        matches!(self, Self::Number | Self::Any)
    }
}

/// A declared field.
#[derive(Debug, Clone)]
pub struct Field {
    pub(super) path: Path,
    pub(super) kind: Kind,
    /// Whether paths beneath this one are accepted too, whatever they are.
    pub(super) open: bool,
    pub(super) groupable: bool,
}

impl Field {
    /// As lists of accepted names show it.
    fn shown(&self) -> String {
        if self.open { format!("{}.*", self.path) } else { self.path.to_string() }
    }

    fn serves(&self, wanted: Use) -> bool {
        // What lies beneath an open field may be anything.
        let kind = if self.open { Kind::Any } else { self.kind };
        serves(kind, self.groupable, wanted)
    }
}

/// What a path is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Filter,
    Sort,
    Group,
    Sum,
    Extreme,
}

fn serves(kind: Kind, groupable: bool, wanted: Use) -> bool {
    match wanted {
        Use::Filter => true,
        Use::Sort => kind.is_scalar(),
        Use::Group => kind.is_scalar() && groupable,
        Use::Sum => kind.is_numeric(),
        Use::Extreme => kind.is_numeric() || kind.is_scalar() && groupable,
    }
}

/// Why a path cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    Unknown,
    /// It has more than [`PATH_STEPS_MAX`] steps.
    TooDeep,
    /// It is there, but not for this.
    Unfit,
}

/// How a collection is cut into pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `first`, `after`, `last`, `before`
    Cursor,
    /// `limit`, `offset`
    Offset,
    /// `page`, `page_size`
    Page,
}

impl Style {
    pub const ALL: [Self; 3] = [Self::Cursor, Self::Offset, Self::Page];

    #[must_use]
    pub fn params(self) -> &'static [&'static str] {
        match self {
            Self::Cursor => &["first", "after", "last", "before"],
            Self::Offset => &["limit", "offset"],
            Self::Page => &["page", "page_size"],
        }
    }
}

/// The controls that are no paging style.
pub const CONTROLS: [&str; 5] = ["filter", "sort", "aggregate", "include_items", "include_total"];

/// What tells two items apart that sort alike.
#[derive(Debug, Clone)]
pub enum Identity {
    /// A field with another scalar value in every item.
    Field(Path),
    /// The item's place in the list as it was given, where the list itself is kept between pages.
    Position,
}

/// A collection, frozen; cheap to clone.
#[derive(Debug, Clone)]
pub struct Collection(Arc<Frozen>);

#[derive(Debug, Clone)]
struct Frozen {
    name: String,
    identity: Identity,
    fields: Vec<Field>,
    anything: bool,
    computed: Vec<Arc<Computed>>,
    carried: Vec<String>,
    default_sort: Vec<sort::Key>,
    styles: Vec<Style>,
    withheld: Vec<String>,
}

impl Collection {
    /// Begins a collection whose items are told apart by their place, until [`Builder::id`] says better. The name
    /// keeps the cursors of one collection from being taken for another's.
    #[must_use]
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }

    /// A collection of which nothing is known beforehand.
    #[must_use]
    pub fn of_anything(name: &str) -> Self {
        Self(Arc::new(Frozen {
            name: name.to_owned(),
            identity: Identity::Position,
            fields: Vec::new(),
            anything: true,
            computed: Vec::new(),
            carried: Vec::new(),
            default_sort: Vec::new(),
            styles: vec![Style::Cursor],
            withheld: Vec::new(),
        }))
    }

    /// The same without the controls of these names, which mean something else to the operation. A style of paging
    /// goes as a whole.
    #[must_use]
    pub fn withholding(&self, names: &[&str]) -> Self {
        let mut frozen = self.0.as_ref().clone();
        frozen.styles.retain(|style| !style.params().iter().any(|param| names.contains(param)));
        let controls = names.iter().filter(|name| CONTROLS.contains(name));
        frozen.withheld.extend(controls.map(|&name| name.to_owned()));
        Self(Arc::new(frozen))
    }

    /// The same with the fields that these items have, where it was one of anything, under another name.
    #[must_use]
    pub fn observing(&self, items: &[Value], name: String) -> Self {
        let mut frozen = self.0.as_ref().clone();
        frozen.name = name;
        if frozen.anything {
            let (observed, others) = super::observe::fields(items);
            let known = std::mem::replace(&mut frozen.fields, observed);
            frozen.fields.retain(|field| !known.iter().any(|declared| declared.path == field.path));
            frozen.anything = others || known.is_empty() && frozen.fields.is_empty();
            frozen.fields.extend(known);
        }
        Self(Arc::new(frozen))
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    #[must_use]
    pub fn styles(&self) -> &[Style] {
        &self.0.styles
    }

    #[must_use]
    pub fn computed(&self) -> &[Arc<Computed>] {
        &self.0.computed
    }

    /// Whether nothing is known of its items.
    #[must_use]
    pub fn is_of_anything(&self) -> bool {
        self.0.anything && self.0.fields.is_empty()
    }

    /// Whether a parameter of this name is one of this collection's controls.
    #[must_use]
    pub fn offers(&self, control: &str) -> bool {
        let known =
            CONTROLS.contains(&control) || self.0.styles.iter().any(|s| s.params().contains(&control));
        known && !self.0.withheld.iter().any(|name| name == control)
    }

    pub(super) fn default_sort(&self) -> &[sort::Key] {
        &self.0.default_sort
    }

    /// Makes an item ready to be answered: computed values in, what was carried along for them out.
    pub fn finish(&self, item: &mut Value, chosen: &[Arc<Computed>], now: jiff::Timestamp) {
        compute::attach(item, chosen.iter().map(Arc::as_ref), now);
        if let (Value::Object(item), false) = (item, self.0.carried.is_empty()) {
            item.retain(|key, _| !self.0.carried.contains(key));
        }
    }

    /// The computed fields that a `fields` value asks for. Presets are resolved to their paths before.
    #[must_use]
    pub fn chosen(&self, fields: &Value) -> Vec<Arc<Computed>> {
        let Some(paths) = fields.as_array() else { return Vec::new() };
        let asked = |field: &Computed| {
            paths.iter().filter_map(Value::as_str).any(|path| {
                path == compute::COMPUTED || path.strip_prefix(compute::PREFIX) == Some(field.name())
            })
        };
        self.0.computed.iter().filter(|field| asked(field)).cloned().collect()
    }

    pub(super) fn target(&self, given: &str, wanted: Use) -> Result<(Target, Kind), Unusable> {
        self.0.target(given, wanted)
    }

    /// The names accepted for a use; an open field's end in `.*`.
    pub(super) fn accepted(&self, wanted: Use) -> Vec<String> {
        let stored = self.0.fields.iter().filter(|field| field.serves(wanted)).map(Field::shown);
        let computed = self.0.computed.iter().filter(|field| computed_serves(field, wanted));
        let computed = computed.map(|field| format!("{}{}", compute::PREFIX, field.name()));
        let anything = self.0.anything.then(|| "*".to_owned());
        stored.chain(computed).chain(anything).collect()
    }
}

impl Frozen {
    /// What the identity stands for, where the given path is its own.
    fn identity_target(&self, given: &str) -> Option<Target> {
        match &self.identity {
            Identity::Field(path) if path.to_string() == given => Some(Target::Stored(path.clone())),
            _ => None,
        }
    }

    fn target(&self, given: &str, wanted: Use) -> Result<(Target, Kind), Unusable> {
        if let Some(name) = given.strip_prefix(compute::PREFIX) {
            let found = self.computed.iter().find(|field| field.name() == name).ok_or(Unusable::Unknown)?;
            let allowed = computed_serves(found, wanted);
            return if allowed {
                Ok((Target::Computed(Arc::clone(found)), found.kind()))
            } else {
                Err(Unusable::Unfit)
            };
        }
        let path = Path::parse(given).ok_or(Unusable::Unknown)?;
        if path.steps().len() > PATH_STEPS_MAX {
            return Err(Unusable::TooDeep);
        }
        let exact = self.fields.iter().find(|field| field.path == path);
        let around =
            || self.fields.iter().find(|field| field.open && path.steps().starts_with(field.path.steps()));
        let (kind, groupable) = match exact {
            Some(field) => (field.kind, field.groupable),
            None => match around() {
                Some(field) => (Kind::Any, field.groupable),
                None if self.anything => (Kind::Any, true),
                None => return Err(Unusable::Unknown),
            },
        };
        if serves(kind, groupable, wanted) { Ok((Target::Stored(path), kind)) } else { Err(Unusable::Unfit) }
    }
}

/// Aggregations are over stored fields only.
fn computed_serves(field: &Computed, wanted: Use) -> bool {
    match wanted {
        Use::Filter => field.is_filterable(),
        Use::Sort => field.is_sortable(),
        Use::Group | Use::Sum | Use::Extreme => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::fixture;

    #[test]
    fn what_serves_which_use_follows_from_its_kind() {
        let tasks = fixture::tasks();
        let uses = [Use::Filter, Use::Sort, Use::Group, Use::Sum, Use::Extreme];
        for (path, expected) in [
            ("status", [true, true, true, false, true]),
            ("title", [true, true, false, false, false]),
            ("priority", [true, true, true, true, true]),
            ("created_at", [true, true, true, false, true]),
            ("tags", [true, false, false, false, false]),
            ("metadata", [true, false, false, false, false]),
            ("metadata.a.b", [true; 5]),
            ("_computed.age_days", [true, true, false, false, false]),
            ("_computed.tokens", [false; 5]),
            ("nope", [false; 5]),
            ("status.x", [false; 5]),
            ("a..b", [false; 5]),
            ("_computed.nope", [false; 5]),
        ] {
            assert_eq!(uses.map(|wanted| tasks.target(path, wanted).is_ok()), expected, "{path}");
        }
        let deep = format!("metadata{}", ".x".repeat(PATH_STEPS_MAX));
        assert!(tasks.target(&deep, Use::Filter).is_err());
    }

    #[test]
    fn every_accepted_name_is_accepted_and_no_other() {
        let tasks = fixture::tasks();
        for wanted in [Use::Filter, Use::Sort, Use::Group, Use::Sum, Use::Extreme] {
            for name in tasks.accepted(wanted) {
                assert!(tasks.target(&name.replace(".*", ".x"), wanted).is_ok(), "{name} for {wanted:?}");
            }
        }
        assert_eq!(tasks.accepted(Use::Sum), ["id", "priority", "metadata.*"]);
    }

    #[test]
    fn items_are_finished_with_what_was_chosen_and_without_what_was_carried() {
        let things = Collection::builder("things")
            .computed(Computed::count("links", "", Path::parse("_links").unwrap()))
            .computed(Computed::count("parts", "", Path::parse("parts").unwrap()))
            .carried("_links")
            .build()
            .unwrap();
        let shown = |fields: Value| {
            let mut item = json!({"id": 1, "_links": [1, 2], "parts": [3]});
            things.finish(&mut item, &things.chosen(&fields), jiff::Timestamp::UNIX_EPOCH);
            item
        };
        assert_eq!(shown(json!("full")), json!({"id": 1, "parts": [3]}));
        assert_eq!(
            shown(json!(["id", "_computed.links", "_computed.nope"])),
            json!({"id": 1, "parts": [3], "_computed": {"links": 2}})
        );
        assert_eq!(shown(json!(["_computed"]))["_computed"], json!({"links": 2, "parts": 1}));
    }

    #[test]
    fn controls_are_offered_unless_withheld() {
        let tasks = Collection::builder("x").paged_by(Style::Offset).without("sort").build().unwrap();
        let offered =
            ["filter", "sort", "limit", "offset", "first", "page", "title"].map(|c| tasks.offers(c));
        assert_eq!(offered, [true, false, true, true, false, false, false]);
    }
}
