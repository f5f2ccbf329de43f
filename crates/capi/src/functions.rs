//! The functions that C calls, and the structures that they fill.

#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use tamis_train::{Document, Explanation, Filter, Score};

use crate::edge::{CallResult, c_text, free, guard, last_error, object, slice, text, write};
use crate::filter::TamisFilter;

/// A document, perhaps with a dense vector beside it, for a model that was trained with vectors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisDocument {
    /// A raw message (RFC 5322), or text as tamis_score_text takes it; may be NULL if length is 0.
    pub bytes: *const u8,
    /// Their number.
    pub length: usize,
    /// Whether they are a message.
    pub is_mail: bool,
    /// Finite numbers of at most 1,024 in magnitude, as many as the model's vectors have. NULL if there is no vector: its
    /// words alone are then scored.
    pub vector: *const f32,
    /// Their number; 0 if there is no vector.
    pub n_vector: usize,
}

/// A score. Its texts belong to the filter and live until it is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisScore {
    /// The verdict: a label of the model, or "unsure".
    pub label: *const c_char,
    /// The label that probability and log_odds belong to: spam in a spam filter, else the likeliest label.
    pub scored_label: *const c_char,
    /// Posterior probability of that label, from 0 to 1.
    pub probability: f64,
    /// Log-odds of that label against all others, in nats.
    pub log_odds: f64,
    /// Number of distinct terms of the document that the model knows.
    pub known_terms: u64,
    /// Whether the verdict is the label that counts as spam.
    pub is_spam: bool,
    /// Whether the model is unsure: label is then "unsure".
    pub is_unsure: bool,
}

/// A term, and what it added to a score.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisTerm {
    /// The term, in UTF-8, with the field that it was found in.
    pub term: *const c_char,
    /// What it adds to the log-odds, in nats.
    pub contribution: f64,
    /// Number of times it occurs in the document.
    pub count: u32,
}

/// Why a document got its score. Everything that it points to lives until tamis_explanation_free.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisExplanation {
    /// The score.
    pub score: TamisScore,
    /// The label that the log-odds below belong to.
    pub label: *const c_char,
    /// The label that it is compared with.
    pub against: *const c_char,
    /// Log-odds before any term, in nats. Together with all contributions, the log-odds of label against the other
    /// label.
    pub intercept: f64,
    /// Number of words that the model does not know.
    pub unknown: u64,
    /// The part of the document that decides, or that makes the filter unsure, such as "attachment notes.txt"; null if it is
    /// the whole.
    pub part: *const c_char,
    /// Number of terms that follow.
    pub n_terms: usize,
    /// The terms, the strongest first.
    pub terms: *const TamisTerm,
}

/// An explanation, with the terms and texts that it points to.
#[repr(C)]
struct OwnedExplanation {
    /// Must come first, so that a pointer to it is also a pointer to the whole.
    shown: TamisExplanation,
    _terms: Vec<TamisTerm>,
    _texts: Vec<CString>,
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tamis_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns why the last failed call on this thread failed: text in UTF-8, empty if none failed. Valid until the next
/// call on this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn tamis_last_error() -> *const c_char {
    last_error()
}

/// Opens a model file by mapping it. Returns NULL on failure. Free the model with tamis_free.
///
/// If other programs write to the file in place (as cp does), read it yourself and use tamis_open_bytes: a mapped file
/// that shrinks ends the process with SIGBUS. The programs of tamis never write in place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_open(path: *const c_char) -> *mut TamisFilter {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the header requires text that ends with a zero
        let path = unsafe { text("path", path) }?;
        let filter = TamisFilter::open(PathBuf::from(OsStr::from_bytes(path.to_bytes())))?;
        Ok(Box::into_raw(Box::new(filter)))
    })
}

/// Opens a model from the bytes of its file, which are copied. Returns NULL on failure. Free the model with tamis_free.
/// It cannot learn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_open_bytes(model: *const u8, length: usize) -> *mut TamisFilter {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the header requires `length` bytes
        let model = unsafe { slice("model", model, length) }?;
        let filter = TamisFilter::from_bytes(model.to_vec())?;
        Ok(Box::into_raw(Box::new(filter)))
    })
}

/// Frees a model. Does nothing if it is NULL. No other call may be using the model, or use it later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_free(filter: *mut TamisFilter) {
    // SAFETY: the header requires a pointer that tamis_open or tamis_open_bytes returned, freed only once
    guard((), || unsafe { free(filter) });
}

/// Opens the model file again if it has changed. Returns 1 if it had, 0 if not (always for a model opened from bytes),
/// and -1 on failure, which leaves the model as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_reload(filter: *const TamisFilter) -> i32 {
    // SAFETY: the header requires an open model
    guard(-1, || unsafe { object("filter", filter) }?.reload().map(i32::from))
}

/// Scores a raw message (RFC 5322). Returns 0, or -1 on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_score_mail(
    filter: *const TamisFilter,
    message: *const u8,
    length: usize,
    score: *mut TamisScore,
) -> i32 {
    // SAFETY: the header requires the same of both
    unsafe { tamis_score(filter, &TamisDocument::mail(message, length), score) }
}

/// Scores text in UTF-8 or, if it is not valid UTF-8, in windows-1252; or a document's, given its bytes: DOCX, PPTX, XLSX,
/// ODT, ODP, ODS, EPUB, RTF. Returns 0, or -1 on failure, as for any other file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_score_text(
    filter: *const TamisFilter,
    text: *const u8,
    length: usize,
    score: *mut TamisScore,
) -> i32 {
    // SAFETY: the header requires the same of both
    unsafe { tamis_score(filter, &TamisDocument::text(text, length), score) }
}

/// Explains the score of a message. Returns NULL on failure. Free the explanation with tamis_explanation_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explain_mail(
    filter: *const TamisFilter,
    message: *const u8,
    length: usize,
) -> *mut TamisExplanation {
    // SAFETY: the header requires the same of both
    unsafe { tamis_explain(filter, &TamisDocument::mail(message, length)) }
}

/// Explains the score of a text. Returns NULL on failure. Free the explanation with tamis_explanation_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explain_text(
    filter: *const TamisFilter,
    text: *const u8,
    length: usize,
) -> *mut TamisExplanation {
    // SAFETY: the header requires the same of both
    unsafe { tamis_explain(filter, &TamisDocument::text(text, length)) }
}

/// Frees an explanation. Does nothing if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explanation_free(explanation: *mut TamisExplanation) {
    // SAFETY: the header requires a pointer that tamis_explain_* returned: to the first field of a boxed
    // `OwnedExplanation`
    guard((), || unsafe { free(explanation.cast::<OwnedExplanation>()) });
}

/// Learns a message under a label of the model. A message known under another label moves to this one. When this
/// returns, the change is on the disk and this handle uses it. Refits the model if it has learned much one message at a
/// time. While another process changes the file, waits up to a minute.
/// Returns 1 if the message was new or moved, 0 if it was already known, and -1 on failure; then nothing is learned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_learn_mail(
    filter: *const TamisFilter,
    label: *const c_char,
    message: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header requires the same of both
    unsafe { tamis_learn(filter, label, &TamisDocument::mail(message, length)) }
}

/// Like tamis_learn_mail, for text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_learn_text(
    filter: *const TamisFilter,
    label: *const c_char,
    text: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header requires the same of both
    unsafe { tamis_learn(filter, label, &TamisDocument::text(text, length)) }
}

/// Forgets a message: removes exactly what learning it added. With a label, only if the message is known under it; with
/// NULL, under any. Returns 1 if it was forgotten, 0 if it was not known, and -1 on failure. Waits like
/// tamis_learn_mail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_forget_mail(
    filter: *const TamisFilter,
    label: *const c_char,
    message: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header requires the same of both
    unsafe { tamis_forget(filter, label, &TamisDocument::mail(message, length)) }
}

/// Like tamis_forget_mail, for text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_forget_text(
    filter: *const TamisFilter,
    label: *const c_char,
    text: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header requires the same of both
    unsafe { tamis_forget(filter, label, &TamisDocument::text(text, length)) }
}

/// Scores a document that may have a vector. Returns 0, or -1 on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_score(
    filter: *const TamisFilter,
    document: *const TamisDocument,
    score: *mut TamisScore,
) -> i32 {
    guard(-1, || {
        // SAFETY: the header requires an open model, and a document that points to what it says
        let (document, handle) = unsafe { (object("document", document)?, object("filter", filter)?) };
        let ask = |document: Document<'_>| {
            handle.ask(|filter, scratch| {
                let score = filter.score(document, scratch)?;
                Ok(shown(filter, &score, |label| handle.label(label)))
            })
        };
        // SAFETY: likewise, and room for a score
        unsafe { write("score", score, document.read(ask)?) }.map(|()| 0)
    })
}

/// Explains the score of a document that may have a vector, which is a term such as "vector of 384". Returns NULL on
/// failure. Free the explanation with tamis_explanation_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explain(
    filter: *const TamisFilter,
    document: *const TamisDocument,
) -> *mut TamisExplanation {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the header requires an open model, and a document that points to what it says
        let (document, handle) = unsafe { (object("document", document)?, object("filter", filter)?) };
        let ask = |document: Document<'_>| {
            handle.ask(|filter, scratch| filter.explain(document, scratch).map(|e| owned(filter, &e)))
        };
        // SAFETY: likewise
        unsafe { document.read(ask) }.map(|owned| Box::into_raw(owned).cast())
    })
}

/// Like tamis_learn_mail, for a document that may have a vector. The text identifies a document, or its vector if it has
/// no text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_learn(
    filter: *const TamisFilter,
    label: *const c_char,
    document: *const TamisDocument,
) -> i32 {
    guard(-1, || {
        // SAFETY: the header requires an open model, text that ends with a zero, and a document that points to what it says
        let (document, handle) = unsafe { (object("document", document)?, object("filter", filter)?) };
        // SAFETY: likewise
        let label = unsafe { text("label", label) }?.to_string_lossy();
        // SAFETY: likewise
        unsafe { document.read(|document| handle.learn(&label, document).map(i32::from)) }
    })
}

/// Like tamis_forget_mail, for a document that may have a vector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_forget(
    filter: *const TamisFilter,
    label: *const c_char,
    document: *const TamisDocument,
) -> i32 {
    guard(-1, || {
        // SAFETY: the header requires an open model, text that ends with a zero, and a document that points to what it says
        let (document, handle) = unsafe { (object("document", document)?, object("filter", filter)?) };
        // SAFETY: likewise
        let label = (!label.is_null()).then(|| unsafe { text("label", label) }).transpose()?;
        let label = label.map(CStr::to_string_lossy);
        // SAFETY: likewise
        unsafe { document.read(|document| handle.forget(label.as_deref(), document).map(i32::from)) }
    })
}

impl TamisDocument {
    fn mail(bytes: *const u8, length: usize) -> Self {
        TamisDocument { is_mail: true, ..TamisDocument::text(bytes, length) }
    }

    fn text(bytes: *const u8, length: usize) -> Self {
        TamisDocument { bytes, length, is_mail: false, vector: std::ptr::null(), n_vector: 0 }
    }

    /// Calls `with` with the document.
    ///
    /// # Safety
    /// Each pointer is null, or points to `length` bytes or `n_vector` numbers.
    unsafe fn read<T>(&self, with: impl FnOnce(Document<'_>) -> CallResult<T>) -> CallResult<T> {
        // SAFETY: as the caller promises
        let bytes = unsafe { slice("document", self.bytes, self.length) }?;
        // SAFETY: likewise
        let vector = unsafe { slice("vector", self.vector, self.n_vector) }?;
        match self.is_mail {
            true => with(Document::Mail(bytes).with_vector(vector)),
            false => {
                let text = tamis_mail::file_text(bytes).map_err(|unread| unread.to_string())?;
                with(Document::Text(&text).with_vector(vector))
            }
        }
    }
}

/// A score as C sees it; `text` makes its labels.
fn shown(filter: &Filter, score: &Score, mut text: impl FnMut(&str) -> *const c_char) -> TamisScore {
    TamisScore {
        label: text(filter.label_of(score)),
        scored_label: text(filter.classes().label(score.scored_class).unwrap_or_default()),
        probability: score.probability,
        log_odds: score.log_odds,
        known_terms: score.known_terms as u64,
        is_spam: score.label.is_some() && score.label == filter.spam(),
        is_unsure: score.label.is_none(),
    }
}

/// An explanation as C sees it, with texts of its own.
fn owned(filter: &Filter, explanation: &Explanation) -> Box<OwnedExplanation> {
    let mut texts = Vec::new();
    let mut text = |text: &str| {
        let text = c_text(text);
        // the text stays where it is when the list grows
        let pointer = text.as_ptr();
        texts.push(text);
        pointer
    };
    let mut label = |class| text(filter.classes().label(class).unwrap_or_default());
    let (label, against) = (label(explanation.class), label(explanation.against));
    let score = shown(filter, &explanation.score, &mut text);
    let terms: Vec<_> = explanation
        .terms
        .iter()
        .map(|term| TamisTerm { term: text(&term.term), contribution: term.contribution, count: term.count })
        .collect();
    let part = explanation.part.as_deref().map_or(std::ptr::null(), text);
    let shown = TamisExplanation {
        score,
        label,
        against,
        intercept: explanation.intercept,
        unknown: explanation.unknown as u64,
        part,
        n_terms: terms.len(),
        terms: terms.as_ptr(),
    };
    Box::new(OwnedExplanation { shown, _terms: terms, _texts: texts })
}
