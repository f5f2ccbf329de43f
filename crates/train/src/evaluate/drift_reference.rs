//! What new documents are compared with to find drift, and the new documents as they come.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tamis_filter::extract::document::{Document, digest, digest_of_nothing};
use tamis_filter::extract::extraction::Extraction;
use tamis_filter::score::filter::Filter;
use tamis_filter::score::verdict::{may_judge, sigmoid};
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::{ClassId, Counts};
use tamis_store::config::labels::are_sets;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::StoredDocument;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::kind::Kind;
use tamis_tokenizer::{Ngrams, TermId, Vocabulary, fingerprint, is_piece};

use crate::evaluate::drift::{Drift, DriftScore, MovedTerm};
use crate::evaluate::held_out::{HeldOutVerdict, for_each_held_out};
use crate::merge::rewrite::keeps_terms;

/// The documents that a model remembers, each scored by a model without it: what new documents are compared with.
///
/// Words are compared, not pieces of words or pairs; of mail, those of body and subject. Copies of a mail count once,
/// copies of a text or row every time, as in training. A fallback of the filter is left out of account.
///
/// ```
/// use tamis_train::evaluate::{DriftReference, NewDocuments};
/// use tamis_train::{Document, Keep, Kind, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::new(Kind::Text);
/// options.keep = Some(Keep::Vectors);
/// let mut trainer = Trainer::new(options)?;
/// for n in 0..60 {
///     trainer.add("fruit", Document::Text(&format!("apples and pears, {n} pounds")))?;
///     trainer.add("metal", Document::Text(&format!("iron and tin, {n} pounds")))?;
/// }
/// let filter = trainer.finish()?.into_filter()?;
/// let reference = DriftReference::new(&filter)?;
///
/// let is_drift = |text: &str| -> tamis_train::Result<_> {
///     let mut new = NewDocuments::new(&reference);
///     (0..40).try_for_each(|n| new.add(Document::Text(&format!("{text}, {n} pounds"))))?;
///     Ok(reference.compare([new], 0.01)?.is_found())
/// };
/// assert_eq!(is_drift("oak and ash")?, Some(true));
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct DriftReference<'a> {
    filter: &'a Filter,
    held_out: Vec<DriftScore>,
    terms: Vec<LearnedTerm>,
    /// The digests of learned documents.
    learned: HashSet<[u8; 16]>,
    /// The digests of new mails.
    seen: Mutex<HashSet<[u8; 16]>>,
}

/// A term of the model.
struct LearnedTerm {
    /// Its document frequency.
    documents: u64,
    is_word: bool,
}

/// New documents as a thread scores them.
pub struct NewDocuments<'a> {
    reference: &'a DriftReference<'a>,
    scratch: Scratch,
    counted: Extraction,
    vocabulary: Vocabulary,
    /// The words, by their ids in the vocabulary.
    words: HashMap<TermId, NewWord>,
    scored: Vec<DriftScore>,
    /// How many of them the model has learned.
    n_learned: u64,
}

/// A word of new documents.
struct NewWord {
    /// Its id in the model, if it has counts there.
    known: Option<TermId>,
    /// Number of new documents with it.
    documents: u64,
}

/// Most times that a learned document counts, as in the expected error rates of training.
const MOST_COPIES: u32 = 1_000;

impl<'a> DriftReference<'a> {
    /// Scores every document that the model remembers by a model without it. A model of two labels stores these scores;
    /// with more, this takes several times as long as training.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if scoring is not weighted, or documents have many labels;
    /// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if the model does not remember the terms of its
    /// documents; otherwise if the model is damaged.
    pub fn new(filter: &'a Filter) -> Result<Self> {
        let (store, header) = (filter.store(), &filter.store().header);
        let is_weighted = matches!(header.scoring, FittedScoring::Weighted { .. });
        Error::ensure_option(is_weighted, "model", "expected a model with weighted scoring")?;
        let message = "expected a model of one label a document, got many";
        Error::ensure_option(!are_sets(&header.classes), "model", message)?;
        Reason::TermsNotStored.unless(keeps_terms(header))?;
        let term = |id| -> Result<_> {
            Ok(LearnedTerm {
                documents: store.document_frequency(id)?,
                is_word: is_word(filter, store.text(id)?),
            })
        };
        let terms = (0..store.n_terms() as TermId).map(term).collect::<Result<Vec<_>>>()?;
        let (nothing, mut held_out) = (digest_of_nothing(&header.recipe), Vec::new());
        for_each_held_out(filter, |document, judged| {
            let copies = match header.recipe.kind {
                Kind::Mail if document.digest != nothing => 1,
                _ => document.multiplicity.min(MOST_COPIES),
            };
            let scored = held_out_of(filter, &document, judged, &terms);
            held_out.extend(std::iter::repeat_n(scored, copies as usize));
            Ok(())
        })?;
        let learned = filter.known_digests()?;
        Ok(DriftReference { filter, held_out, terms, learned, seen: Mutex::default() })
    }

    /// Compares new documents, those of all threads together, with the learned ones. `level` is the probability of
    /// finding drift where there is none; 0.01 is usual.
    ///
    /// # Errors
    /// If the level is not between 0 and 1, or the model is damaged.
    pub fn compare<'n>(&self, new: impl IntoIterator<Item = NewDocuments<'n>>, level: f64) -> Result<Drift> {
        let message = format_args!("expected a number between 0 and 1, got {level}");
        Error::ensure_option(level > 0.0 && level < 1.0, "level", message)?;
        let (mut scored, mut known, mut unknown) = (Vec::<DriftScore>::new(), HashMap::new(), HashMap::new());
        let mut n_learned_again = 0;
        for NewDocuments { scored: of_thread, words, vocabulary, n_learned, .. } in new {
            scored.extend(of_thread);
            n_learned_again += n_learned;
            for (id, NewWord { known: in_model, documents }) in words {
                *match in_model {
                    Some(id) => known.entry(id).or_insert(0),
                    None => unknown.entry(vocabulary.term(id).unwrap_or_default().to_owned()).or_insert(0),
                } += documents;
            }
        }
        // so that means do not depend on the order of threads
        let of_words = |scored: &DriftScore| scored.unknown.unwrap_or_default();
        scored.sort_by(|a, b| a.log_odds.total_cmp(&b.log_odds).then(of_words(a).total_cmp(&of_words(b))));
        let store = self.filter.store();
        let mut drift = Drift::new(&self.held_out, &scored, store.header.classes.len(), level);
        let n_new = drift.new.documents;
        let n_learned = store.totals.iter().map(|totals| totals.documents).sum();
        let mut terms = Vec::new();
        for (id, learned) in (0..).zip(&self.terms).filter(|(_, term)| term.is_word && term.documents > 0) {
            let new = known.get(&id).copied().unwrap_or(0);
            terms.extend(MovedTerm::compare(store.text(id)?, [new, n_new], [learned.documents, n_learned]));
        }
        terms.extend(
            unknown.iter().filter_map(|(term, new)| MovedTerm::compare(term, [*new, n_new], [0, n_learned])),
        );
        drift.set_terms(terms);
        drift.learned_again = n_learned_again;
        Ok(drift)
    }

    /// Whether a mail with this digest was not seen before.
    fn is_first(&self, digest: [u8; 16]) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(digest)
    }

    /// The id of a term that has counts in the model.
    fn find(&self, term: &str) -> Result<Option<TermId>> {
        let found = self.filter.store().find(fingerprint(term))?;
        Ok(found.filter(|id| self.terms.get(*id as usize).is_some_and(|term| term.documents > 0)))
    }
}

impl<'a> NewDocuments<'a> {
    /// Starts without documents.
    pub fn new(reference: &'a DriftReference<'a>) -> Self {
        NewDocuments {
            reference,
            scratch: Scratch::default(),
            counted: Extraction::default(),
            vocabulary: Vocabulary::new(),
            words: HashMap::new(),
            scored: Vec::new(),
            n_learned: 0,
        }
    }

    /// Scores a document and counts its words. A mail that was added before, on any thread, is left out.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn add(&mut self, document: Document<'_>) -> Result<()> {
        let NewDocuments { reference, scratch, counted, vocabulary, words, scored, n_learned } = self;
        let filter = reference.filter;
        let score = filter.score(document, scratch)?;
        filter.extractor().count(document, counted, vocabulary)?;
        let (terms, recipe) = (counted.words(vocabulary.document()), filter.extractor().recipe());
        let is_mail = recipe.kind == Kind::Mail && !terms.is_empty();
        let digest = digest(recipe.version, terms, &counted.reals);
        if is_mail && !reference.is_first(digest) {
            return Ok(());
        }
        *n_learned += u64::from(reference.learned.contains(&digest));
        let (mut n_words, mut n_unknown) = (0, 0);
        for term in terms {
            let text = vocabulary.term(term.id).unwrap_or_default();
            if !is_word(filter, text) {
                continue;
            }
            let word = match words.entry(term.id) {
                Entry::Occupied(word) => word.into_mut(),
                Entry::Vacant(place) => place.insert(NewWord { known: reference.find(text)?, documents: 0 }),
            };
            word.documents += 1;
            (n_words, n_unknown) = (n_words + 1, n_unknown + u64::from(word.known.is_none()));
        }
        let (label, log_odds) = likeliest(filter, Some(score.scored_class), score.log_odds);
        scored.push(DriftScore {
            label,
            log_odds,
            is_unsure: score.label.is_none(),
            unknown: Some(share(n_unknown, n_words)),
        });
        Ok(())
    }

    /// Adds what a log says of a document: its verdict (`None` if it was unsure) and the log-odds given with it. Its
    /// words stay unknown, and so does the likeliest label of an unsure verdict, unless the model has a spam class.
    pub fn add_verdict(&mut self, verdict: Option<ClassId>, log_odds: f64) {
        let filter = self.reference.filter;
        // a spam filter logs the log-odds of spam, whatever the verdict
        let (label, log_odds) = likeliest(filter, filter.spam().or(verdict), log_odds);
        self.scored.push(DriftScore { label, log_odds, is_unsure: verdict.is_none(), unknown: None });
    }
}

/// The likelier label and its log-odds, given those of `label`: with two labels, it may be the other one.
fn likeliest(filter: &Filter, label: Option<ClassId>, log_odds: f64) -> (Option<ClassId>, f64) {
    match filter.positive().is_some() && log_odds < 0.0 {
        true => (label.map(|label| 1 - label), -log_odds),
        false => (label, log_odds),
    }
}

/// A learned document as a model without it sees it.
fn held_out_of(
    filter: &Filter,
    document: &StoredDocument,
    judged: HeldOutVerdict,
    terms: &[LearnedTerm],
) -> DriftScore {
    // copies are held out together
    let is_known = |term: &LearnedTerm| term.documents > u64::from(document.multiplicity);
    let (mut n_known, mut n_words, mut n_unknown) = (0, 0, 0);
    for term in document.vector.row().ids().iter().filter_map(|id| terms.get(*id as usize)) {
        n_known += usize::from(is_known(term));
        n_words += u64::from(term.is_word);
        n_unknown += u64::from(term.is_word && !is_known(term));
    }
    let HeldOutVerdict { proposed: label, top: log_odds, log_odds: of_positive } = judged;
    let is_sure = match filter.positive() {
        Some(_) => filter.decision().is_positive(of_positive).is_some(),
        None => sigmoid(log_odds) >= filter.least_probability().unwrap_or_default(),
    };
    let is_unsure = !(is_sure && may_judge(filter.spam(), n_known));
    DriftScore { label: Some(label), log_odds, is_unsure, unknown: Some(share(n_unknown, n_words)) }
}

/// Whether a term is a word: not a piece or a pair; of mail, of body or subject. Terms of a row all count, and so do
/// sequences of characters.
fn is_word(filter: &Filter, term: &str) -> bool {
    let (extractor, recipe) = (filter.extractor(), filter.extractor().recipe());
    let has_words = recipe.kind != Kind::Table && matches!(recipe.tokenizer.terms, Ngrams::Words { .. });
    !(recipe.pieces.is_some() && is_piece(term)) && (!has_words || extractor.word_in(term).is_some())
}

/// The share of `part` in `whole`; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use tamis_store::config::recipe::Keep;
    use tamis_store::config::training::TrainOptions;
    use tamis_tokenizer::PieceLengths;

    use super::*;
    use crate::tests::taught;

    /// Copies, and words that one, two and all texts have.
    const TEXTS: [&str; 6] =
        ["red apple", "red pear", "green pear plum", "green plum", "green plum", "grey iron bar"];

    fn trained(texts: &[&str]) -> Filter {
        let mut options = TrainOptions::new(Kind::Text);
        (options.keep, options.refinements) = (Some(Keep::Vectors), Vec::new());
        options.recipe.pieces = Some(PieceLengths::FOUR);
        let labelled = ["a", "b", "c"].iter().cycle().zip(texts);
        taught(options, labelled).finish().unwrap().into_filter().unwrap()
    }

    /// The shares of unknown words of learned texts, in increasing order.
    fn shares(scored: &[DriftScore]) -> Vec<f64> {
        let mut shares: Vec<_> = scored.iter().filter_map(|scored| scored.unknown).collect();
        shares.sort_by(f64::total_cmp);
        shares
    }

    #[test]
    fn a_word_is_unknown_if_a_model_without_the_document_does_not_know_it() {
        let filter = trained(&TEXTS);
        let reference = DriftReference::new(&filter).unwrap();
        let of_others = TEXTS.iter().map(|text| {
            let others: Vec<_> = TEXTS.iter().filter(|other| *other != text).copied().collect();
            let known = |word: &&str| others.iter().any(|other| other.split(' ').any(|of| of == *word));
            let words: Vec<_> = text.split(' ').collect();
            share(words.iter().filter(|word| !known(word)).count() as u64, words.len() as u64)
        });
        let mut expected: Vec<_> = of_others.collect();
        expected.sort_by(f64::total_cmp);
        assert_eq!(shares(&reference.held_out), expected);
    }

    #[test]
    fn new_words_are_counted_without_their_pieces() {
        let filter = trained(&TEXTS);
        let reference = DriftReference::new(&filter).unwrap();
        let mut new = NewDocuments::new(&reference);
        for _ in 0..5 {
            new.add(Document::Text("green pears")).unwrap();
        }
        assert_eq!(shares(&new.scored), [0.5; 5]);
        new.add(Document::Text("plum, Green")).unwrap();
        let drift = reference.compare([new], 0.01).unwrap();
        assert_eq!(drift.learned_again, 1);
        let risen: Vec<_> = drift.risen.iter().map(|term| term.term.as_str()).collect();
        assert_eq!((risen, drift.is_found()), (vec!["pears", "green"], None));
        assert!(reference.compare([], 1.0).is_err());
    }
}
