//! Prequential evaluation (test-then-train): score each document with what was learned before it, then learn it.

use tamis_filter::extract::document::Document;
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::Classes;
use tamis_store::config::labels::unknown_label;
use tamis_store::config::recipe::Keep;
use tamis_store::config::training::{Labels, Pairs, Pieces, TrainOptions};
use tamis_store::error::{Error, Result};
use tempfile::TempDir;

use crate::evaluate::cross_validation::HeldOutScore;
use crate::update::learner::LearnOptions;
use crate::update::learner::Learner;

/// Prequential evaluation: scores each document, then learns it, like the ideal user of TREC's spam track, who corrects
/// every mistake at once. A [`Learner`] learns the documents in a temporary file and commits after each, so the
/// evaluation measures what real learning does.
///
/// ```
/// use tamis_train::evaluate::Prequential;
/// use tamis_train::{Document, Kind, TrainOptions};
///
/// let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["ham", "spam"])?;
/// online.next("spam", Document::Text("cheap pills"))?;
/// online.next("ham", Document::Text("lunch at noon"))?;
/// let held_out = online.next("spam", Document::Text("pills for you"))?;
/// assert!(held_out.score.log_odds > 0.0);
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct Prequential {
    learner: Learner,
    scratch: Scratch,
    /// The folder of the model, which is deleted when this is dropped.
    _folder: TempDir,
}

impl Prequential {
    /// Starts with an empty filter that has these labels.
    ///
    /// # Errors
    /// As [`Learner::create`]; the system's folder of temporary files cannot be used.
    pub fn new<'a>(mut options: TrainOptions, labels: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        if options.labels == Labels::Many {
            return Err(Error::option("labels", "expected one label a document; folds evaluate many"));
        }
        let folder = TempDir::new().map_err(|error| Error::io(&std::env::temp_dir())(error))?;
        let keep = options.keep.or(Some(Keep::Vectors));
        (options.pairs, options.pieces, options.keep) = (Pairs::Fixed, Pieces::Fixed, keep);
        let path = folder.path().join("model.tamis");
        let learner = Learner::create(&path, options, labels, LearnOptions::default())?;
        Ok(Prequential { learner, scratch: Scratch::default(), _folder: folder })
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        self.learner.filter().classes()
    }

    /// Scores a document with what was learned before it, then learns it. A document that is already known is not
    /// learned again; under another label, it moves to that label.
    ///
    /// # Errors
    /// The document is of another kind, the label is unknown, or the file cannot be written.
    pub fn next(&mut self, label: &str, document: Document<'_>) -> Result<HeldOutScore> {
        let class = self.classes().index(label).ok_or_else(|| unknown_label(label, self.classes()))?;
        let score = self.learner.filter().score(document, &mut self.scratch)?;
        let probability = self.scratch.probabilities()[usize::from(class)];
        self.learner.learn(label, document)?;
        self.learner.commit()?;
        Ok(HeldOutScore::new(class, score, probability))
    }
}

#[cfg(test)]
mod tests {
    use tamis_store::kind::Kind;

    use super::*;

    #[test]
    fn online_learning_starts_from_nothing() {
        let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["spam", "ham"]).unwrap();
        let first = online.next("spam", Document::Text("pills")).unwrap();
        assert_eq!((first.score.label, first.class), (None, 1));
        for i in 0..5 {
            online.next("ham", Document::Text(&format!("lunch at noon {i}"))).unwrap();
            online.next("spam", Document::Text(&format!("cheap pills {i}"))).unwrap();
        }
        assert_eq!(online.next("ham", Document::Text("lunch")).unwrap().score.label, Some(0));
        assert!(online.next("eggs", Document::Text("lunch")).is_err());
    }

    #[test]
    fn what_is_scored_is_what_a_learner_learned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.tamis");
        let labels = ["a", "b", "c"];
        let options = TrainOptions::new(Kind::Text);
        let mut online = Prequential::new(options.clone(), labels).unwrap();
        let mut learner = Learner::create(&path, options, labels, LearnOptions::default()).unwrap();
        for i in 0..60 {
            let (label, text) = (labels[i % 3], format!("w{} w{} v{}", i % 3, i % 7, i % 20));
            let expected = learner.score(Document::Text(&text)).unwrap();
            assert_eq!(online.next(label, Document::Text(&text)).unwrap().score, expected);
            learner.learn(label, Document::Text(&text)).unwrap();
            learner.commit().unwrap();
        }
    }
}
