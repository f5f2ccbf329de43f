//! Learning in batches: what arrives while a batch is being written makes the next one, with one sync for all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tamis_train::replication::Record;
use tamis_train::{Document, Error, ErrorKind, LearnOptions, LearnOutcome, Learner};
use tokio::sync::oneshot;

use crate::models::model::{LiveModel, OwnedDocument, Update, UpdateBatch, is_missing};
use crate::models::request::{Feedback, FeedbackOutcome, ServiceError};
use crate::record::Metrics;
use crate::record::outbox::Outbox;

/// The priority of threads that learn. Where all processors are busy, they get a tenth of what the others get. With the
/// lowest priority, 19, they would get a hundredth, which is little for corrections on a machine that has other work.
const NICENESS: i32 = 10;

/// How long the lock is kept while corrections keep coming, how soon the next must come, and how long the lock is free
/// afterwards, so that other processes get it (they try every 5 ms).
const BURST: Duration = Duration::from_millis(250);
const LULL: Duration = Duration::from_millis(3);
const PAUSE: Duration = Duration::from_millis(15);

/// How long to wait for other processes that change the model.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// What learning needs besides the model.
pub(crate) struct LearningContext {
    pub(crate) metrics: Arc<Metrics>,
    /// Maximum number of updates that wait for a model.
    pub(crate) most_waiting: usize,
    /// Where the fleet is told of them, if there is one.
    pub(crate) outbox: Option<Arc<Outbox>>,
}

/// Lets threads that score go before the calling one. On Linux a priority is the thread's own; elsewhere it would be that
/// of the whole server, so nothing happens there.
pub(crate) fn step_back() {
    if cfg!(target_os = "linux") {
        // otherwise it is as fast as the others
        let _ = rustix::process::setpriority_process(None, NICENESS);
    }
}

/// Puts an update behind those that wait: those of a model are made in this order. Returns its outcome, once it is on the
/// disk.
///
/// # Errors
/// [`ServiceError::Busy`] if too much is waiting. The outcome has those of the model.
pub(crate) fn enqueue(
    model: &Arc<LiveModel>,
    context: &Arc<LearningContext>,
    update: Update,
) -> Result<impl Future<Output = Result<FeedbackOutcome, ServiceError>> + use<>, ServiceError> {
    let (answer, answered) = oneshot::channel();
    let must_start = {
        let mut queue = model.queue.lock();
        // the other half is for people
        let is_by_rule = matches!(update, Update::Document(Feedback::LearnNew(_), ..));
        let most = if is_by_rule { context.most_waiting.div_ceil(2) } else { context.most_waiting };
        if queue.waiting.len() >= most {
            return Err(ServiceError::Busy);
        }
        queue.waiting.push((update, answer));
        !std::mem::replace(&mut queue.is_running, true)
    };
    if must_start {
        start(model.clone(), context.clone());
    } else {
        model.queue.more.notify_one();
    }
    Ok(async { answered.await.unwrap_or(Err(ServiceError::Defect)) })
}

/// Starts a thread that learns what waits. Scoring goes before it.
fn start(model: Arc<LiveModel>, context: Arc<LearningContext>) {
    let refused = model.clone();
    let learning = move || {
        step_back();
        run(&model, &context);
    };
    if std::thread::Builder::new().name("learning".to_owned()).spawn(learning).is_err() {
        // the system has no thread left
        let waiting = std::mem::take(&mut *refused.queue.lock()).waiting;
        refuse(waiting, &ServiceError::Busy);
    }
}

fn refuse(batch: UpdateBatch, failure: &ServiceError) {
    batch.into_iter().for_each(|(_, answer)| drop(answer.send(Err(failure.clone()))));
}

/// Learns until nothing waits.
fn run(model: &LiveModel, context: &LearningContext) {
    let mut next = model.queue.next();
    while let Some(batch) = next {
        burst(model, context, batch);
        if !model.queue.lock().waiting.is_empty() {
            sleep(PAUSE);
        }
        next = model.queue.next_within(follow(model));
        if next.is_none() {
            follow(model);
            next = model.queue.next();
        }
    }
}

/// Learns a batch and those that follow closely, under one lock. Then rewrites the file and retrains the model, where
/// that is due, which may take longer.
fn burst(model: &LiveModel, context: &LearningContext, first: UpdateBatch) {
    let begun = Instant::now();
    let (mut learner, mut next) = (None, Some(first));
    while let Some(batch) = next {
        learner = learn(model, context, learner, batch);
        next = if begun.elapsed() < BURST { model.queue.next_within(LULL) } else { None };
    }
    let Some(mut learner) = learner else { return };
    // the answers are out and what was learned is in the file: a defect here must not end the thread, and after an error
    // the next batch tries again
    match catch_unwind(AssertUnwindSafe(|| learner.upkeep().unwrap_or(false))) {
        Ok(has_retrained) => context.metrics.retrained.fetch_add(u64::from(has_retrained), Relaxed),
        Err(_) => context.metrics.defects.fetch_add(1, Relaxed),
    };
}

/// Learns a batch and answers it. Returns the learner, unless it failed.
fn learn(
    model: &LiveModel,
    context: &LearningContext,
    learner: Option<Learner>,
    mut batch: UpdateBatch,
) -> Option<Learner> {
    match catch_unwind(AssertUnwindSafe(|| attempt(model, context, learner, &batch))) {
        Ok(Ok((learner, outcomes))) => {
            finish(model, context, batch, outcomes);
            Some(learner)
        }
        Ok(Err(failure)) => {
            refuse(batch, &failure);
            None
        }
        Err(_) => {
            context.metrics.defects.fetch_add(1, Relaxed);
            // nothing was written; the one that caused it is found by learning each half by itself
            if batch.len() == 1 {
                refuse(batch, &ServiceError::Defect);
                return None;
            }
            let rest = batch.split_off(batch.len() / 2);
            let learner = learn(model, context, None, batch);
            learn(model, context, learner, rest)
        }
    }
}

/// The outcome of each correction, or why it failed.
type BatchOutcomes = Vec<Result<FeedbackOutcome, ServiceError>>;

/// Learns a batch and writes it; all or nothing.
fn attempt(
    model: &LiveModel,
    context: &LearningContext,
    learner: Option<Learner>,
    batch: &UpdateBatch,
) -> Result<(Learner, BatchOutcomes), ServiceError> {
    let mut learner = learner.map_or_else(|| open(model), Ok)?;
    let mut records = Vec::new();
    let apply = |update: &Update| match (update, &context.outbox) {
        (Update::Record(bytes), _) => match Record::from_bytes(bytes) {
            Ok(record) => Ok(outcome(record.label(), learner.apply(&record)?)),
            // not the model's fault
            Err(error) => Err(ServiceError::Request(error.to_string())),
        },
        (Update::Document(Feedback::Find, document, vector), _) => {
            let known = known_label(&mut learner, document.as_document().with_vector(vector))?;
            Ok(known.map_or(FeedbackOutcome::Unknown, FeedbackOutcome::Known))
        }
        (Update::Document(feedback, owned, vector), outbox) => {
            let document = owned.as_document();
            let document = document.with_vector(vector);
            let label = match feedback {
                Feedback::LearnNew(_) if known_label(&mut learner, document)?.is_some() => {
                    return Ok(FeedbackOutcome::Already);
                }
                Feedback::Learn(label) | Feedback::LearnNew(label) => Some(label.as_str()),
                Feedback::Forget | Feedback::Find => None,
            };
            let before = match owned {
                // so that it can be taken back
                OwnedDocument::Counted(_) if label.is_some() => known_label(&mut learner, document)?,
                _ => None,
            };
            let has_changed = if outbox.is_some() {
                let record = learner.record(label, document)?;
                // told even if nothing changes here: another server may have been told otherwise meanwhile
                records.push(record.to_bytes());
                learner.apply(&record)?
            } else {
                apply_feedback(&mut learner, label, document)?
            };
            let outcome = outcome(label, has_changed);
            let moved = before.filter(|_| outcome == FeedbackOutcome::Learned);
            Ok(moved.map_or(outcome, FeedbackOutcome::Moved))
        }
    };
    let outcomes: BatchOutcomes = batch.iter().map(|(update, _)| update).map(apply).collect();
    if let Some(outbox) = &context.outbox {
        // before the model has it, so that the fleet is told even if this process is killed in between
        let put = outbox.put(&model.name, records);
        put.map_err(|error| ServiceError::Model(format!("telling the fleet: {error}")))?;
    }
    learner.commit_without_upkeep().map_err(|error| model.failure(&error))?;
    Ok((learner, outcomes))
}

/// What came of learning a document under a label or, without one, of forgetting it.
fn outcome(label: Option<&str>, has_changed: bool) -> FeedbackOutcome {
    match (label.is_some(), has_changed) {
        (true, true) => FeedbackOutcome::Learned,
        (true, false) => FeedbackOutcome::Already,
        (false, true) => FeedbackOutcome::Forgotten,
        (false, false) => FeedbackOutcome::Unknown,
    }
}

/// The label that a document is known under.
fn known_label(learner: &mut Learner, document: Document<'_>) -> Result<Option<String>, ServiceError> {
    Ok(learner.known_labels(document)?.into_iter().next())
}

/// Learns or forgets a document. Returns whether the model changed.
fn apply_feedback(learner: &mut Learner, label: Option<&str>, document: Document<'_>) -> Result<bool, Error> {
    let Some(label) = label else {
        return match learner.forget(None, document) {
            Err(error) if error.kind() == ErrorKind::NotLearned => Ok(false),
            forgotten => forgotten.map(|_| true),
        };
    };
    Ok(learner.learn(label, document)? != LearnOutcome::Already)
}

/// Opens a model for learning. That of a user is made if there is none; the shared one is not.
fn open(model: &LiveModel) -> Result<Learner, ServiceError> {
    let mut options = LearnOptions::default();
    options.lock_timeout = LOCK_TIMEOUT;
    options.learned_at = Some(LearnOptions::today());
    let shared = model.shared.as_ref().map(|shared| shared.opened()).transpose()?;
    let opened = match &shared {
        Some(shared) => {
            make_folder(model)?;
            Learner::create_behind(&model.path, shared.filter(), options)
        }
        None => Learner::open(&model.path, options),
    };
    opened.map_err(|error| match is_missing(&error) {
        true => model.missing(),
        false => model.failure(&error),
    })
}

/// The folder of users' models is private.
fn make_folder(model: &LiveModel) -> Result<(), ServiceError> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(folder) = model.path.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| ServiceError::Model(format!("{}: {error}", folder.display())))
}

/// Takes what was learned into use, unless that was done just before, and answers.
fn finish(model: &LiveModel, context: &LearningContext, batch: UpdateBatch, outcomes: BatchOutcomes) {
    follow(model);
    let metrics = &context.metrics;
    metrics.commits.fetch_add(1, Relaxed);
    for ((update, answer), outcome) in batch.into_iter().zip(outcomes) {
        match (update, &outcome) {
            (Update::Record(_), _) => metrics.fleet_applied.fetch_add(1, Relaxed),
            (_, Ok(FeedbackOutcome::Learned | FeedbackOutcome::Moved(_))) => {
                metrics.learned.fetch_add(1, Relaxed)
            }
            (_, Ok(FeedbackOutcome::Forgotten)) => metrics.forgotten.fetch_add(1, Relaxed),
            _ => 0,
        };
        let _ = answer.send(outcome);
    }
}

/// Takes what was learned into use, unless that was done just before; returns when it is due.
fn follow(model: &LiveModel) -> Duration {
    // if the file cannot be opened now, the server's next look at it tries again
    model.follow_in_turn().ok().flatten().unwrap_or_default()
}
