//! The trainer: counts labelled documents into a model.

use std::borrow::Cow;

use tamis_filter::extract::document::{Document, digest, digest_of_nothing};
use tamis_filter::extract::extraction::Extraction;
use tamis_filter::extract::extractor::Extractor;
use tamis_model::{ClassId, Classes, Counts, Label, Stretch, VectorStatistics};
use tamis_store::config::decision::DecisionOptions;
use tamis_store::config::labels::{NO_LABELS, check_label, spam_class, split_labels};
use tamis_store::config::recipe::Recipe;
use tamis_store::config::refinement::TriedRefinement;
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::{Labels, TrainOptions};
use tamis_store::disk::spool::spill;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::group_number;
use tamis_tokenizer::TermId;

use crate::gather::document::{DocumentIndex, More, TrainingDocument, UNLABELLED, copies};
use crate::gather::merged::{self, Shard};
use crate::gather::texts::{RawExample, Texts};

/// Equal documents that were given under several labels.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Contradiction {
    /// The digest that they share, see [`Filter::digest`](crate::Filter::digest).
    pub digest: [u8; 16],
    /// The classes in increasing order, each with the number of times the document counts there.
    pub classes: Vec<(ClassId, u32)>,
}

/// Counts labelled documents into a model.
///
/// Trainers can be merged: give each thread its own, then [`merge`](Trainer::merge) them. The model has the same bytes
/// for any split and order of the documents.
///
/// ```
/// use tamis_train::{Document, Kind, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// trainer.add("fruit", Document::Text("apples and pears"))?;
/// trainer.add("metal", Document::Text("iron and tin"))?;
/// let filter = trainer.finish()?.into_filter()?;
/// assert_eq!(filter.information().size.terms, 5);
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct Trainer {
    pub(crate) options: TrainOptions,
    pub(crate) extractor: Extractor,
    pub(crate) classes: Classes,
    /// The trainer's own counts, then those of trainers merged into it.
    pub(crate) parts: Vec<Shard>,
    /// The distinct documents, and an index to find them.
    pub(crate) documents: Vec<TrainingDocument>,
    known: DocumentIndex,
    /// The unlabelled documents, set apart and not counted while training ends.
    pub(crate) apart: Vec<TrainingDocument>,
    /// The digest of documents without terms, which never equal one another.
    pub(crate) nothing: [u8; 16],
    /// Whether it includes counts of documents that are elsewhere.
    pub(crate) counts_alone: bool,
    /// The statistics of dense vectors of such documents.
    pub(crate) elsewhere: Option<VectorStatistics>,
    pub(crate) tally: TrainingTally,
    pub(crate) current: CurrentDocument,
    /// The texts of all documents, as long as it is open which terms there are. They are counted again if there are more
    /// than words.
    pub(crate) texts: Option<Texts>,
    /// The refinements that were tried.
    pub(crate) tried: Vec<TriedRefinement>,
}

/// What is counted of documents besides their terms.
#[derive(Default)]
pub(crate) struct TrainingTally {
    /// Documents that equal an earlier one with the same label.
    pub(crate) n_equal: u64,
    /// Counted documents that a limit truncated.
    n_truncated: u64,
    /// Counted messages that were inside another filter's wrapper.
    n_wrapped: u64,
    /// Counted texts that were HTML.
    n_html: u64,
    /// Missing cells of each column.
    pub(crate) missing: Vec<u64>,
}

/// The document that was last counted.
pub(crate) struct CurrentDocument {
    pub(crate) counted: Extraction,
    /// Its terms, in the order of their first occurrence.
    terms: Vec<(TermId, u32)>,
    /// Its digest, if it was learned.
    pub(crate) digest: Option<[u8; 16]>,
}

impl Trainer {
    /// The greatest weight of a document.
    pub const MOST_WEIGHT: f64 = 1e6;

    /// Creates an empty trainer.
    ///
    /// # Errors
    /// If the recipe's options are out of range or its version is not this one.
    pub fn new(mut options: TrainOptions) -> Result<Self> {
        let extractor = Extractor::new(options.recipe.clone())?;
        options.recipe = extractor.recipe().clone();
        let missing = vec![0; options.recipe.columns.len()];
        let nothing = digest_of_nothing(&options.recipe);
        let texts = (!options.to_try().is_empty()).then(Texts::default);
        let are_many = options.labels == Labels::Many;
        let classes = Classes::new(are_many.then_some(NO_LABELS))?;
        Ok(Trainer {
            options,
            extractor,
            parts: vec![Shard::new(classes.len())],
            classes,
            documents: Vec::new(),
            known: DocumentIndex::default(),
            apart: Vec::new(),
            nothing,
            counts_alone: false,
            elsewhere: None,
            tally: TrainingTally { missing, ..TrainingTally::default() },
            current: CurrentDocument { counted: Extraction::identifying(), terms: Vec::new(), digest: None },
            texts,
            tried: Vec::new(),
        })
    }

    /// Number of labelled documents counted.
    pub fn n_documents(&self) -> u64 {
        self.parts.iter().flat_map(|part| part.statistics.totals()).map(|t| t.documents).sum()
    }

    /// Number of unlabelled documents counted.
    pub fn n_unlabelled(&self) -> u64 {
        self.parts.iter().map(|part| part.unlabelled.totals()[0].documents).sum()
    }

    /// The labels seen.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The recipe; the columns of a table are in the order of their names.
    pub fn recipe(&self) -> &Recipe {
        &self.options.recipe
    }

    /// For rows of a table, the number of missing cells in each column of the recipe.
    pub fn missing(&self) -> &[u64] {
        &self.tally.missing
    }

    /// Number of counted documents that a limit of the recipe truncated.
    pub fn n_truncated(&self) -> u64 {
        self.tally.n_truncated
    }

    /// Number of counted messages that were inside another filter's wrapper.
    pub fn n_wrapped(&self) -> u64 {
        self.tally.n_wrapped
    }

    /// Number of counted texts that were HTML, of which only the text was read.
    pub fn n_html(&self) -> u64 {
        self.tally.n_html
    }

    /// How counts become scores.
    pub fn scoring(&self) -> Scoring {
        self.options.scoring()
    }

    /// Sets another scoring. The counts do not depend on it.
    ///
    /// A trainer that began with naive Bayes and digests only has not kept the documents that weighted scoring needs.
    /// The correction then learns nothing. Nor does one that had no correction know which terms would help it.
    pub fn with_scoring(mut self, scoring: Scoring) -> Self {
        self.options.scoring = Some(scoring);
        if self.options.to_try().is_empty() {
            self.texts = None;
        }
        self
    }

    /// Sets other requirements on decisions between two classes.
    pub fn with_decision(mut self, decision: DecisionOptions) -> Self {
        self.options.decision = decision;
        self
    }

    /// Number of documents that equal an earlier one with the same label. Documents without terms never equal one
    /// another. [`TrainOptions::repeat`](crate::TrainOptions::repeat) says whether duplicates count.
    pub fn n_equal(&self) -> u64 {
        self.tally.n_equal
    }

    /// Number of counted documents of a class.
    pub fn n_documents_of(&self, class: ClassId) -> u64 {
        let totals = self.parts.iter().filter_map(|part| part.statistics.totals().get(usize::from(class)));
        totals.map(|totals| totals.documents).sum()
    }

    /// The [digest](crate::Filter::digest) of the document that was added last.
    pub fn last_digest(&self) -> Option<[u8; 16]> {
        self.current.digest
    }

    /// Equal documents with several labels, in the order of digests: some of the labels are probably wrong.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("an apple"))?;
    /// trainer.add("metal", Document::Text("an apple"))?;
    /// trainer.add("metal", Document::Text("iron"))?;
    /// assert_eq!(trainer.contradictions()[0].classes, [(0, 1), (1, 1)]);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let is_one = |d: &&TrainingDocument| d.class != UNLABELLED && d.digest != self.nothing;
        let mut documents: Vec<_> = self.documents.iter().filter(is_one).collect();
        documents.sort_unstable_by_key(|document| (document.digest, document.class));
        let equal = documents.chunk_by(|a, b| a.digest == b.digest).filter(|equal| equal.len() > 1);
        let contradiction = |equal: &[&TrainingDocument]| Contradiction {
            digest: equal[0].digest,
            classes: equal.iter().map(|d| (d.class, d.multiplicity)).collect(),
        };
        equal.map(contradiction).collect()
    }

    /// Learns one document. A document that equals another with the same label counts again only if
    /// [`TrainOptions::repeat`] says so.
    ///
    /// # Errors
    /// If the document is of the wrong kind, a cell does not suit its column, the label is not acceptable or a count
    /// overflows. Nothing is learned then.
    pub fn add(&mut self, label: &str, document: Document<'_>) -> Result<()> {
        self.add_in_group(label, None, document)
    }

    /// As [`add`](Self::add), for a document of a group: an author, a thread, a customer. Documents of a group are
    /// always held out together, whatever their labels. Choices, calibration and expected error rates then hold for new
    /// groups. By default, or if the name is empty, documents with the same body are a group.
    ///
    /// Equal documents of different groups still count as equal. They all belong to the group with the lowest hash.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_in_group(&mut self, label: &str, group: Option<&str>, document: Document<'_>) -> Result<()> {
        self.add_weighted(1.0, label, group, document)
    }

    /// As [`add_in_group`](Self::add_in_group), for a document of some weight. A whole weight is as many copies. Of any
    /// other, the fit of weighted scoring takes the fraction too, to a thousandth, while the counts, which are integers,
    /// have the nearest number of copies, but at least one. Nothing is learned with weight 0.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add_weighted(3.0, "fruit", None, Document::Text("apples"))?;
    /// trainer.add_weighted(0.2, "metal", None, Document::Text("iron"))?;
    /// assert_eq!(trainer.n_documents(), 4);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`add`](Self::add); a weight that is not a number from 0 to 1,000,000; a weight that is not whole, unless scoring
    /// is weighted.
    pub fn add_weighted(
        &mut self,
        weight: f64,
        label: &str,
        group: Option<&str>,
        document: Document<'_>,
    ) -> Result<()> {
        let message = format_args!("expected a number from 0 to 1,000,000, got {weight}");
        Error::ensure_option((0.0..=Self::MOST_WEIGHT).contains(&weight), "weight", message)?;
        let expected = "expected a whole number unless scoring is weighted, since counts are integers";
        let is_well = weight.fract() == 0.0 || self.options.scoring().weighted().is_some();
        Error::ensure_option(is_well, "weight", format_args!("{expected}, got {weight}"))?;
        self.current.digest = None;
        if weight == 0.0 {
            return Ok(());
        }
        let ((times, fraction), (document, dense)) = (Label::of_weight(weight), document.apart());
        self.learn(times, &RawExample { label: Some(label), group, fraction, document, dense: dense.into() })
    }

    /// Learns one unlabelled document. With [`Scoring::Weighted`], the end of training decides whether it counts and
    /// under which label ([`Unlabelled`](crate::information::Unlabelled)). [`Scoring::ExpectationMaximization`] always
    /// counts it.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_unlabelled(&mut self, document: Document<'_>) -> Result<()> {
        let (document, dense) = document.apart();
        self.learn(1, &RawExample { label: None, group: None, fraction: 0, document, dense: dense.into() })
    }

    /// Learns copies of a document, with or without a label. The first one gets the fraction of its weight.
    pub(crate) fn learn(&mut self, times: u32, given: &RawExample<'_>) -> Result<()> {
        self.current.digest = None;
        let (document, dense) = (given.document, &*given.dense);
        match dense.is_empty() {
            true => self.count(document)?,
            false => self.count(Document::Embedded { of: &document, vector: dense })?,
        }
        for copy in 0..times {
            let fraction = if copy == 0 { given.fraction } else { 0 };
            let given = RawExample { fraction, dense: Cow::Borrowed(dense), ..*given };
            let n_texts = self.texts.as_ref().map_or(0, |texts| texts.places.len());
            let outcome = self.learn_counted(&given);
            outcome
                .inspect_err(|_| self.texts.iter_mut().for_each(|texts| texts.places.truncate(n_texts)))?;
        }
        Ok(())
    }

    /// Learns the document that was last counted, which is the one `given`.
    fn learn_counted(&mut self, given: &RawExample<'_>) -> Result<()> {
        let RawExample { label, group, fraction, .. } = *given;
        if let Some(label) = label.filter(|label| self.classes.index(label).is_none()) {
            // only checked here: the label becomes a class once nothing else can fail
            split_labels(label).try_for_each(check_label)?;
            self.classes.check_new(label)?;
        }
        let digest = self.digest();
        let part = &mut self.parts[0];
        let counted = &self.current.counted;
        // the values of a vector that stands for a document are kept as the vector
        let reals = counted.reals.iter().take(self.options.recipe.n_reals());
        let reals = (0..).zip(reals).filter_map(|(column, real)| Some((column, (*real)?))).collect();
        let more = More {
            date: counted.facts.date,
            name: if self.options.names { counted.facts.name.as_str().into() } else { Box::default() },
            message: counted.message(),
            cuts: counted.cuts(part.vocabulary.document()),
            stretches: Vec::new(),
            reals,
            dense: counted.facts.dense.as_slice().into(),
            fraction,
        };
        let mut document = TrainingDocument::new(digest, group_number(group, counted.facts.body_hash), more);
        let class = label.map_or(Some(UNLABELLED), |label| self.classes.index(label));
        let known = class.and_then(|class| self.known.find(&self.documents, &self.classes, &digest, class));
        let known = known.map(|place| &mut self.documents[place]);
        known.as_ref().map_or(Ok(0), |known| copies(known.multiplicity, 1))?;
        self.texts.as_mut().map_or(Ok(()), |texts| texts.push(given, &self.extractor))?;
        let same = known.filter(|known| known.more().cuts == document.more().cuts);
        if let Some(known) = same {
            if self.options.counts_once() && digest != self.nothing {
                known.meet(&document);
                self.tally.n_equal += 1;
                self.current.digest = Some(digest);
                return Ok(());
            }
            document.share(known);
        } else if self.options.needs_terms() {
            let mut keep = |row: &mut dyn ExactSizeIterator<Item = (TermId, u32)>| part.rows.push(row);
            document.terms = Some(keep(&mut self.current.terms.iter().copied()).map_err(spill)?);
            let terms = part.vocabulary.document();
            let stretch = |Stretch { terms: places, ends_part, is_seen }: Stretch<&[u32]>| {
                let row = counted.row(places, |at| Some(terms[at].id));
                Ok(Stretch { terms: keep(&mut row.row().iter())?, ends_part, is_seen })
            };
            let stretches = counted.stretches().map(stretch);
            document.set_stretches(stretches.collect::<std::io::Result<_>>().map_err(spill)?);
        }
        // only now, so that a document that cannot be kept is not counted
        if let Some(label) = label {
            document.class = self.class_of(label)?;
        }
        let (statistics, class) = self.parts[0].statistics_of(document.class);
        statistics.observe_terms(class, &self.current.terms, 1)?;
        self.current.counted.missing.iter().for_each(|column| self.tally.missing[*column] += 1);
        let hit = self.current.counted.facts.limits_hit;
        self.tally.n_wrapped += u64::from(hit.wrapper);
        self.tally.n_html += u64::from(self.current.counted.facts.is_html);
        self.tally.n_truncated += u64::from(!hit.is_empty() && !hit.wrapper);
        self.remember(document)?;
        self.current.digest = Some(digest);
        Ok(())
    }

    /// The digest of the last counted document.
    pub(crate) fn digest(&self) -> [u8; 16] {
        let terms = self.current.counted.words(self.parts[0].vocabulary.document());
        digest(self.options.recipe.version, terms, &self.current.counted.reals)
    }

    /// Adds a counted document to those learned. If equal documents count once and one is already known, one of the two
    /// is uncounted.
    pub(crate) fn remember(&mut self, mut document: TrainingDocument) -> Result<()> {
        let TrainingDocument { digest, class, .. } = document;
        let is_nothing = digest == self.nothing;
        let place = self.known.find(&self.documents, &self.classes, &digest, class);
        let place = place.unwrap_or(self.documents.len());
        match self.documents.get_mut(place) {
            Some(known) if self.options.counts_once() && !is_nothing => {
                known.put_first(&mut document);
                self.tally.n_equal += 1;
                return merged::uncount(&mut self.parts, &document);
            }
            Some(known) => {
                known.repeat(document)?;
                self.tally.n_equal += u64::from(!is_nothing);
            }
            None => {
                self.documents.push(document);
                self.known.insert_last(&self.documents, &self.classes);
            }
        }
        Ok(())
    }

    /// Frees the memory that only learning needs.
    pub(crate) fn forget_places(&mut self) {
        self.known = DocumentIndex::default();
    }

    /// Counts a document without learning it, and leaves its terms in `terms`.
    pub(crate) fn count(&mut self, document: Document<'_>) -> Result<()> {
        let wants_parts = self.wants_parts();
        let vocabulary = &mut self.parts[0].vocabulary;
        self.current.counted.want_parts(wants_parts);
        self.extractor.count(document, &mut self.current.counted, vocabulary)?;
        let terms = vocabulary.document();
        self.current.terms.clear();
        self.current.terms.extend(terms.iter().map(|term| (term.id, term.count)));
        Ok(())
    }

    /// Whether the model may become a spam filter, which looks at parts of a document.
    pub(crate) fn wants_parts(&self) -> bool {
        let may_be = self.classes.len() < 2 || self.classes.len() == 2 && spam_class(&self.classes).is_some();
        may_be && self.options.labels == Labels::One && self.options.scoring().weighted().is_some()
    }

    /// The class of a label. A new label becomes a new class, and the classes after it move up.
    pub fn class_of(&mut self, label: &str) -> Result<ClassId> {
        if let Some(class) = self.classes.index(label) {
            return Ok(class);
        }
        let class = self.classes.insert(label)?;
        self.parts.iter_mut().for_each(|part| part.statistics.insert_class(class));
        self.elsewhere.iter_mut().for_each(|vectors| vectors.insert_class(class));
        let moved = |d: &&mut TrainingDocument| d.class >= class && d.class != UNLABELLED;
        self.documents.iter_mut().filter(moved).for_each(|d| d.class += 1);
        Ok(class)
    }

    /// Adds everything that another trainer learned. A document that counts once still counts once if both trainers
    /// know it.
    ///
    /// # Errors
    /// If the settings differ, there are too many labels or a count overflows. Nothing changes then.
    pub fn merge(&mut self, mut other: Trainer) -> Result<()> {
        Reason::DifferentSettings.unless(self.options == other.options)?;
        let first = self.parts.len();
        let parts = first + other.parts.len();
        let limit = Reason::TooLarge { what: "trainers merged", limit: u16::MAX.into(), got: parts as u64 };
        u16::try_from(parts).map_err(|_| limit)?;
        Classes::new(self.classes.iter().chain(other.classes.iter()).map(|(_, label)| label))?;
        self.check_copies(&other)?;
        // nothing fails from here on, but an overflow of vectors
        for (_, label) in self.classes.clone().iter() {
            other.class_of(label)?;
        }
        for (_, label) in other.classes.iter() {
            self.class_of(label)?;
        }
        self.counts_alone |= other.counts_alone;
        self.add_elsewhere(other.elsewhere.as_ref())?;
        self.parts.append(&mut other.parts);
        for mut document in other.documents {
            document.part += first as u16;
            self.remember(document)?;
        }
        self.texts = self.texts.take().zip(other.texts).map(|(mut here, there)| {
            here.append(there);
            here
        });
        self.tally.n_equal += other.tally.n_equal;
        self.tally.n_truncated += other.tally.n_truncated;
        self.tally.n_wrapped += other.tally.n_wrapped;
        self.tally.n_html += other.tally.n_html;
        self.tally.missing.iter_mut().zip(other.tally.missing).for_each(|(here, there)| *here += there);
        Ok(())
    }

    /// Adds the statistics of dense vectors of documents that are elsewhere.
    pub(crate) fn add_elsewhere(&mut self, vectors: Option<&VectorStatistics>) -> Result<()> {
        match (&mut self.elsewhere, vectors) {
            (Some(here), Some(there)) => here.merge(there)?,
            (here, there) => *here = here.take().or(there.cloned()),
        }
        Ok(())
    }

    /// Checks that no number of copies overflows when both trainers are merged.
    fn check_copies(&self, other: &Trainer) -> Result<()> {
        let most =
            |documents: &[TrainingDocument]| documents.iter().map(|d| d.multiplicity).max().unwrap_or(0);
        if most(&self.documents).checked_add(most(&other.documents)).is_some() {
            return Ok(());
        }
        for there in &other.documents {
            let class = match other.classes.label(there.class) {
                Some(label) => self.classes.index(label),
                None => Some(UNLABELLED),
            };
            let here =
                class.and_then(|class| self.known.find(&self.documents, &self.classes, &there.digest, class));
            here.map_or(Ok(0), |here| copies(self.documents[here].multiplicity, there.multiplicity))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
