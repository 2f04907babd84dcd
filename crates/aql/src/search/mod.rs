//! Finding operations by free text, without a model: every word of a question is looked up in an index that is made
//! once, and what its verb and its number say is weighed against the names.
//!
//! Ranking depends on nothing but the documents and the text, any text is a safe question, and no word of any server
//! stands in the tables: they hold plain English only.

mod build;
mod meaning;
mod question;
mod rank;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashMap;

use serde_json::Value;

use self::meaning::Deed;
use crate::{listed::ListedTool, operation::Operation};

/// What can be found: one operation or tool, as it describes itself.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    /// Names and descriptions of its parameters.
    pub params: Vec<(&'a str, &'a str)>,
    pub server: &'a str,
}

impl<'a> From<&'a Operation> for Document<'a> {
    fn from(operation: &'a Operation) -> Self {
        Self {
            name: operation.name().as_str(),
            title: "",
            description: operation.description(),
            params: operation
                .params()
                .iter()
                .map(|param| (param.name(), param.description.as_str()))
                .collect(),
            server: operation.server().unwrap_or_default(),
        }
    }
}

impl<'a> From<&'a ListedTool> for Document<'a> {
    fn from(tool: &'a ListedTool) -> Self {
        let text = |schema: &'a Value| schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let properties = tool.input_schema.get("properties").and_then(Value::as_object);
        Self {
            name: &tool.name,
            title: tool.title.as_deref().or(tool.annotations.title.as_deref()).unwrap_or_default(),
            description: &tool.description,
            params: properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.as_str(), text(schema)))
                .collect(),
            server: tool.server.as_deref().unwrap_or_default(),
        }
    }
}

/// An index over documents. It never changes.
#[derive(Debug, Default)]
pub struct Index {
    /// Stems by their text; a [`Stem`] is its place in `postings`.
    stems: HashMap<String, Stem>,
    /// All stems in their order, for words that are only begun or mistyped.
    sorted: Vec<String>,
    /// For each stem, how rare it is and the documents that have it.
    postings: Vec<Postings>,
    /// For each stem, those that may stand for it, and how well.
    alike: HashMap<Stem, Vec<(Stem, f32)>>,
    /// Two stems and a document that has them side by side in its name or description, in their order.
    pairs: Vec<(Stem, Stem, u32)>,
    entries: Vec<Entry>,
    /// The documents with a name, in lower case.
    names: HashMap<String, Vec<u32>>,
    servers: usize,
}

type Stem = u32;

/// What was meant by a wrong name is among the first, or it was not meant.
const MEANT_AMONG: usize = 5;
/// What is close to a wrong name is among these.
const NEAR_AMONG: usize = 50;

#[derive(Debug, Default)]
struct Postings {
    rarity: f32,
    documents: Vec<Posting>,
}

/// That a document has a stem.
#[derive(Debug)]
struct Posting {
    document: u32,
    /// How much it is about it: BM25F's weighted frequency, already normalised by length.
    weight: f32,
    in_name: bool,
}

/// What ranking has to know of a document beside its words.
#[derive(Debug)]
struct Entry {
    /// The rarity of all words of its name together.
    name_rarity: f32,
    deed: Option<Deed>,
    gives_many: bool,
    server: usize,
}

impl Index {
    /// The places of the documents that fit the text, best first; equal ones in the order they were given in.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<usize> {
        rank::rank(self, &question::Question::read(self, text))
    }

    /// The document that was probably meant by a name that none has: it does the same, with other words for it, to
    /// exactly the things that the name speaks of.
    #[must_use]
    pub fn meant_by(&self, name: &str) -> Option<usize> {
        let question = question::Question::read(self, name);
        if question.missed || question.things().next().is_none() {
            return None;
        }
        rank::rank(self, &question).into_iter().take(MEANT_AMONG).find(|place| {
            self.deed(*place) == question.deed && question.things().all(|thing| self.names(*place, thing))
        })
    }

    /// The documents whose names are closest in meaning to a name that none has: as many as possible of the things that
    /// it speaks of, half of them at the least, and those first that do the same with them.
    #[must_use]
    pub fn near(&self, name: &str) -> Vec<usize> {
        let question = question::Question::read(self, name);
        let things = question.things().count();
        let named = |place: usize| question.things().filter(|thing| self.names(place, thing)).count();
        let ranked: Vec<(usize, usize)> = rank::rank(self, &question)
            .into_iter()
            .take(NEAR_AMONG)
            .map(|place| (place, named(place)))
            .collect();
        let most = ranked.iter().map(|(_, named)| *named).max().unwrap_or_default();
        if most == 0 || most * 2 < things {
            return Vec::new();
        }
        let mut near: Vec<usize> =
            ranked.into_iter().filter(|(_, named)| *named == most).map(|(place, _)| place).collect();
        // The sort is stable, so the ranking still decides among those that do the same.
        near.sort_by_key(|place| self.deed(*place) != question.deed);
        near
    }

    fn deed(&self, place: usize) -> Option<Deed> {
        self.entries.get(place).and_then(|entry| entry.deed)
    }

    /// Whether a document's name has this word, or one that stands for it.
    fn names(&self, place: usize, wanted: &question::Wanted) -> bool {
        let in_name = |posting: &Posting| posting.in_name && posting.document as usize == place;
        wanted.stems.iter().any(|(stem, _)| self.postings(*stem).iter().any(in_name))
    }

    fn stem(&self, text: &str) -> Option<Stem> {
        self.stems.get(text).copied()
    }

    fn postings(&self, stem: Stem) -> &[Posting] {
        self.postings.get(stem as usize).map_or(&[], |postings| &postings.documents)
    }

    /// The documents that have two stems side by side.
    fn with_pair(&self, pair: (Stem, Stem)) -> impl Iterator<Item = u32> {
        let start = self.pairs.partition_point(|(a, b, _)| (*a, *b) < pair);
        let from_start = self.pairs.get(start..).unwrap_or_default().iter();
        from_start.take_while(move |(a, b, _)| (*a, *b) == pair).map(|(_, _, document)| *document)
    }

    fn rarity(&self, stem: Stem) -> f32 {
        self.postings.get(stem as usize).map_or(0.0, |postings| postings.rarity)
    }

    fn is_used(&self, stem: Stem) -> bool {
        !self.postings(stem).is_empty()
    }
}
