//! Declaring a collection: all faults are told together, and what was built has none.

use std::sync::Arc;

use serde_json::Value;

use super::{CONTROLS, Collection, Field, Frozen, Identity, Kind, Style, Use};
use crate::{
    name::ParamName,
    query::{
        compute::{self, Computed},
        observe,
        path::{PATH_STEPS_MAX, Path},
        sort,
    },
};

/// A declaration that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("collection '{name}': {}", faults.join("; "))]
pub struct Error {
    pub name: String,
    pub faults: Vec<String>,
}

/// A collection to be.
#[derive(Debug)]
pub struct Builder {
    name: String,
    id: Option<String>,
    fields: Vec<(String, Kind, bool, bool)>,
    observed: Vec<Field>,
    anything: bool,
    computed: Vec<Computed>,
    carried: Vec<String>,
    default_sort: Vec<(String, sort::Order)>,
    styles: Vec<Style>,
    withheld: Vec<String>,
}

impl Builder {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            id: None,
            fields: Vec::new(),
            observed: Vec::new(),
            anything: false,
            computed: Vec::new(),
            carried: Vec::new(),
            default_sort: Vec::new(),
            styles: Vec::new(),
            withheld: Vec::new(),
        }
    }

    /// The field that is another in every item.
    #[must_use]
    pub fn id(mut self, path: &str) -> Self {
        self.id = Some(path.to_owned());
        self
    }

    #[must_use]
    pub fn field(mut self, path: &str, kind: Kind) -> Self {
        self.fields.push((path.to_owned(), kind, false, true));
        self
    }

    /// A field whose values are hardly ever the same twice: nothing is grouped by it.
    #[must_use]
    pub fn distinct(mut self, path: &str, kind: Kind) -> Self {
        self.fields.push((path.to_owned(), kind, false, false));
        self
    }

    /// An object in which any path may be named.
    #[must_use]
    pub fn open(mut self, path: &str) -> Self {
        self.fields.push((path.to_owned(), Kind::Object, true, true));
        self
    }

    /// Any path may be named, because nothing is known of the items.
    #[must_use]
    pub fn anything(mut self) -> Self {
        self.anything = true;
        self
    }

    /// The fields that these items have. None of them tells nothing, so then any path may be named.
    #[must_use]
    pub fn observed(mut self, items: &[Value]) -> Self {
        let (observed, others) = observe::fields(items);
        self.anything |= others || observed.is_empty();
        self.observed = observed;
        self
    }

    #[must_use]
    pub fn computed(mut self, field: Computed) -> Self {
        self.computed.push(field);
        self
    }

    /// A top-level key that items bring along for a computed field only; it is never answered.
    #[must_use]
    pub fn carried(mut self, key: &str) -> Self {
        self.carried.push(key.to_owned());
        self
    }

    /// The order when nobody says one; without this it is by id. May be given several times.
    #[must_use]
    pub fn default_sort(mut self, path: &str, order: sort::Order) -> Self {
        self.default_sort.push((path.to_owned(), order));
        self
    }

    /// A way of paging; without this it is by cursor.
    #[must_use]
    pub fn paged_by(mut self, style: Style) -> Self {
        if !self.styles.contains(&style) {
            self.styles.push(style);
        }
        self
    }

    /// Leaves a control out, because the operation has a parameter of its own by this name.
    #[must_use]
    pub fn without(mut self, control: &str) -> Self {
        self.withheld.push(control.to_owned());
        self
    }

    /// Checks and freezes the collection.
    pub fn build(mut self) -> Result<Collection, Error> {
        let mut faults = Vec::new();
        let identity = self.identity(&mut faults);
        let fields = self.freeze_fields(&mut faults);
        self.check_computed(&mut faults);
        for control in &self.withheld {
            if !CONTROLS.contains(&control.as_str()) {
                faults.push(format!("'{control}' is no control that can be left out"));
            }
        }
        if self.styles.is_empty() {
            self.styles.push(Style::Cursor);
        }
        let mut collection = Frozen {
            name: self.name.clone(),
            identity,
            fields,
            anything: self.anything,
            computed: self.computed.into_iter().map(Arc::new).collect(),
            carried: self.carried,
            default_sort: Vec::new(),
            styles: self.styles,
            withheld: self.withheld,
        };
        for (path, order) in self.default_sort {
            // The id may decide a direction of its own, even one that nobody can name in a query.
            let target = match collection.identity_target(&path) {
                Some(target) => Ok(target),
                None => collection.target(&path, Use::Sort).map(|(target, _)| target),
            };
            match target {
                Ok(target) => collection.default_sort.push(sort::Key { target, order }),
                Err(_) => faults.push(format!("the default sort names '{path}', which cannot be sorted by")),
            }
        }
        if faults.is_empty() {
            Ok(Collection(Arc::new(collection)))
        } else {
            Err(Error { name: self.name, faults })
        }
    }

    fn identity(&self, faults: &mut Vec<String>) -> Identity {
        match &self.id {
            None => Identity::Position,
            Some(text) => match Path::parse(text) {
                Some(path) => Identity::Field(path),
                None => {
                    faults.push(format!("the id '{text}' is no path"));
                    Identity::Position
                }
            },
        }
    }

    fn freeze_fields(&mut self, faults: &mut Vec<String>) -> Vec<Field> {
        let mut fields: Vec<Field> = std::mem::take(&mut self.observed);
        for (text, kind, open, groupable) in &self.fields {
            let Some(path) = Path::parse(text).filter(|path| path.steps().len() <= PATH_STEPS_MAX) else {
                faults.push(format!("the field '{text}' is no path"));
                continue;
            };
            if ["and", "or", "not"].contains(&text.as_str()) || text.starts_with(compute::PREFIX) {
                faults.push(format!("the field '{text}' has a name with a meaning of its own"));
            }
            if fields.iter().any(|known| known.path == path) {
                faults.push(format!("the field '{text}' is declared twice"));
            }
            fields.push(Field { path, kind: *kind, open: *open, groupable: *groupable });
        }
        fields
    }

    fn check_computed(&self, faults: &mut Vec<String>) {
        for (index, field) in self.computed.iter().enumerate() {
            let name = field.name();
            if name.parse::<ParamName>().is_err() {
                faults.push(format!("the computed field '{name}' is not in snake_case"));
            }
            if self.computed.iter().take(index).any(|other| other.name() == name) {
                faults.push(format!("the computed field '{name}' is declared twice"));
            }
            if field.is_sortable() && !field.kind().is_scalar() {
                faults.push(format!("the computed field '{name}' has no order to sort by"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_all_reported_when_built() {
        let error = Collection::builder("x")
            .id("a..b")
            .field("a", Kind::Text)
            .field("a", Kind::Number)
            .field("or", Kind::Text)
            .field("", Kind::Text)
            .computed(Computed::new("Age", Kind::Number, "", |_, _| Value::Null))
            .computed(Computed::new("n", Kind::Object, "", |_, _| Value::Null).sortable())
            .computed(Computed::new("n", Kind::Number, "", |_, _| Value::Null))
            .default_sort("b", sort::Order::Asc)
            .without("first")
            .build()
            .unwrap_err();
        assert_eq!(error.faults.len(), 9, "{error}");
        assert!(error.to_string().starts_with("collection 'x': the id 'a..b' is no path; "), "{error}");
    }
}
