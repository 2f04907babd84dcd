//! What is said of one value, brought together, and how two such statements join.
//!
//! Joining never makes a rule stricter than what was said: where two alternatives cannot be told in one rule, the rule
//! goes and a [`Loss`] stays.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{kinds::Kinds, loss::Loss, place::Said};
use crate::validate::is_same;

/// Whether an object may have fields beyond those that are named. Where two statements hold together, the later wins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Openness {
    /// No field was named at all.
    #[default]
    Unsaid,
    /// One alternative names fields, another none.
    Either,
    /// Fields are named. JSON Schema would still take others, but a typing error must not pass for an omission.
    Closed,
    /// Other fields are welcome by name.
    Open,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    pub(crate) fields: BTreeMap<&'a str, Said<'a>>,
    pub(crate) required: BTreeSet<&'a str>,
    pub(crate) open: Openness,
    /// Whether the schema itself takes no other fields, which is more than not to name them.
    pub(crate) sealed: bool,
    /// The places that it was read from.
    pub(crate) places: BTreeSet<usize>,
}

/// What is said of one value.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    pub(crate) kinds: Kinds,
    /// The values to choose from, null apart.
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) pattern: Option<&'a str>,
    pub(crate) format: Option<&'a str>,
    pub(crate) object: Object<'a>,
    pub(crate) items: Option<Said<'a>>,
    pub(crate) description: Option<String>,
    pub(crate) title: Option<&'a str>,
    pub(crate) default: Option<&'a Value>,
    pub(crate) deprecated: bool,
    /// The definition that it refers to: its name and what is said there.
    pub(crate) definition: Option<(&'a str, &'a str)>,
    /// What only words can tell of the rules.
    pub(crate) notes: Vec<String>,
    pub(crate) losses: Vec<Loss>,
}

impl<'a> Node<'a> {
    pub(crate) fn anything() -> Self {
        Self {
            kinds: Kinds::ALL,
            allowed: None,
            minimum: None,
            maximum: None,
            min_length: None,
            max_length: None,
            pattern: None,
            format: None,
            object: Object::default(),
            items: None,
            description: None,
            title: None,
            default: None,
            deprecated: false,
            definition: None,
            notes: Vec::new(),
            losses: Vec::new(),
        }
    }

    pub(crate) fn losing(mut self, loss: Loss) -> Self {
        self.lose(loss);
        self
    }

    pub(crate) fn lose(&mut self, loss: Loss) {
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// Both hold. Words of the first come first.
    pub(crate) fn and(mut self, other: Self) -> Self {
        let kinds = self.kinds.and(other.kinds);
        if kinds == Kinds::NONE {
            self.lose(Loss::Contradiction);
            self.kinds = Kinds::ALL;
        } else {
            self.kinds = kinds;
        }
        self.allowed = match (self.allowed.take(), other.allowed) {
            (Some(mine), Some(yours)) => {
                let both: Vec<Value> =
                    mine.into_iter().filter(|value| yours.iter().any(|one| is_same(one, value))).collect();
                if both.is_empty() {
                    self.lose(Loss::Contradiction);
                }
                Some(both).filter(|both| !both.is_empty())
            }
            (mine, yours) => mine.or(yours),
        };
        self.minimum = stricter(self.minimum, other.minimum, f64::max);
        self.maximum = stricter(self.maximum, other.maximum, f64::min);
        self.min_length = stricter(self.min_length, other.min_length, usize::max);
        self.max_length = stricter(self.max_length, other.max_length, usize::min);
        for (mine, yours) in [(self.pattern, other.pattern), (self.format, other.format)] {
            if let (Some(mine), Some(yours)) = (mine, yours)
                && mine != yours
            {
                self.lose(Loss::Pattern(yours.to_owned()));
            }
        }
        self.pattern = self.pattern.or(other.pattern);
        self.format = self.format.or(other.format);
        self.object = self.object.and(other.object);
        self.items = match (self.items.take(), other.items) {
            (Some(mine), Some(yours)) => Some(mine.and(yours)),
            (mine, yours) => mine.or(yours),
        };
        self.description = self.description.or(other.description);
        self.title = self.title.or(other.title);
        self.default = self.default.or(other.default);
        self.deprecated |= other.deprecated;
        self.definition = self.definition.or(other.definition);
        self.gather(other.notes, other.losses);
        self
    }

    /// One of the two holds.
    pub(crate) fn or(mut self, mut other: Self) -> Self {
        if other.kinds == Kinds::NULL {
            std::mem::swap(&mut self, &mut other);
        }
        if self.kinds == Kinds::NULL {
            other.kinds = other.kinds.or(Kinds::NULL);
            other.gather(self.notes, self.losses);
            return other;
        }
        let (mine, yours) = (self.kinds, other.kinds);
        let mut merged = false;
        self.allowed = match (self.allowed.take(), other.allowed.take()) {
            (Some(mut mine), Some(yours)) => {
                mine.extend(yours);
                mine.dedup();
                Some(mine)
            }
            (None, None) => None,
            _ => {
                merged = true;
                None
            }
        };
        let numbers = side(Kinds::NUMBER, mine, yours);
        self.minimum = numbers.choose(self.minimum, other.minimum, &mut merged, f64::min);
        self.maximum = numbers.choose(self.maximum, other.maximum, &mut merged, f64::max);
        let texts = side(Kinds::STRING, mine, yours);
        self.min_length = texts.choose(self.min_length, other.min_length, &mut merged, usize::min);
        self.max_length = texts.choose(self.max_length, other.max_length, &mut merged, usize::max);
        self.pattern = texts.same(self.pattern, other.pattern, &mut merged);
        self.format = texts.same(self.format, other.format, &mut merged);
        self.object = match side(Kinds::OBJECT, mine, yours) {
            Side::Mine => self.object,
            Side::Yours => other.object,
            Side::Both => self.object.or(other.object, &mut merged),
        };
        self.items = match (side(Kinds::ARRAY, mine, yours), self.items.take(), other.items.take()) {
            (Side::Mine, mine, _) => mine,
            (Side::Yours, _, yours) => yours,
            (Side::Both, Some(mine), Some(yours)) => Some(mine.or(yours)),
            (Side::Both, mine, yours) => {
                merged |= mine.is_some() || yours.is_some();
                None
            }
        };
        self.description = match (self.description.take(), other.description.take()) {
            (Some(mine), Some(yours)) if mine != yours => Some(format!("{mine}; or {yours}")),
            (mine, yours) => mine.or(yours),
        };
        self.title = self.title.filter(|title| other.title == Some(title));
        self.default = self.default.filter(|default| other.default == Some(default));
        self.deprecated &= other.deprecated;
        self.definition = self.definition.filter(|definition| other.definition.as_ref() == Some(definition));
        self.kinds = mine.or(yours);
        self.gather(other.notes, other.losses);
        if merged {
            self.lose(Loss::Variants);
        }
        self
    }

    fn gather(&mut self, notes: Vec<String>, losses: Vec<Loss>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        for loss in losses {
            self.lose(loss);
        }
    }
}

impl Object<'_> {
    /// Tells it from objects that were read from other places, or from the same ones joined otherwise.
    pub(crate) fn signature(&self) -> String {
        let mut text = String::new();
        for (name, said) in &self.fields {
            let must = if self.required.contains(name) { '!' } else { '?' };
            text.push_str(&format!("{name:?}{must}"));
            said.sign(&mut text);
        }
        text.push_str(&format!("{:?}", self.required));
        text
    }

    fn and(mut self, other: Self) -> Self {
        for (name, said) in other.fields {
            let known = self.fields.remove(name).unwrap_or(Said::Nothing);
            self.fields.insert(name, known.and(said));
        }
        self.required.extend(other.required);
        self.open = self.open.max(other.open);
        self.sealed |= other.sealed;
        self.places.extend(other.places);
        self
    }

    fn or(mut self, other: Self, merged: &mut bool) -> Self {
        *merged |= self.places != other.places || self.required != other.required;
        // Where the other alternative takes any field, what this one says of its own is not all there is.
        if !other.sealed {
            let others = self.fields.iter_mut().filter(|(name, _)| !other.fields.contains_key(*name));
            others.for_each(|(_, said)| *said = Said::Nothing);
        }
        for (name, said) in other.fields {
            let said = match self.fields.remove(name) {
                Some(known) => known.or(said),
                None if self.sealed => said,
                None => Said::Nothing,
            };
            self.fields.insert(name, said);
        }
        self.required.retain(|name| other.required.contains(name));
        self.sealed &= other.sealed;
        self.open = match (self.open, other.open) {
            (mine, yours) if mine == yours => mine,
            (Openness::Open, _) | (_, Openness::Open) => Openness::Open,
            _ => Openness::Either,
        };
        self.places.extend(other.places);
        self
    }
}

fn stricter<T>(mine: Option<T>, yours: Option<T>, pick: fn(T, T) -> T) -> Option<T> {
    match (mine, yours) {
        (Some(mine), Some(yours)) => Some(pick(mine, yours)),
        (mine, yours) => mine.or(yours),
    }
}

/// Which of two alternatives speaks of values of a type.
#[derive(Clone, Copy)]
enum Side {
    Mine,
    Yours,
    Both,
}

fn side(kinds: Kinds, mine: Kinds, yours: Kinds) -> Side {
    match (mine.meets(kinds), yours.meets(kinds)) {
        (true, true) => Side::Both,
        (false, true) => Side::Yours,
        _ => Side::Mine,
    }
}

impl Side {
    fn choose<T>(
        self,
        mine: Option<T>,
        yours: Option<T>,
        merged: &mut bool,
        pick: fn(T, T) -> T,
    ) -> Option<T> {
        match (self, mine, yours) {
            (Self::Mine, mine, _) => mine,
            (Self::Yours, _, yours) => yours,
            (Self::Both, Some(mine), Some(yours)) => Some(pick(mine, yours)),
            (Self::Both, None, None) => None,
            (Self::Both, ..) => {
                *merged = true;
                None
            }
        }
    }

    fn same<'a>(self, mine: Option<&'a str>, yours: Option<&'a str>, merged: &mut bool) -> Option<&'a str> {
        match self {
            Self::Mine => mine,
            Self::Yours => yours,
            Self::Both if mine == yours => mine,
            Self::Both => {
                *merged = true;
                None
            }
        }
    }
}
