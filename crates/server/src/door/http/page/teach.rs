//! *Teach*: an mbox or a Maildir's tar. What is known already, and what contradicts it, is told before anything is learned.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderName;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::future::join_all;
use maud::{Markup, html};
use tamis_mail::{maildir, mbox};
use tamis_train::{CountedDocument, Document, Scratch};

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::{Shown, View, facts, shown};
use crate::door::http::page::parts::{Parts, form_of};
use crate::door::http::page::tried::model_of;
use crate::door::http::refusal::Refusal;
use crate::lock::lock;
use crate::models::request::{Feedback, FeedbackOutcome, ModelId, ServiceError};
use crate::record::Door;
use crate::service::{CurrentService, Request as Question, Service};

/// Messages that are looked up or learned at a time, contradictions that are listed, and the pause before a full queue is
/// tried again.
const BATCH: usize = 64;
const LISTED: usize = 50;
const PAUSE: Duration = Duration::from_millis(200);

/// A file that was uploaded: one at a time, the next takes its place.
struct Upload {
    label: String,
    model: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Messages, those that were looked up or learned, and those that this changed.
    n: usize,
    n_done: usize,
    n_learned: usize,
    /// Those that the file holds more than once, that are known under the label, and that are no messages to learn.
    n_repeated: usize,
    n_known: usize,
    n_skipped: usize,
    new: Vec<CountedDocument>,
    /// Those that are known under another label, and which.
    contradictions: Vec<(CountedDocument, String)>,
    error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Looking,
    Told,
    Learning,
    Done,
}

static UPLOAD: Mutex<Option<Arc<Upload>>> = Mutex::new(None);

impl Upload {
    fn is_busy(&self) -> bool {
        matches!(lock(&self.state).phase, Phase::Looking | Phase::Learning)
    }
}

/// `GET /teach`
pub(super) async fn show(context: SharedContext) -> Response {
    let upload = lock(&UPLOAD).clone();
    let is_busy = upload.as_ref().is_some_and(|upload| upload.is_busy());
    let content = html! {
        @if let Some(upload) = upload { section role="status" { (progress(&upload)) } }
        @if !is_busy { (form(&context.service)) }
    };
    let view = View::new("/teach", content);
    match is_busy {
        true => ([(HeaderName::from_static("refresh"), "2")], view).into_response(),
        false => view.into_response(),
    }
}

fn most_bytes(service: &Service) -> usize {
    service.settings().limits.bytes_in_flight / 2
}

fn form(service: &Service) -> Markup {
    html! {
        h2 { "Upload" }
        form.stack method="post" action="/teach" enctype="multipart/form-data" {
            label for="label" { "The messages are" } select #label name="label" { option { "spam" } option { "ham" } }
            label for="user" { "for the model of this user; empty for the shared one" } input #user name="user" maxlength="200" autocomplete="off";
            label for="file" { "mbox, or a tar of a Maildir" } input #file type="file" name="file" required;
            button { "Look at it" }
        }
        p.note { "Nothing is learned before you have seen what the file holds. At most " (most_bytes(service) >> 20) " MB at a time; for more, " code { "tamis learn" } " on the server." }
    }
}

fn progress(upload: &Upload) -> Markup {
    let state = lock(&upload.state);
    let State { n, n_done, contradictions, .. } = &*state;
    let label = shown(&upload.label, 80);
    html! {
        @match state.phase {
            Phase::Looking | Phase::Learning => { p { "Working through the messages: " progress max=(n) value=(n_done) aria-label="done" { (n_done) } " " (n_done) " of " (n) } }
            Phase::Done => { p { (state.n_learned) " messages were learned as " (label) "." } }
            Phase::Told => {
                h2 { "What the file holds" }
                (facts("Messages", [
                    ("new", state.new.len()), ("known under this label already", state.n_known), ("known under another label", contradictions.len()),
                    ("more than once in the file", state.n_repeated), ("deleted ones, and what is no message", state.n_skipped),
                ].map(|(name, n)| (name, n.to_string()))))
                form method="post" action="/teach/learn" {
                    @if !contradictions.is_empty() {
                        h2 { "Known under another label" }
                        ul { @for (document, known) in contradictions.iter().take(LISTED) { li { (shown(document.name(), 100)) ": " (shown(known, 80)) } } }
                        @if contradictions.len() > LISTED { p { "And " (contradictions.len() - LISTED) " more." } }
                        p { label { input type="checkbox" name="all" value="yes"; " also move those " (contradictions.len()) " to " (label) } }
                    }
                    button { "Learn as " (label) } " "
                    button name="drop" value="yes" { "Learn nothing" }
                }
            }
        }
        @if let Some(error) = &state.error { p role="alert" { (shown(error, 500)) } }
    }
}

/// `POST /teach`
pub(super) async fn upload(context: SharedContext, request: Request) -> Shown {
    let service = &context.service;
    let parts = Parts::read(&context, request, most_bytes(service)).await?;
    let model = model_of(parts.fields.text("user")).name();
    let label = service.label(ModelId::of_name(&model), parts.fields.text("label"))?;
    let upload = Arc::new(Upload { label, model, state: Mutex::default() });
    let mut last = lock(&UPLOAD);
    if last.as_ref().is_some_and(|last| last.is_busy()) {
        let busy = "Another file is being looked at or learned; wait until that is done.";
        return Err(Refusal::unprocessable(busy).into());
    }
    *last = Some(upload.clone());
    drop(last);
    let current = context.current.clone();
    tokio::spawn(async move {
        let (counting, service) = (upload.clone(), current.get());
        let counted = tokio::task::spawn_blocking(move || count(&service, &counting, &parts)).await;
        let outcome = match counted.unwrap_or(Err(ServiceError::Defect)) {
            Ok(documents) => each(&current, &upload, &Feedback::Find, documents).await,
            Err(error) => Err(error),
        };
        let mut state = lock(&upload.state);
        state.phase = if outcome.is_err() { Phase::Done } else { Phase::Told };
        state.error = outcome.err().map(|error| error.to_string());
    });
    Ok(Redirect::to("/teach").into_response())
}

/// Counts the messages of a file, each once.
fn count(service: &Service, upload: &Upload, parts: &Parts) -> Result<Vec<CountedDocument>, ServiceError> {
    let (mut messages, mut n_skipped) = (Vec::new(), 0);
    let read = for_each_message(parts.message.bytes(), service.bytes_to_score(), |raw| {
        if mbox::not_to_learn(&raw).is_none() { messages.push(raw) } else { n_skipped += 1 }
    });
    read.map_err(|error| ServiceError::Request(format!("The file cannot be read: {error}")))?;
    let filter = service.models.to_score(ModelId::of_name(&upload.model))?.opened()?.filter();
    let (mut seen, mut documents, mut scratch) = (HashSet::new(), Vec::new(), Scratch::default());
    scratch.keep_counts(true);
    for raw in &messages {
        if seen.insert(filter.digest(Document::Mail(raw))?) {
            filter.score_mail(raw, &mut scratch)?;
            documents.push(filter.counted(&scratch));
        }
    }
    let mut state = lock(&upload.state);
    (state.n, state.n_skipped, state.n_repeated) =
        (documents.len(), n_skipped, messages.len() - documents.len());
    Ok(documents)
}

/// Visits the messages of an mbox, or of a Maildir in a tar.
fn for_each_message(bytes: &[u8], most: usize, mut visit: impl FnMut(Vec<u8>)) -> std::io::Result<()> {
    if bytes.get(257..262) != Some(b"ustar") {
        return mbox::Reader::new(bytes, most).try_for_each(|entry| entry.map(|entry| visit(entry.bytes)));
    }
    for file in tar::Archive::new(bytes).entries()? {
        let file = file?;
        let path = String::from_utf8_lossy(&file.path_bytes()).into_owned();
        let is_message = file.header().entry_type().is_file()
            && (path.contains("/cur/") || path.contains("/new/"))
            && !maildir::is_deleted(OsStr::new(&path));
        if is_message {
            let mut raw = Vec::new();
            file.take(most as u64).read_to_end(&mut raw)?;
            visit(raw);
        }
    }
    Ok(())
}

/// Looks up or learns documents, some at a time, and again while too much waits.
async fn each(
    current: &CurrentService,
    upload: &Upload,
    feedback: &Feedback,
    mut documents: Vec<CountedDocument>,
) -> Result<(), ServiceError> {
    while !documents.is_empty() {
        let batch = documents.split_off(documents.len().saturating_sub(BATCH));
        let service = current.get();
        let question = Question::new(Door::Page, ModelId::of_name(&upload.model));
        let one = |of| service.correct(&question, feedback.clone(), Document::Counted(of));
        let outcomes: Result<Vec<_>, _> = join_all(batch.iter().map(one)).await.into_iter().collect();
        if outcomes == Err(ServiceError::Busy) {
            documents.extend(batch);
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let mut state = lock(&upload.state);
        state.n_done += batch.len();
        for (document, outcome) in batch.into_iter().zip(outcomes?) {
            match outcome {
                FeedbackOutcome::Known(known) if known == upload.label => state.n_known += 1,
                FeedbackOutcome::Known(known) => state.contradictions.push((document, known)),
                FeedbackOutcome::Unknown => state.new.push(document),
                FeedbackOutcome::Learned | FeedbackOutcome::Moved(_) => state.n_learned += 1,
                FeedbackOutcome::Already | FeedbackOutcome::Forgotten => (),
            }
        }
    }
    Ok(())
}

/// `POST /teach/learn`
pub(super) async fn learn(context: SharedContext, request: Request) -> Shown {
    let choice = form_of(&context, request).await?;
    let mut last = lock(&UPLOAD);
    let Some(upload) = last.clone().filter(|upload| lock(&upload.state).phase == Phase::Told) else {
        let gone = "There is no file to learn; it was learned or dropped already.";
        return Err(Refusal::unprocessable(gone).into());
    };
    if !choice.text("drop").is_empty() {
        *last = None;
        return Ok(Redirect::to("/teach").into_response());
    }
    let mut state = lock(&upload.state);
    let (mut documents, others) = (std::mem::take(&mut state.new), std::mem::take(&mut state.contradictions));
    if !choice.text("all").is_empty() {
        documents.extend(others.into_iter().map(|(document, _)| document));
    }
    (state.phase, state.n, state.n_done) = (Phase::Learning, documents.len(), 0);
    drop(state);
    let current = context.current.clone();
    tokio::spawn(async move {
        let feedback = Feedback::Learn(upload.label.clone());
        let outcome = each(&current, &upload, &feedback, documents).await;
        let mut state = lock(&upload.state);
        (state.phase, state.error) = (Phase::Done, outcome.err().map(|error| error.to_string()));
    });
    Ok(Redirect::to("/teach").into_response())
}
