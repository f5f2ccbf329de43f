//! Opening a model for learning, or creating one.

use std::path::Path;
use std::sync::Arc;

use tamis_filter::extract::extraction::Extraction;
use tamis_filter::score::filter::Filter;
use tamis_filter::scorers::scratch::Scratch;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::fitted::FittedScoring;
use tamis_tokenizer::Vocabulary;

use super::Learner;
use crate::lock::Lock;
use crate::model::Model;
use crate::train::trainer::Trainer;
use crate::update::learner::LearnOptions;
use crate::update::message_index::MessageIndex;

impl Learner {
    /// Opens a model for learning; waits while another process is changing it.
    ///
    /// # Errors
    /// As [`Filter::open`] and [`Lock::wait`]; [`ErrorKind::Settings`](crate::ErrorKind::Settings) if the model cannot
    /// learn one document at a time: one with columns other than text, or of expectation maximization;
    /// [`ErrorKind::Data`](crate::ErrorKind::Data) if `log_limit` is above [`LearnOptions::MAX_LOG_LIMIT`].
    pub fn open(path: impl AsRef<Path>, options: LearnOptions) -> Result<Self> {
        options.check()?;
        Learner::new(Lock::wait(path, options.lock_timeout)?, options)
    }

    /// As [`open`](Self::open); if there is no file, creates a model with `labels` and no documents.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Trainer::finish`].
    pub fn create<'a>(
        path: impl AsRef<Path>,
        train: TrainOptions,
        labels: impl IntoIterator<Item = &'a str>,
        options: LearnOptions,
    ) -> Result<Self> {
        options.check()?;
        let lock = Lock::wait(path, options.lock_timeout)?;
        if !lock.path.try_exists().map_err(Error::io(&lock.path))? {
            lock.save(&empty(train, labels)?)?;
        }
        Learner::new(lock, options)
    }

    /// Opens a user's model for learning, with a shared model behind it; see [`Filter::set_fallback`]. If there is no
    /// file, creates a model with the [options](Filter::options_behind) of the shared one and its labels.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tamis_train::{Document, Kind, LearnOptions, Learner, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
    /// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
    /// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
    /// let shared = Arc::new(trainer.finish()?.into_filter()?);
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("anna.tamis");
    /// let mut learner = Learner::create_behind(&path, shared, LearnOptions::default())?;
    /// learner.learn("ham", Document::Mail(b"Subject: pills\n\nYour prescription\n"))?;
    /// learner.commit()?;
    /// let filter = learner.into_filter();
    /// assert!(filter.score_mail(b"Subject: your prescription\n\nYour prescription\n", &mut Scratch::default())?.log_odds < 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Filter::set_fallback`]. No file is created then.
    pub fn create_behind(path: impl AsRef<Path>, shared: Arc<Filter>, options: LearnOptions) -> Result<Self> {
        options.check()?;
        let lock = Lock::wait(path, options.lock_timeout)?;
        if !lock.path.try_exists().map_err(Error::io(&lock.path))? {
            let labels = shared.classes().iter().map(|(_, label)| label);
            let model = empty(shared.options_behind(), labels)?;
            model.clone().into_filter()?.set_fallback(shared.clone())?;
            lock.save(&model)?;
        }
        let mut learner = Learner::new(lock, options)?;
        learner.set_fallback(shared)?;
        Ok(learner)
    }

    fn new(lock: Lock, options: LearnOptions) -> Result<Self> {
        let filter = Filter::open(&lock.path)?;
        if let Some(got) =
            filter.store().header.scoring.options().fitted_at_once(&filter.store().header.recipe)
        {
            return Err(Reason::IncrementalUnsupported { got }.into());
        }
        let is_bayes = matches!(filter.store().header.scoring, FittedScoring::NaiveBayes { .. });
        Ok(Learner {
            must_compact: is_bayes,
            corrected: filter.store().changes().corrected,
            is_replica: false,
            lock,
            options,
            filter,
            pending: Vec::new(),
            changes: 0,
            counted: Extraction::identifying(),
            vocabulary: Vocabulary::new(),
            scratch: Scratch::default(),
            messages: MessageIndex::default(),
        })
    }
}

/// Creates a model with `labels` that has learned nothing.
fn empty<'a>(mut train: TrainOptions, labels: impl IntoIterator<Item = &'a str>) -> Result<Model> {
    train.refinements.clear();
    let mut trainer = Trainer::new(train)?;
    for label in labels {
        trainer.class_of(label)?;
    }
    trainer.finish()
}
