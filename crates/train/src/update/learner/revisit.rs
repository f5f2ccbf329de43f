//! Documents that corrections have turned over: they get what they need to keep their labels.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tamis_filter::score::filter::Filter;
use tamis_model::{ClassId, Coefficient, Example, Lesson, Readings};
use tamis_store::config::decision::Decision;
use tamis_store::error::Result;
use tamis_store::file::documents::{DocumentKey, StoredDocument};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::log::{Change, LogEntry};
use tamis_store::store::layers::DecodedTerm;
use tamis_store::store::opened::Store;
use tamis_tokenizer::{CountRow, TermCount};

use super::seen::place;
use super::{CandidateDocument, Learner};

/// How often documents are gone through that may turn one another over.
const ROUNDS: usize = 10;

/// The entries of documents that were corrected again: how each was known, and how it is.
type Corrected = BTreeMap<DocumentKey, [LogEntry; 2]>;

impl Learner {
    /// The coefficients that a document needs beyond those it has. `is_counted` says whether the model has learned it.
    pub(super) fn correction(
        &self,
        document: &StoredDocument,
        row: CountRow<'_>,
        shifts: Option<[f64; 2]>,
        is_counted: bool,
    ) -> Result<Vec<Coefficient>> {
        let (layers, scorer) = (self.filter.layers(), self.filter.weighted());
        let (FittedScoring::Weighted { options, .. }, Some(scorer)) =
            (&self.filter.store().header.scoring, scorer)
        else {
            return Ok(Vec::new());
        };
        let StoredDocument { class, multiplicity, group, fraction, .. } = *document;
        let lesson = Lesson {
            document: Example { row, class, multiplicity, group, fraction, vector: &[] },
            before: &document.coefficients,
            is_counted,
            beside: [Vec::new(), scorer.vector_scores(layers, &document.dense)],
            thresholds: &thresholds(&self.filter, class, shifts),
        };
        let (mut terms, totals) = (DecodedTerm::new(layers), layers.totals());
        scorer.log_odds.online_step(&mut terms, totals, layers.n_features(), options, &lesson)
    }

    /// Looks for documents that corrections have turned over, and corrects them: those that the last fit was right about and, after them,
    /// those learned since. Those of a shared model are learned as they were there; not in a replica, whose counts are those of its
    /// records.
    pub(super) fn revisit(&mut self) -> Result<()> {
        if let Some(shared) = self.filter.fallback().filter(|_| !self.is_replica).cloned() {
            for document in shared.store().documents() {
                let document = document?;
                if was_right(&shared, &document) && self.known(document.digest)?.is_empty() {
                    let seen = self.see_shared(shared.store(), &document)?;
                    if !is_right(&self.filter, &document, self.counted.whole(), None)?
                        && is_right(&shared, &document, document.vector.row(), None)?
                    {
                        self.exchange(Vec::new(), Some(seen), true)?;
                    }
                }
            }
        }
        let (mut turned, mut learned) = (Vec::new(), Vec::new());
        for document in self.filter.store().documents() {
            let document = document?;
            let row = document.vector.row();
            if document.learned > 0 {
                learned.push(document.key());
            } else if was_right(&self.filter, &document) && !is_right(&self.filter, &document, row, None)? {
                turned.push(document.key());
            }
        }
        turned.append(&mut learned);
        self.correct_again(&turned)
    }

    /// Corrects those of the documents that the model is not right about.
    fn correct_again(&mut self, documents: &[DocumentKey]) -> Result<()> {
        let (mut corrected, mut outcome) = (Corrected::new(), Ok(false));
        for _ in 0..ROUNDS {
            outcome = documents
                .iter()
                .try_fold(false, |is_any, key| Ok(self.correct_known(*key, &mut corrected)? || is_any));
            if !matches!(outcome, Ok(true)) {
                break;
            }
        }
        let entries: Vec<_> = corrected.into_values().flatten().collect();
        match entries.is_empty() && outcome.is_ok() {
            true => Ok(()),
            false => self.finish_change(entries, outcome.map(|_| ())),
        }
    }

    /// Corrects a document if the model is not right about it. Returns whether that changed its coefficients.
    fn correct_known(&mut self, key: DocumentKey, corrected: &mut Corrected) -> Result<bool> {
        let Some(known) = self.filter.store().document(key)? else { return Ok(false) };
        let row = known.vector.row();
        if row.is_empty() || is_right(&self.filter, &known, row, None)? {
            return Ok(false);
        }
        let coefficients = self.correction(&known, row, None, true)?;
        if coefficients == known.coefficients {
            return Ok(false);
        }
        let after = StoredDocument { coefficients, ..known.clone() };
        let entry = |change, document| LogEntry { change, document, features: 0, new_terms: Vec::new() };
        let [before, after] = [entry(Change::Forgotten, known), entry(Change::Learned, after)];
        self.filter.change(before.clone())?;
        self.filter.change(after.clone())?;
        match corrected.entry(key) {
            Entry::Occupied(mut entries) => entries.get_mut()[1] = after,
            Entry::Vacant(place) => drop(place.insert([before, after])),
        }
        Ok(true)
    }

    /// A document of the shared model as this one would store it.
    fn see_shared(&mut self, shared: &Store, document: &StoredDocument) -> Result<CandidateDocument> {
        let mut terms = Vec::new();
        for (id, count) in document.vector.row().iter() {
            terms.push(TermCount { id, count, fingerprint: shared.fingerprint(id)? });
        }
        let (coefficients, held_out) = (Vec::new(), None);
        let document = StoredDocument { coefficients, held_out, ..document.clone() };
        self.counted.clear();
        // a term whose text cannot be read is as good without it
        let text = |at: usize| shared.text(terms[at].id).unwrap_or_default().to_owned();
        place(&self.filter, &mut self.counted, document, &terms, text)
    }
}

/// For each column of two labels or of many at once, the log-odds up to which a document does not have the label and those above
/// which it does, in nats, for a document of `class` whose parts add `shifts`; none for labels that exclude one another.
fn thresholds(filter: &Filter, class: ClassId, shifts: Option<[f64; 2]>) -> Vec<[f64; 2]> {
    let Some(scorer) = filter.weighted() else { return Vec::new() };
    if scorer.is_of_two() {
        let Decision { shift, lower, upper } = filter.decision();
        let [of_ham, of_spam] = shifts.unwrap_or_default();
        let of_parts = if filter.spam() == Some(class) { of_spam } else { of_ham };
        return vec![[lower, upper].map(|threshold| threshold - shift - of_parts)];
    }
    let chosen = filter.store().header.scoring.chosen();
    chosen.map_or_else(Vec::new, |of| of.labels.iter().map(|label| [label.threshold; 2]).collect())
}

/// Whether the fit was right about a document, or could not be: a fitted coefficient is C times the document's error.
fn was_right(filter: &Filter, document: &StoredDocument) -> bool {
    let FittedScoring::Weighted { options, .. } = &filter.store().header.scoring else { return false };
    let half = 0.5 * options.regularisation * f64::from(document.multiplicity);
    let mut coefficients = document.coefficients.iter();
    !document.vector.row().is_empty() && coefficients.all(|of| of.fitted().abs() < half)
}

/// Whether the verdict on a document is the label that it was learned under. `shifts` are what its parts add, if they are known.
pub(super) fn is_right(
    filter: &Filter,
    document: &StoredDocument,
    row: CountRow<'_>,
    shifts: Option<[f64; 2]>,
) -> Result<bool> {
    let Some(scorer) = filter.weighted() else { return Ok(true) };
    let (mut readings, mut z) = (Readings::default(), Vec::new());
    scorer.read(filter.layers(), row, &mut readings)?;
    readings.beside = [Vec::new(), scorer.vector_scores(filter.layers(), &document.dense)];
    scorer.log_odds.log_odds(&readings, &mut z);
    let (columns, thresholds) = (scorer.log_odds.columns(), thresholds(filter, document.class, shifts));
    let is_own = |at: usize| columns.is_positive(document.class, at);
    if !columns.are_independent() {
        let best = |of_own: bool| {
            let of = z.iter().enumerate().filter(|(at, _)| is_own(*at) == of_own);
            of.map(|(_, z)| *z).fold(f64::NEG_INFINITY, f64::max)
        };
        return Ok(best(true) > best(false));
    }
    let is_past = |(at, z): (usize, &f64)| {
        let [lower, upper] = thresholds.get(at).copied().unwrap_or_default();
        if is_own(at) { *z > upper } else { *z <= lower }
    };
    Ok(z.iter().enumerate().all(is_past))
}
