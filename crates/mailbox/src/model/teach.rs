//! Teaches a model.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tamis_program::{commit, named, today};
use tamis_train::{Document, ErrorKind, Filter, LearnOptions, Learner};

/// A correction: a message, and the label it has now; none if it is to be forgotten.
pub(crate) struct Lesson<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) label: Option<&'a str>,
}

/// Teaches a model lessons, in their order, and returns when they are on the disk. A lesson that is repeated changes
/// nothing.
///
/// # Errors
/// If the model cannot be changed: another program has it for more than a minute, or the disk is full. Then nothing is
/// learned.
pub(crate) fn teach(path: &Path, shared: Option<Arc<Filter>>, lessons: &[Lesson<'_>]) -> Result<()> {
    let mut options = LearnOptions::default();
    options.learned_at = Some(today());
    let mut learner = Learner::open(path, options).map_err(named(path))?;
    if let Some(shared) = shared {
        learner.set_fallback(shared).map_err(named(path))?;
    }
    for lesson in lessons {
        let document = Document::Mail(lesson.bytes);
        match lesson.label {
            Some(label) => {
                if learner.filter().classes().index(label).is_none() {
                    learner.add_label(label).map_err(named(path))?;
                }
                learner.learn(label, document).map_err(named(path))?;
            }
            None => match learner.forget(None, document) {
                Err(error) if error.kind() != ErrorKind::NotLearned => return Err(named(path)(error)),
                _ => {}
            },
        }
    }
    commit(&mut learner)
}
