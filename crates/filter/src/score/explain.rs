//! Explanations: what each term contributed to a score.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use tamis_model::{ClassId, KnownTerms};
use tamis_tokenizer::{CountRow, TermCount, TermId, is_piece};

use crate::error::Result;
use crate::extract::counted::Counted;
use crate::extract::document::Document;
use crate::score::filter::Filter;
use crate::score::mixed::Reason;
use crate::score::score::Scratch;
use crate::score::scorer::Scorer;
use crate::score::verdict::{Score, less};
use crate::store::layers::DecodedTerm;

/// Why a document got its score: the contribution of each term.
///
/// `intercept` and the contributions add up to the log-odds of `class` against `against`. Without smoothing,
/// contributions can be infinite, of both signs if the document is impossible in both classes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The score that is explained.
    pub score: Score,
    /// The explained class, which is the [`scored_class`](Score::scored_class) of the score.
    pub class: ClassId,
    /// The class that `class` is compared with: the likeliest of the others.
    pub against: ClassId,
    /// The log-odds before any term, in nats: the prior or an offset, and for Bernoulli the absence of every term.
    pub intercept: f64,
    /// The known terms by decreasing absolute contribution; for a row also its numbers, as `column=number`. The
    /// contribution of a word includes that of its pieces; unknown words with known pieces are listed too.
    pub terms: Vec<TermContribution>,
    /// The known pieces of words, each by itself. Their contributions are already included in those of `terms`.
    pub pieces: Vec<TermContribution>,
    /// Occurrences of unknown terms; they contribute nothing.
    pub unknown: usize,
}

/// The contribution of a term to a score.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TermContribution {
    /// The term, with the field it was found in.
    pub term: String,
    /// Its occurrences in the document.
    pub count: u32,
    /// Its document frequency in each class, in class order.
    pub document_frequencies: Vec<u64>,
    /// What the term adds to the log-odds of the class, in nats.
    pub contribution: f64,
    /// The part of `contribution` that comes from the pieces of the word, in nats. All words that contain a piece share
    /// its contribution.
    pub of_pieces: f64,
}

impl Explanation {
    /// The known terms by decreasing absolute contribution, with words and pieces listed separately.
    pub fn apart(&self) -> Vec<TermContribution> {
        let without = |term: &TermContribution| TermContribution {
            contribution: term.contribution - term.of_pieces,
            of_pieces: 0.0,
            ..term.clone()
        };
        let is_known = |term: &&TermContribution| {
            term.of_pieces == 0.0 || term.document_frequencies.iter().any(|df| *df > 0)
        };
        let words = self.terms.iter().filter(is_known).map(without);
        let mut terms: Vec<_> = words.chain(self.pieces.iter().cloned()).collect();
        terms.sort_by(by_strength);
        terms
    }
}

fn by_strength(a: &TermContribution, b: &TermContribution) -> Ordering {
    b.contribution.abs().total_cmp(&a.contribution.abs()).then_with(|| a.term.cmp(&b.term))
}

/// The parts of a score.
struct Reasons<'a> {
    /// The part of the document with the highest score.
    row: CountRow<'a>,
    /// The log-odds before any term.
    intercept: f64,
    /// The contribution of every known term.
    contributions: Vec<(TermId, f64)>,
    /// The contributions of a row's real values.
    values: Vec<TermContribution>,
}

impl Filter {
    /// Explains the score of a raw message.
    ///
    /// # Errors
    /// As [`Filter::score_mail`].
    pub fn explain_mail(&self, raw: &[u8], scratch: &mut Scratch) -> Result<Explanation> {
        self.explain(Document::Mail(raw), scratch)
    }

    /// Explains the score of plain text.
    ///
    /// # Errors
    /// As [`Filter::score_text`].
    pub fn explain_text(&self, text: &str, scratch: &mut Scratch) -> Result<Explanation> {
        self.explain(Document::Text(text), scratch)
    }

    /// Explains the score of any document.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn explain(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Explanation> {
        let score = self.score(document, scratch)?;
        self.rows(scratch);
        let class = score.scored_class;
        let posterior = scratch.probabilities();
        // With two classes the other one; with more the strongest rival.
        let against = (0..posterior.len() as ClassId)
            .filter(|other| *other != class)
            .max_by(|a, b| posterior[usize::from(*a)].total_cmp(&posterior[usize::from(*b)]).then(b.cmp(a)))
            .unwrap_or(class);
        let Reasons { row, intercept, contributions, values } =
            self.reasons(&scratch.counted, class, against)?;
        let parts = self.deal_pieces(scratch, &contributions);
        let pieces: HashSet<TermId> = parts.known.iter().copied().collect();
        let of = |(id, contribution): (TermId, f64)| {
            let count = row.ids().binary_search(&id).map_or(0, |at| row.counts()[at]);
            Ok((id, self.contribution(id, count, contribution)?))
        };
        let known = contributions.into_iter().map(of).collect::<Result<Vec<_>>>()?;
        let (pieces, mut known): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|(id, _)| pieces.contains(id));
        let places: HashMap<TermId, usize> = known.iter().zip(0..).map(|((id, _), at)| (*id, at)).collect();
        let (document, n_terms) = (scratch.memo.document(), self.layers().n_terms());
        let words = scratch.counted.words(document);
        let mut has_known_pieces = vec![false; words.len()];
        for (at, adds) in parts.words {
            has_known_pieces[at] = true;
            let id = scratch.memo.id(at, n_terms).unwrap_or(TermId::MAX);
            let place = places.get(&id).copied().unwrap_or(known.len());
            if place == known.len() {
                known.push((id, self.unknown_word(scratch, words[at])));
            }
            known[place].1.contribution += adds;
            known[place].1.of_pieces = adds;
        }
        let (mut term, mut unknown) = (DecodedTerm::new(self.layers()), 0);
        for at in (0..words.len()).filter(|at| !has_known_pieces[*at]) {
            let id = scratch.memo.id(at, n_terms).unwrap_or(TermId::MAX);
            let count = row.ids().binary_search(&id).map_or(0, |at| row.counts()[at]);
            // a term with an id but without counts was forgotten, and is unknown too
            unknown += if count > 0 && term.term(id)?.cells.is_empty() { count as usize } else { 0 };
        }
        let sorted = |terms: Vec<(TermId, TermContribution)>, values| {
            let mut terms: Vec<_> = terms.into_iter().map(|(_, term)| term).chain(values).collect();
            terms.sort_by(by_strength);
            terms
        };
        let (terms, pieces) = (sorted(known, values), sorted(pieces, Vec::new()));
        Ok(Explanation { score, class, against, intercept, terms, pieces, unknown })
    }

    /// An entry for a word that the model does not know, although it knows pieces of it.
    fn unknown_word(&self, scratch: &Scratch, word: TermCount) -> TermContribution {
        TermContribution {
            term: scratch.memo.terms.term(word.id).unwrap_or_default().to_owned(),
            count: word.count,
            document_frequencies: vec![0; self.classes().len()],
            contribution: 0.0,
            of_pieces: 0.0,
        }
    }

    fn reasons<'a>(&self, counted: &'a Counted, class: ClassId, against: ClassId) -> Result<Reasons<'a>> {
        match &self.scorer {
            Scorer::Weighted(scorer) => {
                let (mut row, [mut slope, mut offset]) = (counted.whole(), [1.0, 0.0]);
                if counted.has_windows() && scorer.is_of_two() {
                    row = scorer.best(self.layers(), counted)?.map_or(row, |(_, row)| row);
                    [slope, offset] = scorer.log_odds.choices().line;
                }
                let (intercept, mut contributions) =
                    scorer.contributions(self.layers(), row, [class, against])?;
                contributions.iter_mut().for_each(|(_, contribution)| *contribution *= slope);
                if scorer.is_of_two() {
                    offset += self.decision().log_odds(0.0);
                }
                let sign = if class == scorer.positive { 1.0 } else { -1.0 };
                let intercept = slope * intercept + sign * offset;
                Ok(Reasons { row, intercept, contributions, values: Vec::new() })
            }
            Scorer::NaiveBayes(bayes) => {
                let row = counted.whole();
                let difference =
                    |per_class: &[f64]| less(per_class[usize::from(class)], per_class[usize::from(against)]);
                let (mut contributions, mut weights) = (Vec::new(), Vec::new());
                for (id, count) in row.iter() {
                    if bayes.term_weights(&self.store, id, count, &mut weights)? {
                        contributions.push((id, difference(&weights)));
                    }
                }
                let intercept = difference(bayes.intercept());
                Ok(Reasons { row, intercept, contributions, values: Vec::new() })
            }
            Scorer::Robinson(scorer) => {
                let (row, mut contributions) = (counted.whole(), Vec::new());
                let mut term = DecodedTerm::new(self.layers());
                let intercept = scorer.contributions(&mut term, row, &mut contributions)?;
                let sign = if class == scorer.positive() { 1.0 } else { -1.0 };
                contributions.iter_mut().for_each(|(_, contribution)| *contribution *= sign);
                let intercept = sign * self.decision().log_odds(intercept);
                Ok(Reasons { row, intercept, contributions, values: Vec::new() })
            }
            Scorer::Mixed(scorer) => {
                let prior = scorer.class_log_prior();
                let intercept = prior[usize::from(class)] - prior[usize::from(against)];
                let (mut contributions, mut values) = (Vec::new(), Vec::new());
                for (reason, contribution) in scorer.reasons(&self.store, counted, [class, against])? {
                    match reason {
                        Reason::Term(id) => contributions.push((id, contribution)),
                        Reason::Real { term, rows } => values.push(TermContribution {
                            term,
                            count: 1,
                            document_frequencies: rows,
                            contribution,
                            of_pieces: 0.0,
                        }),
                    }
                }
                Ok(Reasons { row: counted.whole(), intercept, contributions, values })
            }
            Scorer::Expected(scorer) => {
                let row = counted.whole();
                let contributions = scorer.contributions(&self.store, row, [class, against])?;
                let intercept = scorer.intercept([class, against]);
                Ok(Reasons { row, intercept, contributions, values: Vec::new() })
            }
        }
    }

    fn contribution(&self, id: TermId, count: u32, contribution: f64) -> Result<TermContribution> {
        let mut term = DecodedTerm::new(self.layers());
        let mut document_frequencies = vec![0; self.store.header.totals.len()];
        for cell in term.term(id)?.cells {
            document_frequencies[usize::from(cell.class)] = u64::from(cell.df);
        }
        document_frequencies.truncate(self.classes().len());
        let term = term.text()?.to_owned();
        Ok(TermContribution { term, count, document_frequencies, contribution, of_pieces: 0.0 })
    }

    /// The `most` strongest terms for `class` against its strongest rival, each scored as a document of its own. Pieces
    /// of words are left out.
    ///
    /// Reads the whole model.
    ///
    /// # Errors
    /// If the model is damaged.
    pub fn strongest_terms(&self, class: ClassId, most: usize) -> Result<Vec<TermContribution>> {
        let mut strongest: Vec<(f64, TermId)> = Vec::new();
        let mut weights = Vec::new();
        let has_pieces = self.extractor.recipe().pieces;
        for id in self.layers().ids() {
            let id = id?;
            if has_pieces && is_piece(self.layers().text(id)?) {
                continue;
            }
            if let Some(weight) = self.weight(id, class, &mut weights)? {
                strongest.push((weight, id));
            }
            if strongest.len() >= 2 * most.max(512) {
                keep_strongest(&mut strongest, most);
            }
        }
        keep_strongest(&mut strongest, most);
        strongest.into_iter().map(|(weight, id)| self.contribution(id, 1, weight)).collect()
    }

    /// The weight of a term by itself for a class; `None` if it is not used in scoring.
    pub(crate) fn weight(&self, id: TermId, class: ClassId, weights: &mut Vec<f64>) -> Result<Option<f64>> {
        match &self.scorer {
            Scorer::Weighted(scorer) => scorer.term_weight(self.layers(), id, class),
            Scorer::Robinson(scorer) => {
                let mut term = DecodedTerm::new(self.layers());
                let sign = if class == scorer.positive() { 1.0 } else { -1.0 };
                Ok(scorer.term_weight(term.term(id)?).map(|weight| sign * weight))
            }
            Scorer::NaiveBayes(bayes) => {
                Ok(bayes.term_weights(&self.store, id, 1, weights)?.then(|| over_rivals(weights, class)))
            }
            Scorer::Expected(scorer) => {
                Ok(scorer.term_weights(&self.store, id, 1.0, weights)?.then(|| over_rivals(weights, class)))
            }
            Scorer::Mixed(scorer) => {
                Ok(scorer.term_weights(&self.store, id, weights)?.then(|| over_rivals(weights, class)))
            }
        }
    }
}

/// The margin of a class over the strongest of the others.
fn over_rivals(weights: &[f64], class: ClassId) -> f64 {
    let others = weights.iter().enumerate().filter(|(c, _)| *c != usize::from(class));
    less(weights[usize::from(class)], others.map(|(_, w)| *w).fold(f64::NEG_INFINITY, f64::max))
}

fn keep_strongest(terms: &mut Vec<(f64, TermId)>, most: usize) {
    terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    terms.truncate(most);
}
