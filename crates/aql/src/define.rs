//! Operations, parameters and types as their author writes them, nothing checked yet.
//!
//! These are plain data, so that Rust code, a JSON Schema and a file can all produce them. The registry checks and
//! freezes them; only what it froze is ever called, introspected or routed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    category::Category,
    danger::{Danger, DangerLevel},
    execution::Lifecycle,
    query::{Collection, collection},
    trust::TrustLevel,
};

/// An operation to be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Operation {
    pub name: String,
    pub semantic_category: Option<String>,
    /// The endpoint family, where the profile's own placing is not wanted.
    pub endpoint: Option<String>,
    pub description: String,
    pub params: Vec<Param>,
    pub returns: Returns,
    pub examples: Vec<Example>,
    /// Serious consequences: no level below `dangerous` is believed.
    pub dangerous: bool,
    #[serde(skip)]
    pub danger: Option<Danger>,
    pub deprecated: Option<Deprecation>,
    /// Where the result's fields can be chosen with `fields`.
    pub selection: Option<Selection>,
    /// Where the query language works on the result.
    #[serde(skip)]
    pub queried: Option<Queried>,
    /// How far relations can be followed with it.
    #[serde(skip)]
    pub relationships: Option<Relationships>,
    /// The states of the executions that a call starts.
    #[serde(skip)]
    pub lifecycle: Option<Lifecycle>,
    /// What was found wrong while it was written.
    #[serde(skip)]
    pub faults: Vec<String>,
    /// Which server behind us does the work, if another one does.
    pub server: Option<String>,
    /// Whether it is one of the protocol's own, which alone may bear a reserved name.
    #[serde(skip)]
    pub of_the_protocol: OfTheProtocol,
    /// What its name begins with because of its server, and what rules see it without.
    #[serde(skip)]
    pub prefix: String,
    /// How far whoever does the work is trusted. Nothing is said of our own operations, which are certified.
    #[serde(skip)]
    pub trust: Option<TrustLevel>,
}

/// Whether an operation is the protocol's own. Only this crate can say that one is.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfTheProtocol(pub(crate) bool);

/// What the query language works on, and who runs the query.
#[derive(Debug, Clone)]
pub enum Queried {
    /// The handler does, as one with a store behind it can. It answers with the page.
    Stored(Collection),
    /// We do, over the list that the handler returned.
    Returned(Collection),
    /// The answer is one item, of which only computed fields can be asked.
    Item(Collection),
}

impl Queried {
    #[must_use]
    pub fn collection(&self) -> &Collection {
        match self {
            Self::Stored(collection) | Self::Returned(collection) | Self::Item(collection) => collection,
        }
    }
}

/// What an operation that follows relations can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relationships {
    pub types: Vec<String>,
    pub max_depth: usize,
}

/// What an operation answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Returns {
    /// A declared type, or one of JSON's own.
    #[serde(rename = "name")]
    pub type_name: String,
    pub description: String,
}

/// A request that works.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub description: String,
    #[serde(default)]
    pub params: serde_json::Map<String, Value>,
}

/// Notice that something still works but will go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Deprecation {
    pub replacement: Option<String>,
    /// An ISO 8601 date, UTC.
    pub removal_date: Option<String>,
}

/// Whether an operation answers with one thing or several, which decides what it shows unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answers {
    /// `data` is the resource; everything is shown.
    One,
    /// `data.items` are the resources; the standard fields are shown.
    Collection,
    /// `data.items` are search hits; the minimal fields are shown.
    Search,
}

/// The fields that `fields` can choose among.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    pub answers: Answers,
    pub minimal: Vec<String>,
    pub standard: Vec<String>,
    /// Every field there is. A field whose inner keys are free ends in `.*`.
    pub full: Vec<String>,
    #[serde(default)]
    pub presets: BTreeMap<String, Vec<String>>,
}

/// A parameter, or a field of an object type, to be.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Param {
    pub name: String,
    /// One of JSON's types, `integer`, a declared type, an array of one (`string[]`), or several joined by ` | `.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub required: bool,
    /// A required parameter that may be left out when this other one is given.
    pub unless: Option<String>,
    pub description: String,
    pub default: Option<Value>,
    #[serde(rename = "enum")]
    pub allowed: Vec<Value>,
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub min_length: Option<usize>,
    pub max_length: Option<usize>,
    pub pattern: Option<String>,
    pub format: Option<String>,
    pub items: Option<Box<Param>>,
    /// For an object: the declared type whose fields it holds, and no others.
    pub fields_of: Option<String>,
    /// For an object of a declared type: whether it may have other fields too.
    pub open: bool,
    pub sensitive: bool,
    /// Strings with U+0000 are refused unless this is set.
    pub nul_safe: bool,
    /// Other spellings that are accepted.
    pub aliases: Vec<String>,
    pub deprecated: Option<Deprecation>,
    /// Whether `null` is accepted; in an UPDATE's `input` it removes the field.
    pub nullable: bool,
}

/// A type of the adapter's own, written as introspection shows it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "WrittenType")]
pub struct Type {
    pub name: String,
    pub description: String,
    pub shape: Shape,
}

/// A type as written: the keys of every kind, of which only its own may be there. Flattening the shape instead would
/// make either every key unknown or none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenType {
    name: String,
    kind: String,
    #[serde(default)]
    description: String,
    values: Option<Vec<String>>,
    fields: Option<Vec<Param>>,
    members: Option<Vec<String>>,
}

impl TryFrom<WrittenType> for Type {
    type Error = String;

    fn try_from(written: WrittenType) -> Result<Self, String> {
        let WrittenType { name, kind, description, values, fields, members } = written;
        let shape = match (kind.as_str(), values, fields, members) {
            ("enum", Some(values), None, None) => Shape::Enum { values },
            ("object", None, Some(fields), None) => Shape::Object { fields },
            ("union", None, None, Some(members)) => Shape::Union { members },
            ("scalar", None, None, None) => Shape::Scalar,
            ("enum" | "object" | "union" | "scalar", ..) => {
                return Err(format!(
                    "type '{name}' has other keys than its kind '{kind}': an enum has 'values', an object 'fields', \
                     a union 'members', a scalar none of them"
                ));
            }
            _ => {
                return Err(format!(
                    "type '{name}' has the kind '{kind}', not enum, object, union or scalar"
                ));
            }
        };
        Ok(Self { name, description, shape })
    }
}

/// What a type is made of.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Shape {
    Enum { values: Vec<String> },
    Object { fields: Vec<Param> },
    Union { members: Vec<String> },
    Scalar,
}

impl Operation {
    #[must_use]
    pub fn new(category: Category, name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            semantic_category: Some(category.as_str().to_owned()),
            description: description.to_owned(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn param(mut self, param: Param) -> Self {
        self.params.push(param);
        self
    }

    #[must_use]
    pub fn returns(mut self, type_name: &str, description: &str) -> Self {
        self.returns = Returns { type_name: type_name.to_owned(), description: description.to_owned() };
        self
    }

    /// Adds an example; its parameters are given as a JSON object.
    #[must_use]
    pub fn example(mut self, description: &str, params: Value) -> Self {
        let params = match params {
            Value::Object(params) => params,
            _ => serde_json::Map::new(),
        };
        self.examples.push(Example { description: description.to_owned(), params });
        self
    }

    #[must_use]
    pub fn danger(mut self, level: DangerLevel, reasons: &[&str]) -> Self {
        let reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        self.danger = Some(Danger::said(level, reasons));
        self
    }

    /// What a person is asked before a call, parameters standing in braces.
    #[must_use]
    pub fn confirmation_message(mut self, message: &str) -> Self {
        match &mut self.danger {
            Some(danger) => danger.confirmation_message = Some(message.to_owned()),
            None => self.faults.push("a confirmation message needs a danger level before it".to_owned()),
        }
        self
    }

    #[must_use]
    pub fn deprecated(mut self, replacement: Option<&str>, removal_date: Option<&str>) -> Self {
        self.deprecated = Some(Deprecation {
            replacement: replacement.map(str::to_owned),
            removal_date: removal_date.map(str::to_owned),
        });
        self
    }

    #[must_use]
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// Offers the query language, with this on the other side of it.
    #[must_use]
    pub fn queried(mut self, queried: Queried) -> Self {
        self.queried = Some(queried);
        self
    }

    /// The same with a collection that may have faults of its own, which are told when the registry is built.
    #[must_use]
    pub fn queried_if(
        mut self,
        made: Result<Collection, collection::Error>,
        how: fn(Collection) -> Queried,
    ) -> Self {
        match made {
            Ok(collection) => self.queried = Some(how(collection)),
            Err(error) => self.faults.push(error.to_string()),
        }
        self
    }

    /// Offers the query language over whatever list the handler returns.
    #[must_use]
    pub fn queried_as_returned(self) -> Self {
        let collection = Collection::of_anything(&self.name);
        self.queried(Queried::Returned(collection))
    }

    /// Says that a call starts an execution, which goes on by itself.
    #[must_use]
    pub fn lifecycle(mut self, lifecycle: Lifecycle) -> Self {
        self.lifecycle = Some(lifecycle);
        self
    }

    #[must_use]
    pub fn relationships(mut self, relationships: Relationships) -> Self {
        self.relationships = Some(relationships);
        self
    }
}

impl Param {
    #[must_use]
    pub fn new(name: &str, kind: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: Some(kind.to_owned()),
            description: description.to_owned(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    #[must_use]
    pub fn allowed(mut self, values: &[&str]) -> Self {
        self.allowed = values.iter().map(|&value| Value::from(value)).collect();
        self
    }

    #[must_use]
    pub fn range(mut self, minimum: f64, maximum: f64) -> Self {
        (self.minimum, self.maximum) = (Some(minimum), Some(maximum));
        self
    }

    #[must_use]
    pub fn length(mut self, min: usize, max: usize) -> Self {
        self.min_length = (min > 0).then_some(min);
        self.max_length = Some(max);
        self
    }

    #[must_use]
    pub fn pattern(mut self, pattern: &str) -> Self {
        self.pattern = Some(pattern.to_owned());
        self
    }

    #[must_use]
    pub fn format(mut self, format: &str) -> Self {
        self.format = Some(format.to_owned());
        self
    }

    #[must_use]
    pub fn items(mut self, element: Self) -> Self {
        self.items = Some(Box::new(element));
        self
    }

    #[must_use]
    pub fn fields_of(mut self, type_name: &str) -> Self {
        self.fields_of = Some(type_name.to_owned());
        self
    }

    #[must_use]
    pub fn unless(mut self, other: &str) -> Self {
        self.unless = Some(other.to_owned());
        self
    }

    #[must_use]
    pub fn alias(mut self, spelling: &str) -> Self {
        self.aliases.push(spelling.to_owned());
        self
    }

    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }
}

impl Type {
    #[must_use]
    pub fn object(name: &str, description: &str, fields: Vec<Param>) -> Self {
        Self { name: name.to_owned(), description: description.to_owned(), shape: Shape::Object { fields } }
    }

    #[must_use]
    pub fn enumeration(name: &str, description: &str, values: &[&str]) -> Self {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        Self { name: name.to_owned(), description: description.to_owned(), shape: Shape::Enum { values } }
    }

    #[must_use]
    pub fn union(name: &str, description: &str, members: &[&str]) -> Self {
        let members = members.iter().map(|&member| member.to_owned()).collect();
        Self { name: name.to_owned(), description: description.to_owned(), shape: Shape::Union { members } }
    }
}
