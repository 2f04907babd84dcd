//! Free-text search over operations: an index made when the registry is published, ranked by BM25.

use std::collections::HashMap;

use crate::operation::Operation;

/// A word in an operation's name says more than one in its description, and that more than a parameter's name.
const NAME_WEIGHT: f64 = 4.0;
const DESCRIPTION_WEIGHT: f64 = 1.5;
const PARAM_WEIGHT: f64 = 0.5;

/// BM25's usual saturation and length normalisation.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.6;

#[derive(Debug, Default)]
pub(super) struct Index {
    /// For each word, the operations that have it and how strongly.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average_length: f64,
}

impl Index {
    pub(super) fn new(operations: &[&Operation]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (position, operation) in operations.iter().enumerate() {
            let mut weights: HashMap<String, f64> = HashMap::new();
            let mut add = |text: &str, weight: f64| {
                for word in words(text) {
                    *weights.entry(word).or_default() += weight;
                }
            };
            add(operation.name().as_str(), NAME_WEIGHT);
            add(operation.description(), DESCRIPTION_WEIGHT);
            operation.params().iter().for_each(|param| add(param.name(), PARAM_WEIGHT));
            lengths.push(weights.values().sum());
            for (word, weight) in weights {
                postings.entry(word).or_default().push((position, weight));
            }
        }
        let average_length = lengths.iter().sum::<f64>() / (lengths.len().max(1) as f64);
        Self { postings, lengths, average_length }
    }

    /// The positions of the operations that fit the text, best first; equal ones in the registry's order.
    pub(super) fn find(&self, text: &str) -> Vec<usize> {
        let total = self.lengths.len() as f64;
        let mut scores = vec![0.0; self.lengths.len()];
        for word in words(text) {
            let Some(postings) = self.postings.get(&word) else { continue };
            let count = postings.len() as f64;
            let rarity = (1.0 + (total - count + 0.5) / (count + 0.5)).ln();
            for (position, weight) in postings {
                let length = self.lengths.get(*position).copied().unwrap_or_default() / self.average_length;
                let bound = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length);
                if let Some(score) = scores.get_mut(*position) {
                    *score += rarity * weight * (SATURATION + 1.0) / (weight + bound);
                }
            }
        }
        let mut ranked: Vec<(usize, f64)> =
            scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().map(|(position, _)| position).collect()
    }
}

/// Lower-case words, split at everything that is no letter or digit, plurals taken off.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| stem(&word.to_lowercase()))
}

fn stem(word: &str) -> String {
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 2) {
        return format!("{base}y");
    }
    match word.strip_suffix('s').filter(|base| base.len() > 2 && !base.ends_with('s')) {
        Some(base) => base.to_owned(),
        None => word.to_owned(),
    }
}
