//! What was counted, made into the bytes of a model file.

use std::path::Path;

use tamis_model::{Cell, ClassId, Classes, Correction, Counts, GaussianStatistics, Labelled, Statistics};
use tamis_tokenizer::{CountRow, CountVector, TermId, Vocabulary, fingerprint};
use zerocopy::IntoBytes;

use crate::columns::ColumnKind;
use crate::documents::{DocumentRecord, encode_coefficients, encode_vector};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::fitting::{self, Fit, Fitted};
use crate::format::{self, Header};
use crate::mixed::{Table, summarize_columns};
use crate::recipe::Recipe;
use crate::save;
use crate::scorer::{Scorer, positive_class};
use crate::scoring::{DecisionOptions, ExpectationMaximization, Scoring};
use crate::store::{Size, TermsWriter, limited, summarize};
use crate::trainer::{Keep, Learned, Reals, Terms, TrainOptions, Trainer, UNLABELLED};

impl Trainer {
    /// The model of everything learned.
    ///
    /// # Errors
    /// If there are fewer than two labels, the scoring does not suit the documents, windows or decisions are asked for
    /// that only [`Scoring::Weighted`] heeds, or the model is larger than its format allows.
    pub fn finish(self) -> Result<Model> {
        if self.classes.len() < 2 {
            return Err(Error::TooFewLabels { expected: 2, got: self.classes.len() });
        }
        let statistics = match self.n_unlabelled() {
            0 => self.statistics,
            _ => with_unlabelled(&self.statistics, &self.unlabelled)?,
        };
        let mut order = self.vocabulary.canonical_order();
        // Terms of documents that were refused have no counts, and so no place in the vocabulary.
        order.retain(|id| statistics.cells(*id).next().is_some());
        let n_classes = self.classes.len();
        let statistics = statistics.permuted(&order);
        let mut documents = distinct(self.documents, &order, self.vocabulary.len())?;
        documents.iter_mut().filter(|d| d.class == UNLABELLED).for_each(|d| d.class = n_classes as ClassId);
        let scoring = settle_scoring(&self.options, n_classes, &statistics)?;
        let n_terms = order.len();
        let fitted = fit(&scoring, &self.options.decision, &self.classes, &statistics, n_terms, &documents)?;
        let ([directory, terms, texts], size) =
            term_sections(&self.vocabulary, &order, &statistics, &fitted.correction)?;
        let keep = self.options.keep;
        let table = match &scoring {
            Scoring::Mixed(_) => {
                let reals = learn_reals(&self.options.recipe, self.classes.len(), &documents)?;
                let text = |id: TermId| Ok(self.vocabulary.term(order[id as usize]).unwrap_or_default());
                let groups = summarize_columns(&self.options.recipe, &statistics, text)?;
                Some(Table { reals, groups, missing: self.missing })
            }
            _ => None,
        };
        let (documents, vectors) = document_sections(&documents, &fitted, keep)?;
        let sections = [&directory, &terms, &texts, &documents, &vectors];
        let header = Header {
            recipe: self.options.recipe,
            keep,
            summary: summarize(&scoring, &statistics),
            table,
            scoring,
            classes: self.classes,
            totals: statistics.totals().to_vec(),
            decision: fitted.decision,
            temperature: fitted.temperature,
            expected_model: fitted.expected_model,
            expected: fitted.expected,
            size,
            lengths: sections.map(|s| s.len() as u64),
        };
        // A prior or smoothing that does not fit is told now, not when the file is opened.
        Scorer::new(&header)?;
        Ok(Model { bytes: format::write(&header, sections.map(Vec::as_slice))? })
    }
}

/// The scoring asked for, or the default for what was counted.
fn settle_scoring(options: &TrainOptions, n_classes: usize, statistics: &Statistics) -> Result<Scoring> {
    let has_unlabelled = statistics.totals().len() > n_classes;
    let all = statistics.totals().iter().map(|t| t.documents).sum();
    let scoring = match (&options.scoring, has_unlabelled) {
        (None, true) => Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(all)),
        _ => options.scoring_for(n_classes),
    };
    scoring.check(&options.recipe, options.keep)?;
    if has_unlabelled && !matches!(scoring, Scoring::ExpectationMaximization(_)) {
        return Err(Error::Unlabelled);
    }
    let only_for_two = options.decision != DecisionOptions::default() || options.recipe.windows.is_some();
    match (&scoring, n_classes) {
        (Scoring::Weighted(_), _) => Ok(scoring),
        _ if !only_for_two => Ok(scoring),
        (_, 2) => Err(Error::NotWeighted),
        (_, got) => Err(Error::NotTwoLabels { got }),
    }
}

/// The counts of labelled documents, and in a class after theirs those of documents without a label.
fn with_unlabelled(labelled: &Statistics, unlabelled: &Statistics) -> Result<Statistics> {
    let class = labelled.totals().len() as ClassId;
    let totals = labelled.totals().iter().chain(unlabelled.totals());
    let mut all = Statistics::with_documents(totals.map(|t| t.documents));
    for term in 0..labelled.n_terms().max(unlabelled.n_terms()) as TermId {
        let cells = unlabelled.cells(term).map(|cell| Cell { class, ..cell });
        labelled.cells(term).chain(cells).try_for_each(|cell| all.push_cell(term, cell))?;
    }
    Ok(all)
}

/// A document with canonical ids.
struct Distinct {
    digest: [u8; 16],
    class: ClassId,
    multiplicity: u32,
    date: i64,
    group: u64,
    vector: CountVector,
    windows: Vec<CountVector>,
    reals: Reals,
}

impl Distinct {
    /// The rows of which the highest score counts: the whole document and its windows.
    fn parts(&self) -> Vec<CountRow<'_>> {
        std::iter::once(&self.vector).chain(&self.windows).map(CountVector::row).collect()
    }

    fn labelled(&self) -> Labelled<'_> {
        Labelled {
            row: self.vector.row(),
            class: self.class,
            multiplicity: self.multiplicity,
            group: self.group,
        }
    }
}

/// The documents in canonical order, equal ones as one, with the places of their terms in `order` as ids.
fn distinct(mut documents: Vec<Learned>, order: &[TermId], n_terms: usize) -> Result<Vec<Distinct>> {
    let mut canonical = vec![0; n_terms];
    for (new, old) in order.iter().enumerate() {
        canonical[*old as usize] = new as TermId;
    }
    let identity = |document: &Learned| (document.digest, document.class);
    // The same terms can come in another order or at another time: the first by that counts, whoever came first.
    documents.sort_unstable_by_key(|document| (identity(document), document.group, document.date));
    let vector = |terms: &Terms| {
        CountVector::from_pairs(terms.iter().map(|(id, n)| (canonical[*id as usize], *n)))
            .map_err(|e| Error::inconsistent("vectors", "each term once", e))
    };
    documents
        .chunk_by(|a, b| identity(a) == identity(b))
        .map(|equal| {
            Ok(Distinct {
                reals: equal[0].reals.clone(),
                digest: equal[0].digest,
                class: equal[0].class,
                multiplicity: limited("copies of a document", equal.len() as u64)?,
                date: equal[0].date,
                group: equal[0].group,
                vector: vector(&equal[0].terms)?,
                windows: equal[0].windows.iter().map(vector).collect::<Result<_>>()?,
            })
        })
        .collect()
}

/// What the documents, in canonical order, say of the columns of real values.
fn learn_reals(recipe: &Recipe, n_classes: usize, documents: &[Distinct]) -> Result<GaussianStatistics> {
    let n = recipe.columns.iter().filter(|column| column.kind == ColumnKind::Gaussian).count();
    let mut reals = GaussianStatistics::new(n_classes, n);
    for document in documents {
        let mut values = vec![None; n];
        document.reals.iter().for_each(|(column, real)| values[*column] = Some(*real));
        reals.observe_weighted(document.class, &values, document.multiplicity.into())?;
    }
    Ok(reals)
}

/// What the scoring fits to the documents.
fn fit(
    scoring: &Scoring,
    options: &DecisionOptions,
    classes: &Classes,
    statistics: &Statistics,
    n_terms: usize,
    documents: &[Distinct],
) -> Result<Fitted> {
    let rows = || documents.iter().map(Distinct::labelled).collect::<Vec<_>>();
    match scoring {
        Scoring::NaiveBayes(_) | Scoring::Mixed(_) => Ok(Fitted::NONE),
        Scoring::Weighted(weighted) => {
            let windows: Vec<Vec<CountRow<'_>>> = if documents.iter().all(|d| d.windows.is_empty()) {
                Vec::new()
            } else {
                documents.iter().map(Distinct::parts).collect()
            };
            let positive = positive_class(classes);
            fitting::fit(weighted, options, statistics, n_terms as u64, &rows(), &windows, positive)
        }
        Scoring::OneAgainstRest(weighted) => {
            fitting::fit_classes(weighted, statistics, n_terms as u64, &rows())
        }
        Scoring::ExpectationMaximization(settings) => {
            fitting::maximize_expectation(settings, statistics, classes.len(), &rows())
        }
    }
}

fn term_sections(
    vocabulary: &Vocabulary,
    order: &[TermId],
    statistics: &Statistics,
    correction: &Fit,
) -> Result<([Vec<u8>; 3], Size)> {
    let mut writer = TermsWriter::default();
    let mut weights = Vec::new();
    for (new, old) in order.iter().enumerate() {
        let (new, text) = (new as TermId, vocabulary.term(*old).unwrap_or_default());
        weights.clear();
        match correction {
            Fit::None => (),
            Fit::Two(correction, _) => weights.extend(weight_of(correction, new)?.map(|weight| (0, weight))),
            Fit::Many(correction, _) => weights.extend(correction.weights(new).map(|w| (w.class, w.units))),
            Fit::Expected(expected) => {
                let bits = |weight: f64| (weight as f32).to_bits() as i32;
                weights.extend(expected.weights(new).map(|(class, weight)| (class, bits(weight))));
            }
        }
        writer.push(fingerprint(text), text, statistics.cells(new), weights.iter().copied())?;
    }
    writer.finish()
}

/// The weight of a term in the correction of two classes, unless it is 0.
fn weight_of(correction: &Correction, id: TermId) -> Result<Option<i32>> {
    let weight = correction.weights().get(id as usize).copied().unwrap_or(0);
    let limit =
        Error::TooLarge { what: "units of correction", limit: i32::MAX as u64, got: weight.unsigned_abs() };
    Ok(Some(i32::try_from(weight).map_err(|_| limit)?).filter(|weight| *weight != 0))
}

fn document_sections(documents: &[Distinct], fitted: &Fitted, keep: Keep) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut records, mut vectors) = (Vec::new(), Vec::new());
    for (i, document) in documents.iter().enumerate() {
        if keep == Keep::Vectors {
            match &fitted.correction {
                Fit::Many(_, coefficients) => encode_coefficients(&coefficients[i], &mut vectors),
                Fit::None | Fit::Two(..) | Fit::Expected(_) => (),
            }
            encode_vector(document.vector.row(), &mut vectors);
        }
        let coefficient = match &fitted.correction {
            Fit::Two(_, coefficients) => coefficients[i],
            _ => 0,
        };
        let held_out = fitted.held_out.get(i).copied().flatten();
        let record = DocumentRecord {
            digest: document.digest,
            class: document.class.into(),
            multiplicity: document.multiplicity.into(),
            date: document.date.into(),
            group: document.group.into(),
            coefficient: coefficient.into(),
            held_out: held_out.map_or(f32::NAN, |score| score as f32).into(),
            vector_end: (vectors.len() as u64).into(),
        };
        records.extend_from_slice(record.as_bytes());
    }
    Ok((records, vectors))
}

/// A trained model: the bytes of its file.
#[derive(Clone, PartialEq, Eq)]
pub struct Model {
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} bytes)", self.bytes.len())
    }
}

impl Model {
    /// The bytes of the model file. Equal learning gives equal bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the model to a file, replacing what is there in one step: a reader sees the old file or the new one,
    /// never a part. Writers take turns on `PATH.lock`.
    ///
    /// # Errors
    /// If the file cannot be written; what was there stays.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save::replace(path.as_ref(), &self.bytes)
    }

    /// The filter that this model is.
    ///
    /// # Errors
    /// None that is not a defect of this crate.
    pub fn into_filter(self) -> Result<Filter> {
        Filter::from_bytes(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Document, Kind};

    #[test]
    fn what_only_weighted_scoring_heeds_is_refused_elsewhere() {
        let finish = |scoring: &Option<Scoring>, labels: &[&str], change: fn(&mut TrainOptions)| {
            let mut options = TrainOptions { scoring: scoring.clone(), ..TrainOptions::new(Kind::Text) };
            change(&mut options);
            let mut trainer = Trainer::new(options).unwrap();
            labels.iter().for_each(|label| trainer.add(label, Document::Text(label)).unwrap());
            trainer.finish()
        };
        let asked: [fn(&mut TrainOptions); 2] =
            [|options| options.recipe.windows = Some(100), |options| options.decision.cost = Some(9.0)];
        for ask in asked {
            let bayes = Some(Scoring::NaiveBayes(Scoring::parameters()));
            assert!(finish(&None, &["a", "b"], ask).is_ok());
            assert!(matches!(finish(&bayes, &["a", "b"], ask), Err(Error::NotWeighted)));
            assert!(matches!(finish(&None, &["a", "b", "c"], ask), Err(Error::NotTwoLabels { got: 3 })));
        }
        assert!(finish(&None, &["a", "b", "c"], |_| ()).is_ok());
    }
}
