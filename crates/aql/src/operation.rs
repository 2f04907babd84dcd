//! Operations, frozen: what the registry holds and every part of a call's way looks at.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    category::Category,
    danger::Danger,
    define::{Deprecation, Example, Queried, Relationships},
    execution::Lifecycle,
    fields::Selection,
    name::OperationName,
    param::Param,
    shared,
    trust::TrustLevel,
};

/// Where an operation stands in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperationId(pub(crate) usize);

impl OperationId {
    /// A position, for tables kept beside the registry.
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

/// A frozen operation.
#[derive(Debug, Clone)]
pub struct Operation {
    pub(crate) name: OperationName,
    pub(crate) category: Category,
    /// Index into the profile's families.
    pub(crate) family: usize,
    pub(crate) description: String,
    /// What many operations take alike is there once.
    pub(crate) params: Vec<Arc<Param>>,
    /// So many of `params`, the first ones, are its author's; the others are what all such operations take.
    pub(crate) own: usize,
    pub(crate) returns: Returns,
    pub(crate) examples: Vec<Example>,
    pub(crate) danger: Danger,
    /// Whether its author spoke of danger at all, or the level is the category's.
    pub(crate) danger_declared: bool,
    pub(crate) deprecated: Option<Deprecation>,
    pub(crate) selection: Option<Selection>,
    pub(crate) queried: Option<Queried>,
    pub(crate) relationships: Option<Relationships>,
    pub(crate) lifecycle: Option<Arc<Lifecycle>>,
    pub(crate) server: Option<String>,
    /// How many bytes of its name are its server's.
    pub(crate) prefix: usize,
    pub(crate) trust: TrustLevel,
    pub(crate) signature: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Returns {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) description: String,
}

impl Operation {
    #[must_use]
    pub fn name(&self) -> &OperationName {
        &self.name
    }

    #[must_use]
    pub fn category(&self) -> Category {
        self.category
    }

    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    #[must_use]
    pub fn danger(&self) -> &Danger {
        &self.danger
    }

    #[must_use]
    pub fn deprecated(&self) -> Option<&Deprecation> {
        self.deprecated.as_ref()
    }

    #[must_use]
    pub fn params(&self) -> &[Arc<Param>] {
        &self.params
    }

    /// The parameters that its author gave it.
    #[must_use]
    pub fn own_params(&self) -> &[Arc<Param>] {
        self.params.get(..self.own).unwrap_or(&self.params)
    }

    /// The parameters that it has because of what it is, as all operations of its kind have them.
    #[must_use]
    pub fn added_params(&self) -> &[Arc<Param>] {
        self.params.get(self.own..).unwrap_or_default()
    }

    /// Whether another server does the work and nothing is known of its result, on which the query language works all the
    /// same. Such operations come by the hundred, and what they all take need not be told with each.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.server.is_some()
            && matches!(&self.queried, Some(Queried::Returned(collection)) if collection.is_of_anything())
    }

    #[must_use]
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    #[must_use]
    pub fn queried(&self) -> Option<&Queried> {
        self.queried.as_ref()
    }

    #[must_use]
    pub fn relationships(&self) -> Option<&Relationships> {
        self.relationships.as_ref()
    }

    /// The states of the executions that a call starts, if it starts one.
    #[must_use]
    pub fn lifecycle(&self) -> Option<&Arc<Lifecycle>> {
        self.lifecycle.as_ref()
    }

    /// Whether a parameter of this name is a control of the query language here.
    #[must_use]
    pub fn is_control(&self, name: &str) -> bool {
        self.queried.as_ref().is_some_and(|queried| match queried {
            Queried::Stored(collection) | Queried::Returned(collection) => collection.offers(name),
            Queried::Item(_) => false,
        })
    }

    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// The name without what its server put before it.
    #[must_use]
    pub fn bare_name(&self) -> &str {
        let name = self.name.as_str();
        name.get(self.prefix..).filter(|bare| !bare.is_empty()).unwrap_or(name)
    }

    /// How far whoever does the work is trusted.
    #[must_use]
    pub fn trust(&self) -> TrustLevel {
        self.trust
    }

    /// Whether a call can only ask what would happen.
    #[must_use]
    pub fn has_dry_run(&self) -> bool {
        self.server.is_none() && self.category.is_mutating()
    }

    /// `create_entity(entity_name: string, priority?: integer = 5)`: enough to write the call again correctly.
    #[must_use]
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// The request that an example shows.
    #[must_use]
    pub fn example_request(&self, example: &Example) -> Value {
        let mut request = Map::new();
        request.insert("operation".to_owned(), self.name.as_str().into());
        if !example.params.is_empty() {
            request.insert("params".to_owned(), Value::Object(example.params.clone()));
        }
        Value::Object(request)
    }

    /// Whether a call with these parameters only asks what would happen. It is decided as a READ, so another server's
    /// word for it does not count.
    #[must_use]
    pub fn is_dry_run(&self, params: &Map<String, Value>) -> bool {
        self.has_dry_run() && params.get(shared::DRY_RUN) == Some(&Value::Bool(true))
    }
}
