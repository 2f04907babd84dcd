//! From documents to an index.

use std::collections::{HashMap, HashSet};

use super::{Document, Entry, Index, Posting, Postings, Stem, meaning, words};

/// What a word counts for by where it stands, and how much a long text makes it count for less. Coarse on purpose:
/// results hardly move when a weight is halved or doubled.
const FIELDS: [Field; 7] = [NAME, TITLE, FIRST_SENTENCE, DESCRIPTION, PARAM_NAME, PARAM_DESCRIPTION, SERVER];
const NAME: Field = Field { weight: 3.0, length_share: 0.3 };
const TITLE: Field = Field { weight: 1.0, length_share: 0.3 };
const FIRST_SENTENCE: Field = Field { weight: 1.5, length_share: 0.7 };
const DESCRIPTION: Field = Field { weight: 0.5, length_share: 0.6 };
const PARAM_NAME: Field = Field { weight: 0.4, length_share: 0.7 };
const PARAM_DESCRIPTION: Field = Field { weight: 0.3, length_share: 0.5 };
const SERVER: Field = Field { weight: 1.0, length_share: 0.0 };

struct Field {
    weight: f32,
    length_share: f32,
}

/// How well a word stands for another of its group. For verbs there is the deed as well.
const NOUN_LIKENESS: f32 = 0.5;
const VERB_LIKENESS: f32 = 0.2;

/// Verbs say what is done with a thing; however rare, one must not outweigh the thing.
const VERB_RARITY_MAX: f32 = 2.5;

/// A sentence shorter than this is an abbreviation with a full stop.
const SENTENCE_BYTES_MIN: usize = 12;

/// The stems of a document, field by field.
type Texts = [Vec<Stem>; FIELDS.len()];

impl Index {
    #[must_use]
    pub fn new(documents: &[Document<'_>]) -> Self {
        let mut index = Self::default();
        let mut known = HashMap::new();
        let mut servers: HashMap<&str, usize> = HashMap::new();
        let texts: Vec<Texts> = documents.iter().map(|document| index.read(document, &mut known)).collect();
        index.post(&texts);
        index.group();
        index.weigh();
        for (document, [name, ..]) in documents.iter().zip(&texts) {
            let mut parts = Vec::new();
            words::split(document.name, |word| parts.push(word.to_owned()));
            let next = servers.len();
            index.names.entry(document.name.to_lowercase()).or_default().push(index.entries.len() as u32);
            index.entries.push(Entry {
                name_rarity: distinct(name).map(|stem| index.rarity(stem)).sum(),
                deed: meaning::deed_of_name(&parts),
                gives_many: meaning::gives_many(&parts),
                server: *servers.entry(document.server).or_insert(next),
            });
        }
        index.servers = servers.len();
        index.sorted = index.stems.keys().cloned().collect();
        index.sorted.sort_unstable();
        index
    }

    /// Reads a document's words. Each distinct word is stemmed once.
    fn read(&mut self, document: &Document<'_>, known: &mut HashMap<String, Stem>) -> Texts {
        let (first, rest) = document.description.split_at(first_sentence(document.description));
        let mut stems = |texts: &mut dyn Iterator<Item = &str>| {
            let mut stems = Vec::new();
            for text in texts {
                words::split(text, |word| {
                    if words::is_filler(word) {
                        return;
                    }
                    let stem = known.get(word).copied().unwrap_or_else(|| {
                        let stem = self.intern(words::stem(word));
                        known.insert(word.to_owned(), stem);
                        stem
                    });
                    stems.push(stem);
                });
            }
            stems
        };
        let mut one = |text| stems(&mut std::iter::once(text));
        let (name, title, server) = (one(document.name), one(document.title), one(document.server));
        let (first, rest) = (one(first), one(rest));
        let param_names = stems(&mut document.params.iter().map(|(name, _)| *name));
        let param_texts = stems(&mut document.params.iter().map(|(_, text)| *text));
        [name, title, first, rest, param_names, param_texts, server]
    }

    fn intern(&mut self, stem: String) -> Stem {
        let next = self.postings.len() as Stem;
        let found = *self.stems.entry(stem).or_insert(next);
        if found == next {
            self.postings.push(Postings::default());
        }
        found
    }

    fn post(&mut self, texts: &[Texts]) {
        let mut lengths = [0.0; FIELDS.len()];
        for text in texts {
            lengths.iter_mut().zip(text).for_each(|(sum, stems)| *sum += stems.len() as f32);
        }
        let averages = lengths.map(|sum| (sum / texts.len().max(1) as f32).max(1.0));
        for (document, text) in (0..).zip(texts) {
            let mut weights: HashMap<Stem, f32> = HashMap::new();
            for ((stems, field), average) in text.iter().zip(&FIELDS).zip(&averages) {
                let length = 1.0 - field.length_share + field.length_share * stems.len() as f32 / average;
                stems.iter().for_each(|stem| *weights.entry(*stem).or_default() += field.weight / length);
            }
            let [name, title, first, rest, ..] = text;
            for (stem, weight) in weights {
                if let Some(postings) = self.postings.get_mut(stem as usize) {
                    postings.documents.push(Posting { document, weight, in_name: name.contains(&stem) });
                }
            }
            let mut seen = HashSet::new();
            for pair in [name, title, first, rest].into_iter().flat_map(|stems| stems.windows(2)) {
                if let [a, b] = pair
                    && seen.insert((*a, *b))
                {
                    self.pairs.push((*a, *b, document));
                }
            }
        }
        self.pairs.sort_unstable();
        self.pairs.shrink_to_fit();
        self.postings.iter_mut().for_each(|postings| postings.documents.shrink_to_fit());
    }

    fn group(&mut self) {
        for (verbs, group) in meaning::groups() {
            let likeness = if verbs { VERB_LIKENESS } else { NOUN_LIKENESS };
            let stems: Vec<Stem> = group.iter().map(|word| self.intern(words::stem(word))).collect();
            for stem in &stems {
                let others = stems.iter().filter(|other| *other != stem).map(|other| (*other, likeness));
                self.alike.entry(*stem).or_default().extend(others);
            }
        }
    }

    fn weigh(&mut self) {
        let total = self.postings.iter().flat_map(|postings| postings.documents.last());
        let total = total.map(|posting| posting.document + 1).max().unwrap_or_default() as f32;
        for postings in &mut self.postings {
            let count = postings.documents.len() as f32;
            postings.rarity = (1.0 + (total - count + 0.5) / (count + 0.5)).ln();
        }
        for (verbs, group) in meaning::groups() {
            for word in group.iter().filter(|_| verbs) {
                let stem =
                    self.stem(&words::stem(word)).and_then(|stem| self.postings.get_mut(stem as usize));
                if let Some(postings) = stem {
                    postings.rarity = postings.rarity.min(VERB_RARITY_MAX);
                }
            }
        }
    }
}

fn distinct(stems: &[Stem]) -> impl Iterator<Item = Stem> {
    let mut stems = stems.to_vec();
    stems.sort_unstable();
    stems.dedup();
    stems.into_iter()
}

/// Where the first sentence ends. It says what an operation does; the rest, how.
fn first_sentence(text: &str) -> usize {
    let mut before = ' ';
    for (place, now) in text.char_indices() {
        let ended = now.is_whitespace() && ".!?:".contains(before) && place > SENTENCE_BYTES_MIN;
        if ended || (now == '\n' && place > 0) {
            return place;
        }
        before = now;
    }
    text.len()
}
