use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tamis_model::{ClassId, Classes, NaiveBayes, log_sum_exp};
use tamis_tokenizer::{CountRow, CountVector, TermId, fingerprint};

use crate::error::{Error, Result};
use crate::map::Bytes;
use crate::recipe::{Document, Extractor, TermScratch};
use crate::store::{Information, Store};

/// The label of spam: a model of two classes, one of which is called so, is a spam filter.
const SPAM: &str = "spam";

/// A trained model, open for scoring.
///
/// It is `Send + Sync`, holds no locks and keeps no state between documents: share one among threads, and give
/// each thread a [`Scratch`].
///
/// ```
/// use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
/// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
/// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let mut scratch = Scratch::default();
/// let score = filter.score_mail(b"Subject: offer\n\nbuy cheap pills\n", &mut scratch)?;
/// assert_eq!(filter.label_of(&score), "spam");
/// assert!(score.log_odds > 0.0);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub struct Filter {
    pub(crate) store: Store,
    pub(crate) bayes: NaiveBayes,
    extractor: Extractor,
    source: Option<(PathBuf, Stamp)>,
}

/// Reusable buffers: with one that has seen a few documents, scoring hardly allocates.
#[derive(Default)]
pub struct Scratch {
    terms: TermScratch,
    ids: Vec<TermId>,
    vector: CountVector,
    joint: Vec<f64>,
    posterior: Vec<f64>,
    pub(crate) unknown: usize,
}

impl Scratch {
    /// The document scored last, as counts over the model's vocabulary.
    pub(crate) fn row(&self) -> CountRow<'_> {
        self.vector.row()
    }
}

/// What a filter says of one document.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Score {
    /// The class with the highest posterior, or `None` where there is nothing to go by: no term is known.
    pub label: Option<ClassId>,
    /// The class that probability and log-odds are about: that of spam in a spam filter, else the likeliest.
    pub about: ClassId,
    /// The posterior probability of that class.
    pub probability: f64,
    /// Its log-odds against all others, in nats.
    pub log_odds: f64,
    /// Distinct terms of the document that the model knows.
    pub known_terms: usize,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: (u64, u64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let inode = (0, 0);
        Stamp { modified: metadata.modified().ok(), length: metadata.len(), inode }
    }
}

impl Filter {
    /// Opens a model file, mapping it: the cost does not grow with its size.
    ///
    /// The file must only ever be replaced by renaming, as [`Model::save`](crate::Model::save) does. For one that
    /// others may write in place, or that lies on a network file system, read it and use [`Filter::from_bytes`].
    ///
    /// # Errors
    /// If the file cannot be read, is no model, is damaged in its header, or was made by another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        if !metadata.is_file() {
            let source =
                std::io::Error::other("expected a model file, got something that is no regular file");
            return Err(Error::Io { path: path.to_path_buf(), source });
        }
        let bytes = if metadata.len() == 0 {
            Bytes::Owned(Vec::new())
        } else {
            Bytes::map(&file).map_err(Error::io(path))?
        };
        Filter::new(bytes, Some((path.to_path_buf(), Stamp::of(&metadata))))
    }

    /// A filter over the bytes of a model file, without a map.
    ///
    /// # Errors
    /// As [`Filter::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Filter::new(Bytes::Owned(bytes), None)
    }

    fn new(bytes: Bytes, source: Option<(PathBuf, Stamp)>) -> Result<Self> {
        let store = Store::new(bytes)?;
        let bayes = NaiveBayes::new(&store.header.parameters, &store.header.summary)?;
        if bayes.n_classes() != store.header.classes.len() {
            return Err(Error::inconsistent("header", store.header.classes.len(), bayes.n_classes()));
        }
        let extractor = Extractor::new(store.header.recipe.clone())?;
        Ok(Filter { store, bayes, extractor, source })
    }

    /// Opens the file again if it was replaced since; returns whether it was.
    ///
    /// On an error the filter stays as it is. A filter made of bytes never changes.
    ///
    /// # Errors
    /// As [`Filter::open`].
    pub fn reload_if_changed(&mut self) -> Result<bool> {
        let Some((path, stamp)) = &self.source else { return Ok(false) };
        let metadata = fs::metadata(path).map_err(Error::io(path))?;
        if Stamp::of(&metadata) == *stamp {
            return Ok(false);
        }
        *self = Filter::open(path.clone())?;
        Ok(true)
    }

    /// What the model says of itself.
    pub fn information(&self) -> Information<'_> {
        self.store.information()
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        &self.store.header.classes
    }

    /// The class of spam, if this is a spam filter: two classes, one of them called `spam`.
    pub fn spam(&self) -> Option<ClassId> {
        self.classes().index(SPAM).filter(|_| self.classes().len() == 2)
    }

    /// The label of a score, `unsure` if it has none.
    pub fn label_of(&self, score: &Score) -> &str {
        score.label.and_then(|class| self.classes().label(class)).unwrap_or("unsure")
    }

    /// Scores a raw RFC 5322 message.
    ///
    /// # Errors
    /// If the model is of text, or damaged where this message touches it.
    pub fn score_mail(&self, raw: &[u8], scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Mail(raw), scratch)
    }

    /// Scores plain text.
    ///
    /// # Errors
    /// If the model is of mail, or damaged where this text touches it.
    pub fn score_text(&self, text: &str, scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Text(text), scratch)
    }

    /// Scores named fields of text; the field with the empty name is the body.
    ///
    /// # Errors
    /// If the model is damaged where this document touches it.
    pub fn score_fields(&self, fields: &[(&str, &str)], scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Fields(fields), scratch)
    }

    /// Scores any document.
    ///
    /// # Errors
    /// If the document is not of the model's kind, or the model is damaged where it touches it.
    pub fn score(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Score> {
        self.count(document, scratch)?;
        let Scratch { vector, joint, .. } = scratch;
        let known_terms = self.bayes.joint_log_likelihood(&self.store, vector.row(), joint)?;
        let best =
            (1..joint.len()).fold(0, |best, class| if joint[class] > joint[best] { class } else { best });
        let about = self.spam().map_or(best, usize::from);
        let own = joint[about];
        joint[about] = f64::NEG_INFINITY;
        let log_odds = own - log_sum_exp(joint);
        joint[about] = own;
        Ok(Score {
            label: (known_terms > 0).then_some(best as ClassId),
            about: about as ClassId,
            probability: sigmoid(log_odds),
            log_odds,
            known_terms,
        })
    }

    /// The posterior of every class for the document that `scratch` scored last, in class order.
    pub fn probabilities<'a>(&self, scratch: &'a mut Scratch) -> &'a [f64] {
        let total = log_sum_exp(&scratch.joint);
        scratch.posterior.clear();
        scratch.posterior.extend(scratch.joint.iter().map(|joint| (joint - total).exp()));
        &scratch.posterior
    }

    /// Counts the terms of a document that the model knows, and how many distinct ones it does not.
    pub(crate) fn count(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<()> {
        let Scratch { terms, ids, vector, unknown, .. } = scratch;
        ids.clear();
        *unknown = 0;
        let mut outcome = Ok(());
        self.extractor.for_each_term(document, terms, |term, _| {
            match self.store.find(fingerprint(term)) {
                Ok(Some(id)) => ids.push(id),
                Ok(None) => *unknown += 1,
                Err(error) => outcome = Err(error),
            }
        })?;
        outcome?;
        vector.assign_ids(ids);
        Ok(())
    }

    /// Checks the whole model: every checksum, and everything its parts promise one another.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(&self) -> Result<()> {
        self.store.verify()
    }
}

fn sigmoid(log_odds: f64) -> f64 {
    if log_odds >= 0.0 {
        1.0 / (1.0 + (-log_odds).exp())
    } else {
        let odds = log_odds.exp();
        odds / (1.0 + odds)
    }
}
