//! *Teach*: an mbox or a Maildir's tar. What is known already, and what contradicts it, is told before anything is learned.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderName;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::future::join_all;
use maud::{Markup, html};
use serde::Deserialize;
use tamis_mail::{maildir, mbox};
use tamis_train::{CountedDocument, Document, Scratch};

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::{Shown, View, shown};
use crate::door::http::page::parts::{Parts, form_of};
use crate::door::http::page::tried::model_of;
use crate::door::http::refusal::Refusal;
use crate::models::request::{Feedback, FeedbackOutcome, ServiceError};
use crate::record::Door;
use crate::service::history::ModelName;
use crate::service::{CurrentService, Request as Question, Service};

/// Messages that are looked up or learned at a time.
const BATCH: usize = 64;
/// Contradictions that are listed.
const LISTED: usize = 50;
/// The pause before a full queue is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// A file that was uploaded: one at a time, the next takes its place.
#[derive(Default)]
struct Upload {
    label: String,
    model: Option<ModelName>,
    /// Messages, and those that were looked up or, later, learned.
    n: usize,
    n_done: usize,
    /// Those that the file holds more than once, that are known under the label, and that are no messages to learn.
    n_repeated: usize,
    n_known: usize,
    n_skipped: usize,
    new: Vec<CountedDocument>,
    /// Those that are known under another label, and which.
    contradictions: Vec<(CountedDocument, String)>,
    n_learned: usize,
    phase: Phase,
    error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Nothing,
    Looking,
    Told,
    Learning,
    Done,
}

impl Upload {
    fn begin(&mut self, n: usize, n_skipped: usize) {
        (self.n, self.n_skipped) = (n, n_skipped);
    }

    /// The label and the model to learn with.
    fn target(&self) -> (String, Option<ModelName>) {
        (self.label.clone(), self.model.clone())
    }
}

static UPLOAD: Mutex<Option<Arc<Mutex<Upload>>>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `GET /teach`
pub(super) async fn show(context: SharedContext) -> Response {
    let upload = lock(&UPLOAD).clone();
    let upload = upload.as_ref().map(|upload| lock(upload));
    let is_busy =
        upload.as_ref().is_some_and(|upload| matches!(upload.phase, Phase::Looking | Phase::Learning));
    let state = upload.map(|upload| state(&upload));
    let content = html! {
        @if let Some(state) = state { section role="status" { (state) } }
        @if !is_busy { (form(&context.service)) }
    };
    let view = View::new("/teach", content);
    match is_busy {
        // until it has ended
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
            label for="label" { "The messages are" }
            select #label name="label" { option { "spam" } option { "ham" } }
            label for="user" { "for the model of this user; empty for the shared one" }
            input #user name="user" maxlength="100" autocomplete="off";
            label for="file" { "mbox, or a tar of a Maildir" }
            input #file type="file" name="file" required;
            button { "Look at it" }
        }
        p.note { "Nothing is learned before you have seen what the file holds. At most " (most_bytes(service) >> 20) " MB at a time; for more, " code { "tamis learn" } " on the server." }
    }
}

fn state(upload: &Upload) -> Markup {
    let Upload { n, n_done, n_learned, new, contradictions, .. } = upload;
    let label = shown(&upload.label, 80);
    let more = contradictions.len().saturating_sub(LISTED);
    html! {
        @match upload.phase {
            Phase::Nothing => {}
            Phase::Looking => { p { "Looking at " (n) " messages. " progress max=(n) value=(n_done) aria-label="looked at" { (n_done) } } }
            Phase::Learning => { p { "Learning. " progress max=(n) value=(n_done) aria-label="learned" { (n_done) } " " (n_done) " of " (n) } }
            Phase::Done => { p { (n_learned) " messages were learned as " (label) "." } }
            Phase::Told => {
                h2 { "What the file holds" }
                table { tbody {
                    tr { th scope="row" { "new messages" } td.number { (new.len()) } }
                    tr { th scope="row" { "known as " (label) " already" } td.number { (upload.n_known) } }
                    tr { th scope="row" { "known under another label" } td.number { (contradictions.len()) } }
                    tr { th scope="row" { "more than once in the file" } td.number { (upload.n_repeated) } }
                    tr { th scope="row" { "deleted ones, and what is no message" } td.number { (upload.n_skipped) } }
                } }
                @if !contradictions.is_empty() {
                    h2 { "Known under another label" }
                    ul { @for (document, known) in contradictions.iter().take(LISTED) {
                        li { (shown(document.name(), 100)) ": " (shown(known, 80)) }
                    } }
                    @if more > 0 { p { "And " (more) " more." } }
                }
                form method="post" action="/teach/learn" {
                    @if !contradictions.is_empty() {
                        p { label { input type="checkbox" name="all" value="yes"; " also move those " (contradictions.len()) " to " (label) } }
                    }
                    button { "Learn as " (label) } " "
                    button name="drop" value="yes" { "Learn nothing" }
                }
            }
        }
        @if let Some(error) = &upload.error { p role="alert" { (shown(error, 500)) } }
    }
}

/// `POST /teach`
pub(super) async fn upload(context: SharedContext, request: Request) -> Shown {
    let service = &context.service;
    let parts = Parts::read(&context, request, most_bytes(service)).await?;
    let model = ModelName::new(model_of(parts.field("user")));
    let label = service.label(model.id(), parts.field("label"))?;
    let mut place = lock(&UPLOAD);
    if place.as_ref().is_some_and(|upload| matches!(lock(upload).phase, Phase::Looking | Phase::Learning)) {
        return Err(Refusal::unprocessable(
            "Another file is being looked at or learned; wait until that is done.",
        )
        .into());
    }
    let begun = Upload { label, model: Some(model.clone()), phase: Phase::Looking, ..Upload::default() };
    let upload = Arc::new(Mutex::new(begun));
    *place = Some(upload.clone());
    drop(place);
    let current = context.current.clone();
    tokio::spawn(async move {
        let (looked_at, of) = (upload.clone(), current.clone());
        let count = move || count(&of.get(), &model, &parts, &looked_at);
        let counted = tokio::task::spawn_blocking(count).await.unwrap_or(Err(ServiceError::Defect));
        let outcome = match counted {
            Ok(documents) => look_up(&current, documents, &upload).await,
            Err(error) => Err(error),
        };
        let mut upload = lock(&upload);
        upload.error = outcome.err().map(|error| error.to_string());
        upload.phase = if upload.error.is_some() { Phase::Done } else { Phase::Told };
    });
    Ok(Redirect::to("/teach").into_response())
}

/// Counts the messages of a file, each once.
fn count(
    service: &Service,
    model: &ModelName,
    parts: &Parts,
    upload: &Mutex<Upload>,
) -> Result<Vec<CountedDocument>, ServiceError> {
    let mut messages = Vec::new();
    let n_skipped =
        for_each_message(parts.message.bytes(), service.bytes_to_score(), |raw| messages.push(raw));
    let n_skipped =
        n_skipped.map_err(|error| ServiceError::Request(format!("The file cannot be read: {error}")))?;
    lock(upload).begin(messages.len(), n_skipped);
    let open = service.models().to_score(model.id())?.opened()?;
    let (mut seen, mut documents, mut scratch) = (HashSet::new(), Vec::new(), Scratch::default());
    scratch.keep_counts();
    let filter = open.filter();
    for raw in messages {
        let digest = filter.digest(Document::Mail(&raw))?;
        if !seen.insert(digest) {
            lock(upload).n_repeated += 1;
            continue;
        }
        filter.score_mail(&raw, &mut scratch)?;
        documents.push(filter.counted(&scratch));
    }
    Ok(documents)
}

/// Visits the messages of an mbox, or of a Maildir in a tar. Returns the number of those that are not to be learned.
fn for_each_message(bytes: &[u8], most: usize, mut visit: impl FnMut(Vec<u8>)) -> std::io::Result<usize> {
    let mut n_skipped = 0;
    let mut take = |raw: Vec<u8>| match mbox::not_to_learn(&raw) {
        None => visit(raw),
        Some(_) => n_skipped += 1,
    };
    if bytes.get(257..262) == Some(b"ustar") {
        for file in tar::Archive::new(bytes).entries()? {
            let file = file?;
            let path = file.path()?.into_owned();
            let folder = path.parent().and_then(|folder| folder.file_name());
            let is_message = file.header().entry_type().is_file()
                && [Some(OsStr::new("cur")), Some(OsStr::new("new"))].contains(&folder)
                && !path.file_name().is_some_and(maildir::is_deleted);
            if is_message {
                let mut raw = Vec::new();
                file.take(most as u64).read_to_end(&mut raw)?;
                take(raw);
            }
        }
    } else {
        mbox::Reader::new(bytes, most).try_for_each(|entry| entry.map(|entry| take(entry.bytes)))?;
    }
    Ok(n_skipped)
}

/// Looks up under which label each message is known.
async fn look_up(
    current: &CurrentService,
    mut documents: Vec<CountedDocument>,
    upload: &Mutex<Upload>,
) -> Result<(), ServiceError> {
    let (label, model) = lock(upload).target();
    while !documents.is_empty() {
        let batch = documents.split_off(documents.len().saturating_sub(BATCH));
        let outcomes = correct(current, model.as_ref(), &Feedback::Find, &batch).await?;
        let mut upload = lock(upload);
        upload.n_done += batch.len();
        for (document, outcome) in batch.into_iter().zip(outcomes) {
            match outcome {
                FeedbackOutcome::Known(known) if known == label => upload.n_known += 1,
                FeedbackOutcome::Known(known) => upload.contradictions.push((document, known)),
                _ => upload.new.push(document),
            }
        }
    }
    Ok(())
}

/// Learns or looks up documents together, again while too much waits.
async fn correct(
    current: &CurrentService,
    model: Option<&ModelName>,
    feedback: &Feedback,
    documents: &[CountedDocument],
) -> Result<Vec<FeedbackOutcome>, ServiceError> {
    loop {
        let service = current.get();
        let question = Question::new(Door::Page, model.unwrap_or(&ModelName::Shared).id());
        let one = |document| service.correct(&question, feedback.clone(), Document::Counted(document));
        let outcomes: Result<Vec<_>, _> = join_all(documents.iter().map(one)).await.into_iter().collect();
        match outcomes {
            Err(ServiceError::Busy) => tokio::time::sleep(PAUSE).await,
            outcomes => return outcomes,
        }
    }
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Choice {
    all: String,
    drop: String,
}

/// `POST /teach/learn`
pub(super) async fn learn(context: SharedContext, request: Request) -> Shown {
    let choice: Choice = form_of(&context, request).await?;
    let mut place = lock(&UPLOAD);
    let told = place.clone().filter(|upload| lock(upload).phase == Phase::Told);
    let Some(upload) = told else {
        return Err(
            Refusal::unprocessable("There is no file to learn; it was learned or dropped already.").into()
        );
    };
    if !choice.drop.is_empty() {
        *place = None;
        return Ok(Redirect::to("/teach").into_response());
    }
    drop(place);
    let documents = {
        let mut upload = lock(&upload);
        let mut documents = std::mem::take(&mut upload.new);
        let others = std::mem::take(&mut upload.contradictions);
        if !choice.all.is_empty() {
            documents.extend(others.into_iter().map(|(document, _)| document));
        }
        (upload.phase, upload.n, upload.n_done) = (Phase::Learning, documents.len(), 0);
        documents
    };
    let current = context.current.clone();
    tokio::spawn(async move {
        let outcome = learn_all(&current, &documents, &upload).await;
        let mut upload = lock(&upload);
        (upload.phase, upload.error) = (Phase::Done, outcome.err().map(|error| error.to_string()));
    });
    Ok(Redirect::to("/teach").into_response())
}

async fn learn_all(
    current: &CurrentService,
    documents: &[CountedDocument],
    upload: &Mutex<Upload>,
) -> Result<(), ServiceError> {
    let (label, model) = lock(upload).target();
    for batch in documents.chunks(BATCH) {
        let outcomes = correct(current, model.as_ref(), &Feedback::Learn(label.clone()), batch).await?;
        let is_learned =
            |of: &&FeedbackOutcome| matches!(of, FeedbackOutcome::Learned | FeedbackOutcome::Moved(_));
        let mut upload = lock(upload);
        upload.n_done += batch.len();
        upload.n_learned += outcomes.iter().filter(is_learned).count();
    }
    Ok(())
}
