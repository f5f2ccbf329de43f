//! What a handle is: a model that threads share.

use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::sleep;
use std::time::Duration;

use tamis_filter::{Document, Error, ErrorKind, Filter, LearnOptions, Learned, Learner, Result, Scratch};

use crate::edge::{Answer, c_text};

/// Number of attempts while the file is being written, and the first pause between them, which doubles each time.
const ATTEMPTS: u32 = 6;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A model that is open. Threads may share it.
// A panic leaves nothing half done: a model is replaced whole, and labels are only added. So locks that a panic poisoned
// are taken all the same.
pub struct TamisFilter {
    filter: RwLock<Filter>,
    /// Its file, if it was opened by path.
    path: Option<PathBuf>,
    /// As many as calls ran at the same time.
    scratches: Mutex<Vec<Scratch>>,
    /// Every label that was given out. They are few, and C keeps pointers to them: none is dropped before the handle.
    labels: Mutex<Vec<CString>>,
}

impl TamisFilter {
    pub(crate) fn open(path: PathBuf) -> Answer<Self> {
        let filter = Filter::open(&path).map_err(|error| named(&path, &error))?;
        Ok(TamisFilter::new(filter, Some(path)))
    }

    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Answer<Self> {
        let filter = Filter::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(TamisFilter::new(filter, None))
    }

    fn new(filter: Filter, path: Option<PathBuf>) -> Self {
        TamisFilter {
            filter: RwLock::new(filter),
            path,
            scratches: Mutex::default(),
            labels: Mutex::default(),
        }
    }

    /// Asks the model. The answer is that of one whole model, or an error.
    pub(crate) fn ask<T>(&self, ask: impl Fn(&Filter, &mut Scratch) -> Result<T>) -> Answer<T> {
        let mut attempt = 0;
        loop {
            match self.ask_once(&ask) {
                // a record that is being appended looks so for a moment: its time is there before its length
                Err(error) if matches!(error.kind(), ErrorKind::Changed { .. }) && attempt < ATTEMPTS => {
                    sleep(POLL_INTERVAL * (1 << attempt));
                    attempt += 1;
                    self.reload()?;
                }
                answer => return answer.map_err(|error| self.named(&error)),
            }
        }
    }

    fn ask_once<T>(&self, ask: impl Fn(&Filter, &mut Scratch) -> Result<T>) -> Result<T> {
        let filter = self.read();
        let mut scratch = lock(&self.scratches).pop().unwrap_or_default();
        let answer = ask(&filter, &mut scratch);
        lock(&self.scratches).push(scratch);
        // a file that was changed in place explains any error
        filter.check_unchanged().and(answer)
    }

    /// Teaches the file, and opens it again. Returns whether anything changed.
    pub(crate) fn learn(&self, label: &str, document: Document<'_>) -> Answer<bool> {
        self.change(|learner| Ok(learner.learn(label, document)? != Learned::Already))
    }

    /// Makes the file forget a document. Returns whether it was known.
    pub(crate) fn forget(&self, label: Option<&str>, document: Document<'_>) -> Answer<bool> {
        self.change(|learner| match learner.forget(label, document) {
            Err(error) if matches!(error.kind(), ErrorKind::NotLearned { .. }) => Ok(false),
            forgot => forgot.map(|_| true),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Learner) -> Result<bool>) -> Answer<bool> {
        let Some(path) = &self.path else {
            return Err(
                "expected a model that was opened by tamis_open, got one of bytes, which has no file".into(),
            );
        };
        let mut learner = Learner::open(path, LearnOptions::default()).map_err(|error| self.named(&error))?;
        let changed = change(&mut learner).and_then(|changed| learner.commit().map(|()| changed));
        drop(learner);
        let changed = changed.map_err(|error| self.named(&error))?;
        self.reload()?;
        Ok(changed)
    }

    /// Opens the file again if it was changed. Returns whether it was.
    pub(crate) fn reload(&self) -> Answer<bool> {
        let mut filter = self.filter.write().unwrap_or_else(PoisonError::into_inner);
        filter.reload_if_changed().map_err(|error| self.named(&error))
    }

    /// A label as C may keep it.
    pub(crate) fn label(&self, label: &str) -> *const c_char {
        let label = c_text(label);
        let mut labels = lock(&self.labels);
        let known = labels.iter().position(|known| *known == label);
        let at = known.unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        });
        // the text stays where it is when the list grows
        labels[at].as_ptr()
    }

    fn read(&self) -> RwLockReadGuard<'_, Filter> {
        self.filter.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, error: &Error) -> String {
        self.path.as_ref().map_or_else(|| error.to_string(), |path| named(path, error))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with the file, if it does not name one itself.
fn named(path: &std::path::Path, error: &Error) -> String {
    match error.path() {
        Some(_) => error.to_string(),
        None => format!("{}: {error}", path.display()),
    }
}
