//! Explanations: what each term contributed to a score.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use tamis_model::{ClassId, KnownTerms};
use tamis_store::error::{Error, Result};
use tamis_store::store::layers::DecodedTerm;
use tamis_tokenizer::{TermCount, TermId, is_piece};

use crate::extract::document::Document;
use crate::score::filter::Filter;
use crate::score::verdict::{Doubt, Score};
use crate::scorers::scorer::{Contest, Explained, Reasons, TermContribution};
use crate::scorers::scratch::Scratch;

/// Why a document got its score: the contribution of each term.
///
/// `intercept` and the contributions add up to the log-odds of `class` against `against`. Without smoothing,
/// contributions can be infinite, of both signs if the document is impossible in both classes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The score that is explained.
    pub score: Score,
    /// The explained class: the [`scored_class`](Score::scored_class) of the score, unless another was asked for.
    pub class: ClassId,
    /// The class that `class` is compared with: the likeliest of the others; `class` itself in a model of many labels,
    /// where a label is compared with the documents that do not have it.
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
    /// The part of the document that the terms are of, because it is worse than the whole, or that makes it unsure:
    /// `lines 12 to 20`, `attachment notes.txt`; `None` if it is the whole.
    pub part: Option<String>,
}

impl Explanation {
    /// In words, which part decides, and why a spam filter is unsure whatever the probability; `None` if neither holds.
    pub fn because(&self) -> Option<String> {
        let part = self.part.as_deref().unwrap_or("a part");
        match self.score.doubt {
            Some(Doubt::Part) => Some(format!("unsure, because of {part}")),
            Some(doubt) => Some(format!("unsure, because {doubt}")),
            None => self.part.as_ref().map(|part| format!("{part}: more for spam than the whole")),
        }
    }

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

impl Filter {
    /// Explains the score of any document.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn explain(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Explanation> {
        self.explain_for(document, None, scratch)
    }

    /// Explains why a document has, or has not, the label `class`.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// for (label, text) in [("fruit", "apples and pears"), ("metal", "iron"), ("wood", "oak")] {
    ///     trainer.add(label, Document::Text(text))?;
    /// }
    /// let filter = trainer.finish()?.into_filter()?;
    /// let metal = filter.classes().index("metal").ok_or("no such label")?;
    /// let explanation = filter.explain_class(Document::Text("iron"), metal, &mut Scratch::default())?;
    /// assert_eq!((explanation.class, &*explanation.terms[0].term), (metal, "iron"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::score`]; or there is no such class.
    pub fn explain_class(
        &self,
        document: Document<'_>,
        class: ClassId,
        scratch: &mut Scratch,
    ) -> Result<Explanation> {
        let n = self.classes().len();
        let message = format_args!("expected a number below {n}, got {class}");
        Error::ensure_option(usize::from(class) < n, "class", message)?;
        self.explain_for(document, Some(class), scratch)
    }

    /// Explains the score of a document for a class, or for the one that is scored.
    fn explain_for(
        &self,
        document: Document<'_>,
        class: Option<ClassId>,
        scratch: &mut Scratch,
    ) -> Result<Explanation> {
        let score = self.score(document, scratch)?;
        let class = class.unwrap_or(score.scored_class);
        let name = self.part_name(document, score.doubt, scratch);
        scratch.build_rows(self.layers());
        let posterior = scratch.probabilities();
        // With two classes the other one; with more the strongest rival.
        let against = (0..posterior.len() as ClassId)
            .filter(|other| *other != class && !self.has_many_labels())
            .max_by(|a, b| posterior[usize::from(*a)].total_cmp(&posterior[usize::from(*b)]).then(b.cmp(a)))
            .unwrap_or(class);
        let (part, lift) = scratch.deciding_row(self.layers());
        let of = Explained {
            layers: self.layers(),
            counted: &scratch.counted,
            part: part.as_ref(),
            lift,
            contest: Contest { class, against: if self.has_many_labels() { ClassId::MAX } else { against } },
            decision: self.decision(),
        };
        let Reasons { row, intercept, contributions, values } = self.scorer.explain(&of)?;
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
        Ok(Explanation { score, class, against, intercept, terms, pieces, unknown, part: name })
    }

    /// An entry for a word that the model does not know, although it knows pieces of it.
    fn unknown_word(&self, scratch: &Scratch, word: TermCount) -> TermContribution {
        let term = scratch.memo.terms.term(word.id).unwrap_or_default().to_owned();
        TermContribution::new(term, word.count, vec![0; self.classes().len()], 0.0)
    }

    fn contribution(&self, id: TermId, count: u32, contribution: f64) -> Result<TermContribution> {
        let mut term = DecodedTerm::new(self.layers());
        let mut document_frequencies = vec![0; self.classes().len()];
        self.for_each_label(term.term(id)?.cells, |label, cell| {
            document_frequencies[label] += u64::from(cell.df);
        });
        Ok(TermContribution::new(term.text()?.to_owned(), count, document_frequencies, contribution))
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
        let has_pieces = self.extractor.recipe().pieces.is_some();
        for id in self.layers().ids() {
            let id = id?;
            if has_pieces && is_piece(self.layers().text(id)?) {
                continue;
            }
            if let Some(weight) = self.scorer.term_weight(self.layers(), id, class)? {
                strongest.push((weight, id));
            }
            if strongest.len() >= 2 * most.max(512) {
                keep_strongest(&mut strongest, most);
            }
        }
        keep_strongest(&mut strongest, most);
        strongest.into_iter().map(|(weight, id)| self.contribution(id, 1, weight)).collect()
    }
}

fn keep_strongest(terms: &mut Vec<(f64, TermId)>, most: usize) {
    terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    terms.truncate(most);
}

/// The contributions of the known pieces of a document's words.
#[derive(Default)]
struct PieceParts {
    /// The words with known pieces: their positions in the document, and their shares of the pieces' contributions, in
    /// nats.
    words: Vec<(usize, f64)>,
    /// The ids of the known pieces in the model.
    known: Vec<TermId>,
}

impl Filter {
    /// Divides the contribution of each piece among the words that contain it, in proportion to their occurrences.
    fn deal_pieces(&self, scratch: &Scratch, contributions: &[(TermId, f64)]) -> PieceParts {
        if self.extractor.recipe().pieces.is_none() {
            return PieceParts::default();
        }
        let Scratch { memo, counted, .. } = scratch;
        let (document, n_terms) = (memo.document(), self.layers().n_terms());
        let words = counted.words(document);
        let contributions: HashMap<TermId, f64> = contributions.iter().copied().collect();
        // the contribution of one occurrence, by the piece's number in the vocabulary
        let mut known = Vec::new();
        let pieces: HashMap<TermId, f64> = (words.len()..document.len())
            .filter_map(|at| {
                let id = memo.id(at, n_terms)?;
                let adds = contributions.get(&id)?;
                known.push(id);
                Some((document[at].id, adds / f64::from(document[at].count)))
            })
            .collect();
        let part = |(at, word): (usize, &TermCount)| {
            let own = memo.terms.pieces_of(word.id).iter().filter_map(|piece| pieces.get(piece));
            let sum = own.copied().reduce(|sum, adds| sum + adds)?;
            Some((at, f64::from(word.count) * sum))
        };
        let words = words.iter().enumerate().filter_map(part).collect();
        PieceParts { words, known }
    }
}
