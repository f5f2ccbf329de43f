//! Parts of a document, each scored as a message of its own under the same header: stretches of the body, attachments,
//! and what people see of it.

use tamis_model::{DocumentSums, PartScores, Readings, Stretch, WeightedLogOdds, windows};

use crate::extract::extraction::Extraction;
use crate::extract::part_verdict::{DecidingPart, PartVerdict};
use crate::scorers::scratch::{Memo, PartSums};

/// A header with as many known terms can be judged alone.
const ENOUGH: usize = 20;

impl PartSums {
    /// Counts the terms at some places, as stretch number `mark`.
    fn count<'p>(&mut self, counted: &Extraction, places: impl Iterator<Item = &'p u32>, mark: u32) {
        // both at hand for the compiler
        let (marks, mut counts) = (&mut self.marks[..], std::mem::take(&mut self.counts));
        counts.clear();
        let add = |place: &u32| {
            #[cfg(test)]
            tamis_testing::step(1);
            let Some([last, at]) = marks.get_mut(*place as usize) else { return };
            if *last == mark {
                counts[*at as usize].1 += 1;
            } else {
                (*last, *at) = (mark, counts.len() as u32);
                counts.push((*place, 1));
            }
        };
        match counted.has_pieces() {
            true => places.flat_map(|it| std::iter::once(it).chain(counted.pieces_of(*it))).for_each(add),
            false => places.for_each(add),
        }
        self.counts = counts;
    }

    /// Begins the sums of a part with those of what lies outside the body.
    fn begin_part(&mut self, log_odds: &WeightedLogOdds) {
        self.part.begin(log_odds.n_sums());
        self.part.add_sums(&self.outside);
    }

    /// The log-odds of the part that was summed.
    fn score(&mut self, log_odds: &WeightedLogOdds) -> f64 {
        #[cfg(test)]
        tamis_testing::step(1);
        log_odds.read_sums(&self.part, &mut self.readings);
        log_odds.log_odds(&self.readings, &mut self.z);
        self.z.first().copied().unwrap_or(0.0)
    }

    /// Scores the parts of the document, whose log-odds of spam are `z`.
    pub(crate) fn weigh(
        &mut self,
        log_odds: &WeightedLogOdds,
        counted: &Extraction,
        memo: &Memo,
        whole: &Readings,
        z: f64,
    ) -> PartVerdict {
        let stretches: Vec<Stretch<&[u32]>> = counted.stretches().collect();
        let n_windows = windows(&stretches).count();
        let amount = |count| log_odds.amount(count);
        self.marks.clear();
        self.marks.resize(memo.document().len(), [0; 2]);
        self.readings.beside.clone_from(&whole.beside);
        self.stretches.resize_with(self.stretches.len().max(stretches.len()), DocumentSums::default);
        for (at, stretch) in stretches.iter().enumerate() {
            self.count(counted, stretch.terms.iter(), at as u32 + 1);
            self.stretches[at].begin(log_odds.n_sums());
            memo.sum_places(self.counts.iter().copied(), amount, &mut self.stretches[at]);
        }
        let document = || (0..).zip(memo.document()).map(|(place, term)| (place, term.count));
        self.outside.begin(log_odds.n_sums());
        let marks = &self.marks;
        memo.sum_places(
            document().filter(|(place, _)| marks[*place as usize][0] == 0),
            amount,
            &mut self.outside,
        );
        self.begin_part(log_odds);
        let header = self.score(log_odds);
        let header = Some(header).filter(|_| self.readings.known_terms >= ENOUGH);
        let (mut worst, mut window) = (f64::NEG_INFINITY, 0..0);
        for stretches in windows(&stretches) {
            self.begin_part(log_odds);
            self.stretches[stretches.clone()].iter().for_each(|stretch| self.part.add_sums(stretch));
            let z = self.score(log_odds);
            if z > worst {
                (worst, window) = (z, stretches);
            }
        }
        if n_windows > 0 {
            // a word of both stretches counts once
            let places = stretches[window.clone()].iter().flat_map(|stretch| stretch.terms);
            self.count(counted, places, u32::MAX);
            self.begin_part(log_odds);
            memo.sum_places(self.counts.iter().copied(), amount, &mut self.part);
            worst = self.score(log_odds);
        }
        let mut scores = PartScores { windows: n_windows, highest: worst, seen: None };
        if stretches.iter().any(|stretch| !stretch.is_seen) {
            let unseen =
                stretches.iter().filter(|stretch| !stretch.is_seen).flat_map(|stretch| stretch.terms);
            self.count(counted, unseen, u32::MAX - 1);
            self.part.begin(log_odds.n_sums());
            let is_seen = |place: u32| self.marks[place as usize][0] != u32::MAX - 1;
            memo.sum_places(document().filter(|(place, _)| is_seen(*place)), amount, &mut self.part);
            scores.seen = Some(self.score(log_odds));
        }
        let choices = log_odds.choices();
        let (lift, price) = (choices.lift(z, &scores), choices.price(n_windows));
        let deciding = match scores.seen.is_none_or(|seen| worst - price > seen) {
            true => DecidingPart { stretches: Some(window.clone()), price },
            false => DecidingPart { stretches: None, price: 0.0 },
        };
        PartVerdict { deciding: (lift > 0.0).then_some(deciding), lift, worst, window, header }
    }
}

#[cfg(test)]
mod tests;
