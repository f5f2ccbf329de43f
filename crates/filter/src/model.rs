//! What was counted, made into the bytes of a model file.

use std::io::{self, Write};
use std::path::Path;

use rayon::prelude::*;
use tamis_model::{BLOCK, Cell, Classes, Counts, GaussianStatistics, SmoothingChoice, Statistics};
use tamis_tokenizer::TermId;
use zerocopy::IntoBytes;
use zerocopy::little_endian::F32;

use crate::columns::ColumnKind;
use crate::documents::{DocumentRecord, as_kept, encode_coefficients, encode_vector};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::fitting::{self, Fitted, Weights};
use crate::format::{self, Header};
use crate::learned::Learned;
use crate::map::Bytes;
use crate::mixed::{Table, summarize_columns};
use crate::names;
use crate::ordered::Ordered;
use crate::recipe::Recipe;
use crate::save::{Lock, PATIENCE};
use crate::scorer::Scorer;
use crate::scoring::{Chosen, Decision, DecisionOptions, ExpectationMaximization, Scoring};
use crate::spool::Spool;
use crate::store::{GROUP, Size, TermsWriter, summarize};
use crate::trainer::{Keep, TrainOptions, Trainer, spill};
use crate::union::Union;

impl Trainer {
    /// The model of everything learned.
    ///
    /// # Errors
    /// If there are fewer than two labels, the scoring does not suit the documents, windows or decisions are asked for
    /// that only [`Scoring::Weighted`] heeds, or the model is larger than its format allows.
    pub fn finish(mut self) -> Result<Model> {
        if self.classes.len() < 2 {
            return Err(Error::TooFewLabels { expected: 2, got: self.classes.len() });
        }
        let (trainer, union) = self.settle_terms()?;
        self = trainer;
        self.forget_places();
        let mut parts = self.parts;
        let rows: Vec<_> = parts.iter_mut().map(|part| std::mem::take(&mut part.rows)).collect();
        let union = union.map_or_else(|| Union::new(&parts), Ok)?;
        let (n_classes, n_terms) = (self.classes.len(), union.n_terms());
        let mut documents = Ordered::new(self.documents, rows, &union.ids, (n_classes, n_terms))?;
        let statistics = &union.statistics;
        let scoring = settle_scoring(&self.options, n_classes, statistics)?;
        let asked = &self.options.decision;
        let how = (&scoring, asked, asked.default_for(&self.classes)?);
        let fitted = fit(how, &self.classes, statistics, &mut documents, None)?;
        let table = match &scoring {
            Scoring::Mixed(_) => {
                let reals = learn_reals(&self.options.recipe, self.classes.len(), &documents.documents)?;
                let text = |id: TermId| Ok(union.term(&parts, id).1);
                let groups = summarize_columns(&self.options.recipe, statistics, text)?;
                Some(Table { reals, groups, missing: self.missing })
            }
            _ => None,
        };
        let keep = self.options.keep;
        let (sections, documents) = rayon::join(
            || {
                term_sections(n_terms, |writer, id| {
                    write_term(writer, union.term(&parts, id), statistics.cells(id), &fitted.weights, id)
                })
            },
            || document_sections(&mut documents, &fitted, keep),
        );
        let bias = fitted.bias();
        let Ok(summary) = summarize(&scoring, statistics);
        let header = Header {
            recipe: self.options.recipe,
            asked: Some(self.options.decision),
            changes: 0,
            unfitted: 0,
            keep,
            names: self.options.names,
            summary,
            table,
            scoring,
            classes: self.classes,
            totals: statistics.totals().to_vec(),
            decision: fitted.decision,
            chosen: fitted.chosen.map(|chosen| Chosen { pairs: self.pair_losses, ..chosen }),
            bias,
            expected_model: fitted.expected_model,
            expected: fitted.expected,
            size: Size::default(),
            lengths: Default::default(),
        };
        seal(header, sections?, documents?)
    }
}

/// The model of a header and its sections, terms and documents; the header is told of their sizes.
pub(crate) fn seal(
    header: Header,
    ([directory, terms, texts], size): ([Vec<u8>; 3], Size),
    (documents, vectors): (impl Into<Spool>, impl Into<Spool>),
) -> Result<Model> {
    let sections = [directory.into(), terms.into(), texts.into(), documents.into(), vectors.into()];
    let mut header = Header { size, lengths: sections.each_ref().map(Spool::len), ..header };
    // those beyond the last are 0
    header.bias.truncate(header.bias.iter().rposition(|bias| *bias != 0).map_or(0, |last| last + 1));
    // A prior or smoothing that does not fit is told now, not when the file is opened.
    Scorer::new(&header, &header.totals, header.n_terms(), &header.bias)?;
    let mut whole = format::write(&header, sections.each_ref())?;
    let map = whole.map().map_err(spill)?;
    Ok(Model { whole, map })
}

/// The scoring asked for, or the default for what was counted.
fn settle_scoring(options: &TrainOptions, n_classes: usize, statistics: &Statistics) -> Result<Scoring> {
    let has_unlabelled = statistics.totals().len() > n_classes;
    let all = statistics.totals().iter().map(|t| t.documents).sum();
    let scoring = match (&options.scoring, has_unlabelled) {
        (None, true) => Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(all)),
        _ => options.scoring(),
    };
    scoring.check(&options.recipe, options.keep)?;
    if has_unlabelled && !matches!(scoring, Scoring::ExpectationMaximization(_)) {
        return Err(Error::Unlabelled);
    }
    let only_for_two = options.decision != DecisionOptions::default() || options.recipe.windows.is_some();
    match (&scoring, n_classes) {
        (Scoring::Weighted(_), 2) => Ok(scoring),
        _ if !only_for_two => Ok(scoring),
        (_, 2) => Err(Error::NotWeighted),
        (_, got) => Err(Error::NotTwoLabels { got }),
    }
}

/// What the documents, in canonical order, say of the columns of real values.
fn learn_reals(recipe: &Recipe, n_classes: usize, documents: &[Learned]) -> Result<GaussianStatistics> {
    let n = recipe.columns.iter().filter(|column| column.kind == ColumnKind::Gaussian).count();
    let mut reals = GaussianStatistics::new(n_classes, n);
    for document in documents {
        let mut values = vec![None; n];
        let Learned { class, multiplicity, .. } = document;
        document.reals().iter().for_each(|(column, real)| values[*column] = Some(*real));
        reals.observe_weighted(*class, &values, f64::from(*multiplicity))?;
    }
    Ok(reals)
}

/// What the scoring fits to the documents, with what is asked of decisions and what they are otherwise; `smoothing` if it was chosen
/// already.
pub(crate) fn fit(
    (scoring, asked, default): (&Scoring, &DecisionOptions, Decision),
    classes: &Classes,
    statistics: &Statistics,
    documents: &mut Ordered,
    smoothing: Option<SmoothingChoice>,
) -> Result<Fitted> {
    let fitted = match scoring {
        Scoring::NaiveBayes(_) | Scoring::Mixed(_) => Fitted::NONE,
        Scoring::Weighted(options) => {
            let decide = |scores: &[(f64, bool)]| {
                fitting::decide(scores, asked, default, statistics.totals(), classes)
            };
            let smoothing = match smoothing {
                Some(smoothing) => smoothing,
                None => fitting::smoothing(options, statistics, documents, classes)?,
            };
            fitting::fit((options, smoothing), decide, statistics, documents, classes)?
        }
        Scoring::ExpectationMaximization(settings) => {
            fitting::maximize_expectation(settings, statistics, classes.len(), documents)?
        }
    };
    documents.check().map(|()| fitted)
}

/// Terms that one thread writes at a time: whole groups.
const STRETCH: usize = 512 * GROUP;

/// The sections of so many terms, each written by `write`.
pub(crate) fn term_sections(
    n_terms: usize,
    write: impl Fn(&mut TermsWriter, TermId) -> Result<()> + Sync,
) -> Result<([Vec<u8>; 3], Size)> {
    let stretches: Vec<_> = (0..n_terms).step_by(STRETCH).collect();
    let written = stretches.into_par_iter().map(|first| {
        let mut writer = TermsWriter::default();
        let mut stretch = first as TermId..n_terms.min(first + STRETCH) as TermId;
        stretch.try_for_each(|id| write(&mut writer, id))?;
        Ok(writer)
    });
    let mut writer = TermsWriter::default();
    for stretch in written.collect::<Result<Vec<_>>>()? {
        writer.append(stretch)?;
    }
    writer.finish()
}

/// Writes a term, by its id in the weights.
pub(crate) fn write_term(
    writer: &mut TermsWriter,
    (fingerprint, text): (u64, &str),
    cells: impl Iterator<Item = Cell>,
    weights: &Weights,
    id: TermId,
) -> Result<()> {
    match weights {
        Weights::None => writer.push(fingerprint, text, cells, std::iter::empty()),
        Weights::Correction(correction, _) => {
            let weights = correction.weights(id).map(|weight| (weight.class, weight.units));
            writer.push(fingerprint, text, cells, weights)
        }
        Weights::Expected(expected) => {
            let bits = |weight: f64| i64::from((weight as f32).to_bits());
            let weights = expected.weights(id).map(|(class, weight)| (class, bits(weight)));
            writer.push(fingerprint, text, cells, weights)
        }
    }
}

/// The sections `documents` and `vectors`.
pub(crate) fn document_sections(
    documents: &mut Ordered,
    fitted: &Fitted,
    keep: Keep,
) -> Result<(Spool, Spool)> {
    let (mut records, mut vectors) = (Spool::default(), Spool::default());
    let mut held_out = fitted.held_out.iter().peekable();
    for (block, learned) in documents.documents.chunks(BLOCK).enumerate() {
        let encoded = (keep == Keep::Vectors).then(|| documents.encoded(block));
        let encode = |(chunk, learned): (usize, &[Learned])| {
            let (mut vectors, mut ends) = (Vec::new(), Vec::with_capacity(learned.len()));
            for (at, document) in (chunk * TOGETHER..).zip(learned) {
                names::encode(document.name(), &mut vectors);
                if let Weights::Correction(_, coefficients) = &fitted.weights {
                    encode_coefficients(
                        &coefficients.of(block * BLOCK + at).collect::<Vec<_>>(),
                        &mut vectors,
                    );
                }
                if let Some(encoded) = &encoded {
                    encode_vector(encoded.terms(at).vector().row(), &mut vectors);
                }
                ends.push(vectors.len() as u64);
            }
            (vectors, ends)
        };
        let chunks: Vec<_> = learned.par_chunks(TOGETHER).enumerate().map(encode).collect();
        let mut at = block * BLOCK..;
        for ((of_chunk, ends), learned) in chunks.into_iter().zip(learned.chunks(TOGETHER)) {
            for ((document, end), at) in learned.iter().zip(ends).zip(&mut at) {
                let own = held_out.next_if(|(held, _)| *held == at).map(|(_, both)| *both);
                let record = DocumentRecord {
                    digest: document.digest,
                    class: document.class.into(),
                    multiplicity: document.multiplicity.into(),
                    date: document.date().into(),
                    group: document.group.into(),
                    held_out: own.map_or([f32::NAN; 2], as_kept).map(F32::new),
                    learned: 0.into(),
                    vector_end: (vectors.len() + end).into(),
                };
                records.push(record.as_bytes()).map_err(spill)?;
            }
            vectors.push(&of_chunk).map_err(spill)?;
        }
        encoded.into_iter().for_each(|encoded| documents.give_back(encoded));
    }
    documents.check().map(|()| (records, vectors))
}

/// Documents that one thread encodes at a time.
const TOGETHER: usize = 256;

/// A trained model: the bytes of its file, in memory or, if there are many, in a temporary file.
pub struct Model {
    whole: Spool,
    /// Of the temporary file.
    map: Option<Bytes>,
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Model { whole: self.as_bytes().to_vec().into(), map: None }
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Model {}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} bytes)", self.whole.len())
    }
}

impl Model {
    /// The bytes of the model file. Equal learning gives equal bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.map.as_deref().or(self.whole.in_memory()).unwrap_or_default()
    }

    /// Writes all bytes, those of a file some at a time.
    pub(crate) fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        self.whole.for_each(|bytes| out.write_all(bytes))
    }

    /// Writes the model to a file, replacing what is there in one step: a reader sees the old file or the new one,
    /// never a part. Writers take turns on `PATH.lock`, and wait a minute at most. A new file is its owner's alone; one that
    /// was there keeps its mode.
    ///
    /// # Errors
    /// As [`Lock::wait`] and [`Lock::save`]; what was there stays.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Lock::wait(path, PATIENCE)?.save(self)
    }

    /// The filter that this model is.
    ///
    /// # Errors
    /// None that is not a defect of this crate.
    pub fn into_filter(self) -> Result<Filter> {
        match self.map {
            Some(map) => Filter::from_map(map),
            None => Filter::from_bytes(self.whole.into_memory()),
        }
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

    #[test]
    fn of_documents_with_the_same_words_it_does_not_matter_which_came_first() {
        let model = |order: [&str; 3]| {
            let mut options = TrainOptions::new(Kind::Text);
            options.recipe.windows = Some(20);
            let mut trainer = Trainer::new(options).unwrap();
            order.iter().for_each(|text| trainer.add("ham", Document::Text(text)).unwrap());
            trainer.add("spam", Document::Text("a")).unwrap();
            trainer.finish().unwrap()
        };
        // cut into windows at other places
        let [one, other, third] =
            ["a pear is a fruit, lunch at noon", "a pear is a fruit ,,,,,,,, lunch at noon", ""];
        assert_eq!(model([one, third, other]).as_bytes(), model([other, one, third]).as_bytes());
    }
}
