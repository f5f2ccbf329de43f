//! A model open for scoring.

use std::any::Any;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tamis_model::{Cell, ClassId, Classes};
use tamis_store::config::decision::Decision;
use tamis_store::config::labels::{UNSURE, are_sets, spam_class, split_labels, unknown_label};
use tamis_store::disk::map::ModelBytes;
use tamis_store::disk::source::{MappedFile, ModelFile};
use tamis_store::error::{Reason, Result};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::log::LogEntry;
use tamis_store::store::information::Information;
use tamis_store::store::layers::{CombinedSums, Layers};
use tamis_store::store::opened::Store;

use crate::extract::extractor::Extractor;
use crate::score::verdict::Score;
use crate::scorers::derive::derive;
use crate::scorers::scorer::Scorer;
use crate::scorers::weighted::WeightedScorer;

/// A trained model, open for scoring.
///
/// It is `Send + Sync`, holds no locks and keeps no state between documents: share one among threads, and give
/// each thread a [`Scratch`](crate::Scratch).
///
/// ```
/// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
/// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
/// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let mut scratch = Scratch::default();
/// let score = filter.score_mail(b"Subject: offer\n\nbuy cheap pills\n", &mut scratch)?;
/// assert!(score.log_odds > 0.0);
/// // two messages are too few for a probability above 0.95
/// assert_eq!(filter.label_of(&score), "unsure");
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct Filter {
    pub(crate) store: Store,
    pub(crate) scorer: Box<dyn Scorer>,
    /// Overrides the model's own decision.
    pub(super) decision: Option<Decision>,
    /// The class that counts as spam.
    pub(super) spam: Option<ClassId>,
    /// Minimum probability of a verdict, if one was asked for.
    pub(crate) least_probability: Option<f64>,
    pub(crate) extractor: Extractor,
    /// The shared model used as fallback.
    pub(crate) fallback: Option<Fallback>,
    pub(super) source: Option<ModelFile>,
    /// A unique identity of this filter.
    pub(crate) identity: Arc<()>,
}

/// A shared model used as fallback, and the sums over both models.
pub(crate) struct Fallback {
    pub(super) shared: Arc<Filter>,
    pub(super) sums: CombinedSums,
    /// Holds the shared model's newer versions, if it is reopened when its file changes.
    pub(super) live: Option<Arc<CurrentFilter>>,
}

/// The current filter of a file, shared by all who use it.
pub(crate) struct CurrentFilter {
    filter: RwLock<Arc<Filter>>,
    /// Locked by the thread that reopens the file.
    pub(super) opening: Mutex<()>,
}

impl CurrentFilter {
    pub(super) fn new(filter: Filter) -> Self {
        CurrentFilter { filter: RwLock::new(Arc::new(filter)), opening: Mutex::default() }
    }

    pub(super) fn filter(&self) -> Arc<Filter> {
        self.filter.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, filter: Filter) {
        let mut current = self.filter.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, Arc::new(filter));
        drop(current);
        // a model may be large, and nobody waits for its end
        drop(before);
    }
}

impl Filter {
    /// Opens a model file by mapping it, at a cost that does not grow with its size.
    ///
    /// An open filter is not affected if its file is replaced by renaming, as `Model::save` does,
    /// or appended to, as `Learner` does. If others may **change the file in place** (`cp new model`,
    /// `cat new > model`), or it is on a network file system, call [`check_unchanged`](Self::check_unchanged) before
    /// using a score. Reading a mapped page that the file no longer has ends the process by SIGBUS, unless the program
    /// has called `survive_lost_pages`; [`Filter::read`] does not map.
    ///
    /// # Errors
    /// If the file cannot be read, is not a regular file or not a model, has a damaged header, or was made by another
    /// version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let (source, file) = ModelFile::open(path.as_ref())?;
        let mapped = MappedFile { source: &source, file: &file };
        let store = Store::new(source.map(&file)?, Some(mapped))?;
        Filter::new(store, Some(source))
    }

    /// Reads a model file into memory, at a cost that grows with its size. Later changes of the file have no effect.
    ///
    /// ```
    /// use tamis_train::Filter;
    /// # use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("model.tamis");
    /// # let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// # trainer.add("fruit", Document::Text("apples"))?;
    /// # trainer.add("metal", Document::Text("iron"))?;
    /// # trainer.finish()?.save(&path)?;
    /// let filter = Filter::read(&path)?;
    /// std::fs::write(&path, "something else")?;
    /// filter.check_unchanged()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::open`]; [`ErrorKind::Changed`](crate::ErrorKind::Changed) if the file was changed while it was
    /// read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let mut tries = 3;
        loop {
            tries -= 1;
            match Filter::read_once(path.as_ref()) {
                // a learner wrote a segment during the read
                Err(error)
                    if tries > 0
                        && matches!(error.reason(), Reason::Changed { .. } | Reason::Length { .. }) => {}
                filter => return filter,
            }
        }
    }

    fn read_once(path: &Path) -> Result<Self> {
        let (source, file) = ModelFile::open(path)?;
        let store = Store::new(source.read(&file)?, None)?;
        let bytes = store.as_bytes();
        let again = || MappedFile { source: &source, file: &file }.read_from(0, bytes.len());
        // damage that was there before is reported when the damaged part is used
        source.check_unchanged(|| {
            store.check_all(bytes).is_ok() || again().is_ok_and(|again| again == bytes)
        })?;
        Filter::new(store, Some(source))
    }

    /// Opens a model file in memory. Its bytes are not copied and must not change. They are owned (`Vec<u8>`) or shared
    /// (`Arc<[u8]>`, or any other holder of bytes).
    ///
    /// # Errors
    /// As [`Filter::open`].
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        Filter::from_map(ModelBytes::Shared(Box::new(bytes)))
    }

    /// Opens a model from its bytes.
    ///
    /// # Errors
    /// As [`Filter::open`].
    pub fn from_map(bytes: ModelBytes) -> Result<Self> {
        Filter::new(Store::new(bytes, None)?, None)
    }

    fn new(store: Store, source: Option<ModelFile>) -> Result<Self> {
        let scorer = derive(&store.header, &store.totals, store.n_features(), store.bias())?;
        let extractor = Extractor::new(store.header.recipe.clone())?;
        let spam = spam_class(&store.header.classes).filter(|_| !are_sets(&store.header.classes));
        Ok(Filter {
            store,
            scorer,
            decision: None,
            spam,
            least_probability: None,
            extractor,
            fallback: None,
            source,
            identity: Arc::default(),
        })
    }

    /// Information about the model.
    pub fn information(&self) -> Information<'_> {
        self.store.information()
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        self.store.labels()
    }

    /// The class that counts as spam, if there is one: by its label, see [`spam_class`], or by
    /// [`set_spam_label`](Self::set_spam_label).
    pub fn spam(&self) -> Option<ClassId> {
        self.spam
    }

    /// Declares a label to be spam.
    ///
    /// # Errors
    /// If the model does not know the label.
    pub fn set_spam_label(&mut self, label: &str) -> Result<()> {
        self.spam = Some(self.classes().index(label).ok_or_else(|| unknown_label(label, self.classes()))?);
        Ok(())
    }

    /// Whether this is a spam filter: two classes, one of which counts as spam. Probability and log-odds then refer to
    /// spam, and the default thresholds are [careful](Decision::CAREFUL).
    pub fn is_spam_filter(&self) -> bool {
        self.spam.is_some() && self.classes().len() == 2
    }

    /// The log-odds of spam above which a document is spam, in nats. With more than two classes, spam can also be the
    /// verdict below them, but always is above them.
    pub fn spam_threshold(&self) -> f64 {
        let decision = self.decision();
        let least = self.least_probability.unwrap_or_default().max(0.5);
        match self.scorer.positive() {
            Some(positive) if self.spam == Some(positive) => decision.upper,
            Some(_) => decision.mirrored().upper,
            None => (least / (1.0 - least)).ln(),
        }
    }

    /// The label of a class of learned documents. In a model of many labels, a class is a set of them: this is its
    /// [name](crate::join_labels).
    pub fn learned_label(&self, class: ClassId) -> &str {
        self.store.header.classes.label(class).unwrap_or_default()
    }

    /// Whether documents have any number of labels. [`Scratch::labels`](crate::Scratch::labels) then has those of the last
    /// document.
    pub fn has_many_labels(&self) -> bool {
        are_sets(&self.store.header.classes)
    }

    /// The log-odds above which a document has a label, in nats, in a model of many labels.
    pub fn label_threshold(&self, label: ClassId) -> f64 {
        let least = self.least_probability.map(|least| (least / (1.0 - least)).ln());
        let of_model = || {
            let labels = self.store.header.scoring.chosen().map_or(&[][..], |chosen| &chosen.labels);
            labels.get(usize::from(label)).map_or(0.0, |label| label.threshold)
        };
        least.or(self.decision.map(|decision| decision.upper)).unwrap_or_else(of_model)
    }

    /// Calls `visit` with each cell of a term and the label that it counts for; once for each, if its class is a set of
    /// labels. Documents without labels are left out.
    pub(crate) fn for_each_label(&self, cells: &[Cell], mut visit: impl FnMut(usize, Cell)) {
        let (classes, labels) = (&self.store.header.classes, self.classes());
        for cell in cells {
            if !self.has_many_labels() {
                let class = usize::from(cell.class);
                (0..labels.len()).contains(&class).then(|| visit(class, *cell));
                continue;
            }
            let of_class = classes.label(cell.class).into_iter().flat_map(split_labels);
            of_class
                .filter_map(|label| labels.index(label))
                .for_each(|label| visit(usize::from(label), *cell));
        }
    }

    /// The label of a score; `unsure` if it has none.
    pub fn label_of(&self, score: &Score) -> &str {
        score.label.and_then(|class| self.classes().label(class)).unwrap_or(UNSURE)
    }

    /// The thresholds and the prior in use, for two classes. By default, a model of two topics is never unsure; a spam
    /// filter is unsure between its thresholds and without known terms.
    pub fn decision(&self) -> Decision {
        let decision = self.decision.unwrap_or_else(|| {
            let of_model = self.fallback().map_or(self.store.header.decision, |shared| shared.decision());
            of_model.of_spam_filter(self.spam, self.classes())
        });
        let least = self.least_probability.filter(|_| self.scorer.positive().is_some());
        least.and_then(|least| decision.with_unsure_below(least).ok()).unwrap_or(decision)
    }

    /// Makes a document unsure unless its likeliest label has at least this probability, in any model. With 0, only the
    /// other reasons given at [`Score::label`] remain. In a model of many labels, a document has the labels with at least
    /// this probability.
    ///
    /// # Errors
    /// If the probability is not at least 0 and below 1.
    pub fn set_unsure(&mut self, least_probability: f64) -> Result<()> {
        self.decision().with_unsure_below(least_probability)?;
        self.least_probability = Some(least_probability);
        Ok(())
    }

    /// The probability that was asked for by [`set_unsure`](Self::set_unsure).
    pub fn least_probability(&self) -> Option<f64> {
        self.least_probability
    }

    /// Replaces the model's own thresholds and prior. This has no effect on models of more than two classes, nor on
    /// plain naive Bayes. In a model of many labels, the upper threshold becomes that of every label.
    pub fn set_decision(&mut self, decision: Decision) {
        self.decision = Some(decision);
        self.least_probability = self.least_probability.filter(|_| self.scorer.positive().is_none());
    }

    /// The shared model used as fallback, if there is one.
    pub fn fallback(&self) -> Option<&Arc<Filter>> {
        self.fallback.as_ref().map(|fallback| &fallback.shared)
    }

    /// Applies a log entry to the open model.
    pub fn change(&mut self, entry: LogEntry) -> Result<()> {
        match &mut self.fallback {
            Some(fallback) => fallback.sums.add(&mut self.store, &fallback.shared.store, entry)?,
            None => self.store.add(entry)?,
        }
        self.rederive()
    }

    /// Reads the log again, followed by the records in `more`, and drops all other changes to the open model.
    pub fn reread(&mut self, more: &[u8]) -> Result<()> {
        self.store.reread(more)?;
        if let Some(fallback) = &mut self.fallback {
            fallback.sums = CombinedSums::new(&self.store, &fallback.shared.store)?;
        }
        self.rederive()
    }

    /// Derives the scorer again after counts changed.
    pub(super) fn rederive(&mut self) -> Result<()> {
        let (layers, header) = (self.layers(), &self.fallback().map_or(&self.store, |s| &s.store).header);
        // naive Bayes follows its summary, which only a rewrite changes
        if !matches!(header.scoring, FittedScoring::NaiveBayes { .. }) {
            self.scorer = derive(header, layers.totals(), layers.n_features(), &layers.bias()?)?;
        }
        // term weights cached in a scratch are out of date
        self.identity = Arc::default();
        Ok(())
    }

    /// The open file.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// As [`Store::appended`], of this filter's file.
    pub fn appended(&mut self, records: &mut Vec<u8>) {
        self.store.appended(records);
    }

    /// What turns documents into counts, by the model's recipe.
    pub fn extractor(&self) -> &Extractor {
        &self.extractor
    }

    /// The class that log-odds refer to, if thresholds decide between two classes.
    pub fn positive(&self) -> Option<ClassId> {
        self.scorer.positive()
    }

    /// The scoring, if it is weighted.
    pub fn weighted(&self) -> Option<&WeightedScorer> {
        let scorer: &dyn Any = &*self.scorer;
        scorer.downcast_ref()
    }

    /// The terms used in scoring, including those of the fallback.
    pub fn layers(&self) -> Layers<'_> {
        let shared = self.fallback.as_ref().map(|fallback| (&fallback.shared.store, &fallback.sums));
        Layers { own: &self.store, shared }
    }

    /// Verifies the whole model: every checksum, and the consistency of its parts.
    ///
    /// # Errors
    /// The first defect found.
    pub fn verify(&self) -> Result<()> {
        self.store.verify()
    }
}
