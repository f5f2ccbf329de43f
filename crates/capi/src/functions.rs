//! The functions that C calls, and the structures that they fill.

#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use tamis_filter::{Document, Explanation, Filter, Score};

use crate::edge::{Answer, bytes, c_text, free, guard, last_error, object, text, write};
use crate::filter::TamisFilter;

/// A score. Its texts belong to the filter and are there until it is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisScore {
    /// The verdict: a label of the model, or "unsure".
    pub label: *const c_char,
    /// The label that probability and log_odds are of: that of spam in a spam filter, else the likeliest.
    pub scored_label: *const c_char,
    /// Posterior probability of that label, from 0 to 1.
    pub probability: f64,
    /// Log-odds of that label against all others, in nats.
    pub log_odds: f64,
    /// Different terms of the document that the model knows.
    pub known_terms: u64,
    /// Whether the verdict is the label that counts as spam.
    pub is_spam: bool,
    /// Whether there is no verdict: label is "unsure".
    pub is_unsure: bool,
}

/// What a term added to a score.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisTerm {
    /// The term, in UTF-8, with the field that it was found in.
    pub term: *const c_char,
    /// What it adds to the log-odds, in nats.
    pub contribution: f64,
    /// How often it is in the document.
    pub count: u32,
}

/// Why a document got its score. All that it points to is there until tamis_explanation_free.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TamisExplanation {
    /// The score.
    pub score: TamisScore,
    /// The label that the log-odds below are of.
    pub label: *const c_char,
    /// The label that it is compared with.
    pub against: *const c_char,
    /// Log-odds before any term, in nats. With all contributions it adds up to the log-odds of the one label
    /// against the other.
    pub intercept: f64,
    /// How many words the model does not know.
    pub unknown: u64,
    /// How many terms follow.
    pub n_terms: usize,
    /// The terms, the strongest first.
    pub terms: *const TamisTerm,
}

/// An explanation, and what it points to.
#[repr(C)]
struct OwnedExplanation {
    /// First, so that a pointer to it is one to the whole.
    shown: TamisExplanation,
    _terms: Vec<TamisTerm>,
    _texts: Vec<CString>,
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tamis_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Why the last call that failed on this thread failed: text in UTF-8, empty if none did. It is there until the next
/// call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn tamis_last_error() -> *const c_char {
    last_error()
}

/// Opens a model file, mapping it. Returns NULL on failure; else free it with tamis_free.
///
/// If other programs write to the file in place (cp new model), read it yourself and use tamis_open_bytes: a mapped file
/// that becomes shorter ends the process by SIGBUS. Programs of tamis never do that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_open(path: *const c_char) -> *mut TamisFilter {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the header asks for text that ends with a zero
        let path = unsafe { text("path", path) }?;
        let filter = TamisFilter::open(PathBuf::from(OsStr::from_bytes(path.to_bytes())))?;
        Ok(Box::into_raw(Box::new(filter)))
    })
}

/// Opens a model from the bytes of its file, which are copied. Returns NULL on failure; else free it with tamis_free.
/// Such a model cannot learn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_open_bytes(model: *const u8, length: usize) -> *mut TamisFilter {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the header asks for so many bytes
        let model = unsafe { bytes("model", model, length) }?;
        let filter = TamisFilter::from_bytes(model.to_vec())?;
        Ok(Box::into_raw(Box::new(filter)))
    })
}

/// Frees a model; nothing if it is NULL. No other call may be using it, and none may later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_free(filter: *mut TamisFilter) {
    // SAFETY: the header asks for what tamis_open returned, and never twice
    guard((), || unsafe { free(filter) });
}

/// Opens the file again if it was changed since. Returns 1 if it was, 0 if not (always for a model of bytes), -1 on
/// failure: the model is then what it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_reload(filter: *const TamisFilter) -> i32 {
    // SAFETY: the header asks for an open model
    guard(-1, || unsafe { object("filter", filter) }?.reload().map(i32::from))
}

/// Scores a message as it came (RFC 5322). Returns 0, or -1 on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_score_mail(
    filter: *const TamisFilter,
    message: *const u8,
    length: usize,
    score: *mut TamisScore,
) -> i32 {
    // SAFETY: the header asks for what `score_document` does
    guard(-1, || unsafe { score_document(filter, message, length, score, Kind::Mail) })
}

/// Scores text: UTF-8, or else windows-1252. Returns 0, or -1 on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_score_text(
    filter: *const TamisFilter,
    text: *const u8,
    length: usize,
    score: *mut TamisScore,
) -> i32 {
    // SAFETY: the header asks for what `score_document` does
    guard(-1, || unsafe { score_document(filter, text, length, score, Kind::Text) })
}

/// Explains the score of a message. Returns NULL on failure; else free it with tamis_explanation_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explain_mail(
    filter: *const TamisFilter,
    message: *const u8,
    length: usize,
) -> *mut TamisExplanation {
    // SAFETY: the header asks for what `explain_document` does
    guard(std::ptr::null_mut(), || unsafe { explain_document(filter, message, length, Kind::Mail) })
}

/// Explains the score of text. Returns NULL on failure; else free it with tamis_explanation_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explain_text(
    filter: *const TamisFilter,
    text: *const u8,
    length: usize,
) -> *mut TamisExplanation {
    // SAFETY: the header asks for what `explain_document` does
    guard(std::ptr::null_mut(), || unsafe { explain_document(filter, text, length, Kind::Text) })
}

/// Frees an explanation; nothing if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_explanation_free(explanation: *mut TamisExplanation) {
    // SAFETY: the header asks for what tamis_explain_* returned, which is the first part of an `OwnedExplanation` in a box
    guard((), || unsafe { free(explanation.cast::<OwnedExplanation>()) });
}

/// Learns a message under a label of the model; one that is known under another label moves. What was learned is on the
/// disk when this returns, and this handle knows it. A model that learned much one by one is fitted anew. Waits up to a
/// minute while another process changes the file.
/// Returns 1 if it was new or moved, 0 if it was known already, -1 on failure: nothing is learned then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_learn_mail(
    filter: *const TamisFilter,
    label: *const c_char,
    message: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header asks for what `learn_document` does
    guard(-1, || unsafe { learn_document(filter, label, message, length, Kind::Mail) })
}

/// As tamis_learn_mail, for text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_learn_text(
    filter: *const TamisFilter,
    label: *const c_char,
    text: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header asks for what `learn_document` does
    guard(-1, || unsafe { learn_document(filter, label, text, length, Kind::Text) })
}

/// Forgets a message: exactly what learning it added. With a label, only if it is known under that label; NULL is any.
/// Returns 1 if it was forgotten, 0 if it was not known, -1 on failure. Waits as tamis_learn_mail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_forget_mail(
    filter: *const TamisFilter,
    label: *const c_char,
    message: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header asks for what `forget_document` does
    guard(-1, || unsafe { forget_document(filter, label, message, length, Kind::Mail) })
}

/// As tamis_forget_mail, for text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tamis_forget_text(
    filter: *const TamisFilter,
    label: *const c_char,
    text: *const u8,
    length: usize,
) -> i32 {
    // SAFETY: the header asks for what `forget_document` does
    guard(-1, || unsafe { forget_document(filter, label, text, length, Kind::Text) })
}

/// What bytes are.
enum Kind {
    Mail,
    Text,
}

fn with_document<T>(bytes: &[u8], kind: Kind, with: impl FnOnce(Document<'_>) -> T) -> T {
    match kind {
        Kind::Mail => with(Document::Mail(bytes)),
        Kind::Text => with(Document::Text(&tamis_mail::decode_text(bytes, None))),
    }
}

/// # Safety
/// Pointers are null, or of an open model, so many bytes, and room for a score.
unsafe fn score_document(
    filter: *const TamisFilter,
    document: *const u8,
    length: usize,
    out: *mut TamisScore,
    kind: Kind,
) -> Answer<i32> {
    // SAFETY: as the caller promises
    let (handle, document) = unsafe { (object("filter", filter)?, bytes("document", document, length)?) };
    let score = with_document(document, kind, |document| {
        handle
            .ask(|filter, scratch| filter.score(document, scratch).map(|score| shown(handle, filter, &score)))
    })?;
    // SAFETY: as the caller promises
    unsafe { write("score", out, score) }?;
    Ok(0)
}

/// # Safety
/// Pointers are null, or of an open model and so many bytes.
unsafe fn explain_document(
    filter: *const TamisFilter,
    document: *const u8,
    length: usize,
    kind: Kind,
) -> Answer<*mut TamisExplanation> {
    // SAFETY: as the caller promises
    let (handle, document) = unsafe { (object("filter", filter)?, bytes("document", document, length)?) };
    let owned = with_document(document, kind, |document| {
        handle.ask(|filter, scratch| {
            filter.explain(document, scratch).map(|explanation| owned(handle, filter, &explanation))
        })
    })?;
    Ok(Box::into_raw(owned).cast())
}

/// # Safety
/// Pointers are null, or of an open model, text that ends with a zero, and so many bytes.
unsafe fn learn_document(
    filter: *const TamisFilter,
    label: *const c_char,
    document: *const u8,
    length: usize,
    kind: Kind,
) -> Answer<i32> {
    // SAFETY: as the caller promises
    let (handle, document) = unsafe { (object("filter", filter)?, bytes("document", document, length)?) };
    // SAFETY: likewise
    let label = unsafe { text("label", label) }?.to_string_lossy();
    with_document(document, kind, |document| handle.learn(&label, document).map(i32::from))
}

/// # Safety
/// As `learn_document`.
unsafe fn forget_document(
    filter: *const TamisFilter,
    label: *const c_char,
    document: *const u8,
    length: usize,
    kind: Kind,
) -> Answer<i32> {
    // SAFETY: as the caller promises
    let (handle, document) = unsafe { (object("filter", filter)?, bytes("document", document, length)?) };
    // SAFETY: likewise
    let label = if label.is_null() { None } else { Some(unsafe { text("label", label) }?.to_string_lossy()) };
    with_document(document, kind, |document| handle.forget(label.as_deref(), document).map(i32::from))
}

/// A score as C sees it.
fn shown(handle: &TamisFilter, filter: &Filter, score: &Score) -> TamisScore {
    TamisScore {
        label: handle.label(filter.label_of(score)),
        scored_label: handle.label(filter.classes().label(score.scored_class).unwrap_or_default()),
        probability: score.probability,
        log_odds: score.log_odds,
        known_terms: score.known_terms as u64,
        is_spam: score.label.is_some() && score.label == filter.spam(),
        is_unsure: score.label.is_none(),
    }
}

/// An explanation as C sees it. Its labels are its own.
fn owned(handle: &TamisFilter, filter: &Filter, explanation: &Explanation) -> Box<OwnedExplanation> {
    let score = shown(handle, filter, &explanation.score);
    let mut texts = Vec::new();
    let mut text = |text: &str| {
        let text = c_text(text);
        // stays where it is when the list grows
        let pointer = text.as_ptr();
        texts.push(text);
        pointer
    };
    let mut label = |class| text(filter.classes().label(class).unwrap_or_default());
    let (of, against) = (label(explanation.class), label(explanation.against));
    let scored_label = label(explanation.score.scored_class);
    let verdict = text(filter.label_of(&explanation.score));
    let terms: Vec<_> = explanation
        .terms
        .iter()
        .map(|term| TamisTerm { term: text(&term.term), contribution: term.contribution, count: term.count })
        .collect();
    let shown = TamisExplanation {
        score: TamisScore { label: verdict, scored_label, ..score },
        label: of,
        against,
        intercept: explanation.intercept,
        unknown: explanation.unknown as u64,
        n_terms: terms.len(),
        terms: terms.as_ptr(),
    };
    Box::new(OwnedExplanation { shown, _terms: terms, _texts: texts })
}
