//! Parts of a document, each scored as a message of its own under the same header: stretches of the body, attachments,
//! and what people see of it.

use std::ops::Range;

use tamis_model::{DocumentSums, PartScores, Readings, Stretch, WeightedLogOdds, windows};

use crate::extract::extraction::Extraction;
use crate::scorers::scratch::Memo;

/// The part that decides about a document, because it is worse than the whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DecidingPart {
    /// Its stretches; `None` for all that people see.
    pub(crate) stretches: Option<Range<usize>>,
    /// What its log-odds are lowered by, in nats.
    pub(crate) price: f64,
}

/// The buffers of a thread that scores parts.
#[derive(Default)]
pub(crate) struct PartSums {
    /// By place in the document, one more than the number of the stretch that was counted last, and where it is in `counts`.
    marks: Vec<[u32; 2]>,
    /// The terms of a stretch, with their occurrences.
    counts: Vec<(u32, u32)>,
    /// The sums of each stretch, of what lies outside the body, and of a part.
    stretches: Vec<DocumentSums>,
    outside: DocumentSums,
    part: DocumentSums,
    readings: Readings,
    z: Vec<f64>,
}

impl PartSums {
    /// Counts the terms at some places, as stretch number `mark`.
    fn count<'p>(&mut self, counted: &Extraction, places: impl Iterator<Item = &'p u32>, mark: u32) {
        self.counts.clear();
        for place in places.flat_map(|place| std::iter::once(place).chain(counted.pieces_of(*place))) {
            let Some([last, at]) = self.marks.get_mut(*place as usize) else { continue };
            if *last == mark {
                self.counts[*at as usize].1 += 1;
            } else {
                (*last, *at) = (mark, self.counts.len() as u32);
                self.counts.push((*place, 1));
            }
        }
    }

    /// The log-odds of the part that was summed.
    fn score(&mut self, log_odds: &WeightedLogOdds) -> f64 {
        log_odds.read_sums(&self.part, &mut self.readings);
        log_odds.log_odds(&self.readings, &mut self.z);
        self.z.first().copied().unwrap_or(0.0)
    }

    /// Finds the part that is worse than the whole, whose log-odds are `z`, if there is one, and by how much it is. `sign` is
    /// 1 if spam is the positive class, else -1.
    pub(crate) fn worst(
        &mut self,
        log_odds: &WeightedLogOdds,
        counted: &Extraction,
        memo: &Memo,
        whole: &Readings,
        [z, sign]: [f64; 2],
    ) -> Option<(DecidingPart, f64)> {
        let stretches: Vec<Stretch<&[u32]>> = counted.stretches().collect();
        let n_windows = windows(&stretches).count();
        let is_hidden = stretches.iter().any(|stretch| !stretch.is_seen);
        if n_windows == 0 && !is_hidden {
            return None;
        }
        let (n_terms, amount) = (memo.document().len(), |count| log_odds.amount(count));
        self.marks.clear();
        self.marks.resize(n_terms, [0; 2]);
        self.readings.beside.clone_from(&whole.beside);
        self.stretches.resize_with(self.stretches.len().max(stretches.len()), DocumentSums::default);
        for (at, stretch) in stretches.iter().enumerate() {
            self.count(counted, stretch.terms.iter(), at as u32 + 1);
            self.stretches[at].begin(log_odds.n_sums());
            memo.sum_places(self.counts.iter().copied(), amount, &mut self.stretches[at]);
        }
        let document = || (0..).zip(memo.document()).map(|(place, term)| (place, term.count));
        let outside = |place: u32| self.marks[place as usize][0] == 0;
        self.outside.begin(log_odds.n_sums());
        memo.sum_places(document().filter(|(place, _)| outside(*place)), amount, &mut self.outside);
        let mut highest = (f64::NEG_INFINITY, 0..0);
        for window in windows(&stretches) {
            self.part.clone_from(&self.outside);
            self.stretches[window.clone()].iter().for_each(|stretch| self.part.add_sums(stretch));
            let z = sign * self.score(log_odds);
            if z > highest.0 {
                highest = (z, window);
            }
        }
        let (mut scores, window) = (PartScores { windows: n_windows, highest: highest.0, seen: None }, highest.1);
        if n_windows > 0 {
            // a word of both stretches counts once
            let places = stretches[window.clone()].iter().flat_map(|stretch| stretch.terms);
            self.count(counted, places, u32::MAX);
            self.part.clone_from(&self.outside);
            memo.sum_places(self.counts.iter().copied(), amount, &mut self.part);
            scores.highest = sign * self.score(log_odds);
        }
        if is_hidden {
            let unseen = stretches.iter().filter(|stretch| !stretch.is_seen).flat_map(|stretch| stretch.terms);
            self.count(counted, unseen, u32::MAX - 1);
            let is_seen = |place: u32| self.marks[place as usize][0] != u32::MAX - 1;
            self.part.begin(log_odds.n_sums());
            memo.sum_places(document().filter(|(place, _)| is_seen(*place)), amount, &mut self.part);
            scores.seen = Some(sign * self.score(log_odds));
        }
        let choices = log_odds.choices();
        let lift = choices.lift(sign * z, &scores);
        let price = choices.price(n_windows);
        let is_window = scores.seen.is_none_or(|seen| scores.highest - price > seen);
        let part = match is_window {
            true => DecidingPart { stretches: Some(window), price },
            false => DecidingPart { stretches: None, price: 0.0 },
        };
        (lift > 0.0).then_some((part, sign * lift))
    }
}
