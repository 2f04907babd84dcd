//! From what is looked for to an order.

use super::{Entry, Index, question::Question};

/// BM25's saturation: how soon more of the same word counts for nothing.
const SATURATION: f32 = 1.2;
/// What two words side by side, as in the question, count for beside each of them.
const PAIR_SHARE: f32 = 0.3;
/// What a name whose every word was asked for gains over one of which none was.
const NAME_SHARE: f32 = 0.5;
/// What doing the thing asked for gains and doing another loses.
const SAME_DEED: f32 = 1.1;
const OTHER_DEED: f32 = 0.8;
/// What a read gains that gives one or many, as was asked for.
const SAME_NUMBER: f32 = 1.1;
/// What the tools of the server gain whose tools fit best altogether.
const SERVER_SHARE: f32 = 0.4;
/// So many of a server's tools tell how well it fits.
const SERVER_TOOLS: usize = 3;
/// What being asked for by name gains.
const NAMED: f32 = 2.0;

#[derive(Clone, Default)]
struct Score {
    sum: f32,
    /// The rarity of the words of its name that were asked for.
    name: f32,
    /// How well the word at hand is met, in the document and in its name.
    met: f32,
    met_in_name: f32,
}

pub(super) fn rank(index: &Index, question: &Question) -> Vec<usize> {
    let mut scores = score(index, question);
    for named in &question.named {
        if let Some(score) = scores.get_mut(*named as usize) {
            score.sum = (score.sum * NAMED).max(f32::MIN_POSITIVE);
        }
    }
    let mut ranked: Vec<(usize, f32)> = scores
        .into_iter()
        .enumerate()
        .filter(|(_, score)| score.sum > 0.0)
        .filter_map(|(place, score)| Some((place, fitted(&score, index.entries.get(place)?, question))))
        .collect();
    favour_servers(index, &mut ranked);
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.into_iter().map(|(place, _)| place).collect()
}

fn score(index: &Index, question: &Question) -> Vec<Score> {
    let mut scores = vec![Score::default(); index.entries.len()];
    let mut touched: Vec<u32> = Vec::new();
    for wanted in &question.wanted {
        for (stem, likeness) in &wanted.stems {
            let rarity = index.rarity(*stem);
            for posting in index.postings(*stem) {
                let Some(score) = scores.get_mut(posting.document as usize) else { continue };
                if score.met == 0.0 {
                    touched.push(posting.document);
                }
                score.met = score.met.max(posting.weight * likeness);
                if posting.in_name {
                    score.met_in_name = score.met_in_name.max(rarity * likeness);
                }
            }
        }
        for document in touched.drain(..) {
            let Some(score) = scores.get_mut(document as usize) else { continue };
            let met = std::mem::take(&mut score.met);
            score.sum += wanted.rarity * met * (SATURATION + 1.0) / (met + SATURATION);
            score.name += std::mem::take(&mut score.met_in_name);
        }
    }
    for (a, b) in &question.pairs {
        let share = (index.rarity(*a) + index.rarity(*b)) * PAIR_SHARE;
        for document in index.with_pair((*a, *b)) {
            if let Some(score) = scores.get_mut(document as usize) {
                score.sum += share;
            }
        }
    }
    scores
}

/// A score with what name, verb and number say.
fn fitted(score: &Score, entry: &Entry, question: &Question) -> f32 {
    let name = if entry.name_rarity > 0.0 { (score.name / entry.name_rarity).min(1.0) } else { 0.0 };
    let mut fitted = score.sum * (1.0 + NAME_SHARE * name);
    if let (Some(asked), Some(done)) = (question.deed, entry.deed) {
        fitted *= if asked == done { SAME_DEED } else { OTHER_DEED };
        if asked == done && asked.reads() && question.many == entry.gives_many {
            fitted *= SAME_NUMBER;
        }
    }
    fitted
}

/// A server of which several tools fit is probably the one that was meant.
fn favour_servers(index: &Index, ranked: &mut [(usize, f32)]) {
    let mut best = vec![[0.0_f32; SERVER_TOOLS]; index.servers];
    let server = |place: usize| index.entries.get(place).map_or(0, |entry| entry.server);
    for (place, score) in ranked.iter() {
        let mut score = *score;
        for kept in best.get_mut(server(*place)).into_iter().flatten() {
            if score > *kept {
                std::mem::swap(&mut score, kept);
            }
        }
    }
    let sums: Vec<f32> = best.iter().map(|best| best.iter().sum()).collect();
    let most = sums.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    for (place, score) in ranked {
        let sum = sums.get(server(*place)).copied().unwrap_or_default();
        *score *= 1.0 + SERVER_SHARE * sum / most;
    }
}
