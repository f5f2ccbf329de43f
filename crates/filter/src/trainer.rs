use std::path::Path;

use serde::{Deserialize, Serialize};
use tamis_model::{
    ClassId, ClassPrior, Classes, Counting, Counts, FeatureLimits, Likelihood, Parameters, Smoothing,
    Statistics,
};
use tamis_tokenizer::{CountVector, TermId, Vocabulary, fingerprint};
use xxhash_rust::xxh3::Xxh3;
use zerocopy::IntoBytes;

use crate::documents::{DocumentRecord, NO_DATE, encode_vector};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::format::{self, Header};
use crate::recipe::{Document, Extractor, Kind, Recipe, TermScratch, digest};
use crate::save;
use crate::store::{CellRecord, TermRecord};

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to know a document again. The default for text.
    Digests,
    /// Their terms as well (about 1 kB a mail): enough to forget one that is not at hand. The default for mail.
    Vectors,
}

/// Everything that decides how a model is trained.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainOptions {
    /// How documents become terms.
    pub recipe: Recipe,
    /// Likelihood, smoothing, prior and limits on features.
    pub parameters: Parameters,
    /// What is remembered of each document.
    pub keep: Keep,
}

impl TrainOptions {
    /// The defaults for a kind of documents: multinomial naive Bayes over presence, learned priors, alpha 0.01 for
    /// mail and 0.1 for text.
    pub fn new(kind: Kind) -> Self {
        let keep = match kind {
            Kind::Mail => Keep::Vectors,
            Kind::Text => Keep::Digests,
        };
        TrainOptions { recipe: Recipe::new(kind), parameters: default_parameters(kind), keep }
    }
}

fn default_parameters(kind: Kind) -> Parameters {
    // Measured: 0.01 to 0.1 is several times better than Laplace's 1 on mail and on topics.
    let alpha = match kind {
        Kind::Mail => 0.01,
        Kind::Text => 0.1,
    };
    Parameters {
        likelihood: Likelihood::Multinomial,
        counting: Counting::Presence,
        alpha: Smoothing::try_from(alpha).unwrap_or(Smoothing::LAPLACE),
        prior: ClassPrior::Learned,
        features: FeatureLimits::default(),
    }
}

/// A document whose terms still have the trainer's own ids, ordered by fingerprint.
struct Counted {
    digest: [u8; 16],
    class: ClassId,
    group: u64,
    terms: Box<[(TermId, u32)]>,
}

/// Counts labelled documents into a model.
///
/// Trainers add up: give every thread one, [`merge`](Trainer::merge) them, and the model has the same bytes
/// whatever the shares and the order.
///
/// ```
/// use tamis_filter::{Document, Kind, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// trainer.add("fruit", Document::Text("apples and pears"))?;
/// trainer.add("metal", Document::Text("iron and tin"))?;
/// let filter = trainer.finish()?.into_filter()?;
/// assert_eq!(filter.information().n_terms, 5);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub struct Trainer {
    options: TrainOptions,
    extractor: Extractor,
    vocabulary: Vocabulary,
    classes: Classes,
    statistics: Statistics,
    documents: Vec<Counted>,
    buffers: Buffers,
}

#[derive(Default)]
struct Buffers {
    terms: TermScratch,
    ids: Vec<TermId>,
    vector: CountVector,
}

impl Trainer {
    /// A trainer that has seen nothing.
    ///
    /// # Errors
    /// If the recipe's options are out of range or its version is not this one.
    pub fn new(options: TrainOptions) -> Result<Self> {
        let extractor = Extractor::new(options.recipe.clone())?;
        let options = TrainOptions { recipe: extractor.recipe().clone(), ..options };
        Ok(Trainer {
            options,
            extractor,
            vocabulary: Vocabulary::new(),
            classes: Classes::new(Vec::<String>::new())?,
            statistics: Statistics::new(0),
            documents: Vec::new(),
            buffers: Buffers::default(),
        })
    }

    /// Documents seen, those given several times counted as often.
    pub fn n_documents(&self) -> u64 {
        self.statistics.totals().iter().map(|t| t.documents).sum()
    }

    /// The labels seen.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The same trainer with other parameters: what was counted does not depend on them.
    pub fn with_parameters(mut self, parameters: Parameters) -> Self {
        self.options.parameters = parameters;
        self
    }

    /// Learns one document.
    ///
    /// # Errors
    /// If the document is of the wrong kind, the label not acceptable or a count overflows; nothing is learned then.
    pub fn add(&mut self, label: &str, document: Document<'_>) -> Result<()> {
        let Buffers { terms, ids, vector } = &mut self.buffers;
        ids.clear();
        let (vocabulary, mut full) = (&mut self.vocabulary, None);
        let mut body = Xxh3::new();
        self.extractor.for_each_term(document, terms, |term, in_body| match vocabulary.intern(term) {
            Ok(id) => {
                ids.push(id);
                if in_body {
                    body.update(term.as_bytes());
                    body.update(b"\0");
                }
            }
            Err(error) => full = Some(error),
        })?;
        if let Some(error) = full {
            return Err(error.into());
        }
        vector.assign_ids(ids);
        let class = self.class_of(label)?;
        let vector = &self.buffers.vector;
        self.statistics.observe(class, vector.row())?;
        let mut terms: Box<[_]> = vector.row().iter().collect();
        terms.sort_unstable_by_key(|(id, _)| self.vocabulary.fingerprint(*id));
        let prints = terms.iter().map(|(id, n)| (self.vocabulary.fingerprint(*id).unwrap_or_default(), *n));
        let digest = digest(self.options.recipe.version, prints);
        let terms = if self.options.keep == Keep::Vectors { terms } else { Box::default() };
        self.documents.push(Counted { digest, class, group: body.digest(), terms });
        Ok(())
    }

    /// The class of a label, new if it was not seen before: then those after it move up.
    fn class_of(&mut self, label: &str) -> Result<ClassId> {
        if let Some(class) = self.classes.index(label) {
            return Ok(class);
        }
        let class = self.classes.insert(label)?;
        self.statistics.insert_class(class);
        self.documents.iter_mut().filter(|d| d.class >= class).for_each(|d| d.class += 1);
        Ok(class)
    }

    /// Adds everything that another trainer has learned.
    ///
    /// # Errors
    /// If the settings differ or a count overflows.
    pub fn merge(&mut self, mut other: Trainer) -> Result<()> {
        if self.options != other.options {
            return Err(Error::DifferentSettings);
        }
        for (_, label) in self.classes.clone().iter() {
            other.class_of(label)?;
        }
        for (_, label) in other.classes.iter() {
            self.class_of(label)?;
        }
        let terms = self.vocabulary.merge(&other.vocabulary)?;
        self.statistics.merge_mapped(&other.statistics, &terms)?;
        for document in &mut other.documents {
            document.terms.iter_mut().for_each(|(id, _)| *id = terms[*id as usize]);
        }
        self.documents.append(&mut other.documents);
        Ok(())
    }

    /// The model of everything learned.
    ///
    /// # Errors
    /// If there are fewer than two labels, or the model is larger than its format allows.
    pub fn finish(self) -> Result<Model> {
        if self.classes.len() < 2 {
            return Err(Error::TooFewLabels { expected: 2, got: self.classes.len() });
        }
        let mut order = self.vocabulary.canonical_order();
        // Terms of documents that were refused have no counts, and so no place in the vocabulary.
        order.retain(|id| self.statistics.cells(*id).next().is_some());
        let mut canonical = vec![0; self.vocabulary.len()];
        for (new, old) in order.iter().enumerate() {
            canonical[*old as usize] = new as TermId;
        }
        let statistics = self.statistics.permuted(&order);
        let Ok(summary) = self.options.parameters.summarize(&statistics);
        let (terms, cells, texts) = term_sections(&self.vocabulary, &order, &statistics)?;
        let (documents, vectors) = document_sections(self.documents, &canonical)?;
        let sections = [&terms, &cells, &texts, &documents, &vectors];
        let header = Header {
            recipe: self.options.recipe,
            keep: self.options.keep,
            parameters: self.options.parameters,
            classes: self.classes,
            totals: statistics.totals().to_vec(),
            summary,
            lengths: sections.map(|s| s.len() as u64),
        };
        // A prior or smoothing that does not fit is told now, not when the file is opened.
        tamis_model::NaiveBayes::new(&header.parameters, &header.summary)?;
        Ok(Model { bytes: format::write(&header, sections.map(Vec::as_slice))? })
    }
}

fn term_sections(
    vocabulary: &Vocabulary,
    order: &[TermId],
    statistics: &Statistics,
) -> Result<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let (mut terms, mut cells, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut n_cells = 0u64;
    for (new, old) in order.iter().enumerate() {
        let text = vocabulary.term(*old).unwrap_or_default();
        texts.extend_from_slice(text.as_bytes());
        for cell in statistics.cells(new as TermId) {
            let record = CellRecord { class: cell.class.into(), df: cell.df.into(), tf: cell.tf.into() };
            cells.extend_from_slice(record.as_bytes());
            n_cells += 1;
        }
        let record = TermRecord {
            fingerprint: fingerprint(text).into(),
            cells_end: limited("cells", n_cells)?.into(),
            text_end: limited("bytes of terms", texts.len() as u64)?.into(),
        };
        terms.extend_from_slice(record.as_bytes());
    }
    Ok((terms, cells, texts))
}

fn limited(what: &'static str, got: u64) -> Result<u32> {
    u32::try_from(got).map_err(|_| Error::TooLarge { what, limit: u32::MAX.into(), got })
}

fn document_sections(mut documents: Vec<Counted>, canonical: &[TermId]) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut records, mut vectors) = (Vec::new(), Vec::new());
    let identity = |document: &Counted| (document.digest, document.class);
    // The same terms can come in another order: the group is then that of whichever is first here, whoever came first.
    documents.sort_unstable_by_key(|document| (identity(document), document.group));
    for equal in documents.chunk_by(|a, b| identity(a) == identity(b)) {
        // Ordered by fingerprint, which is the order of canonical ids.
        let (ids, counts) = equal[0].terms.iter().map(|(id, n)| (canonical[*id as usize], *n)).unzip();
        let vector = CountVector::new(ids, counts)
            .map_err(|e| Error::inconsistent("vectors", "terms ordered by fingerprint", e))?;
        encode_vector(vector.row(), &mut vectors);
        let record = DocumentRecord {
            digest: equal[0].digest,
            class: equal[0].class.into(),
            multiplicity: limited("copies of a document", equal.len() as u64)?.into(),
            date: NO_DATE.into(),
            group: equal[0].group.into(),
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
