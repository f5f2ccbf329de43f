//! Learning in batches: what arrives while a batch is being written makes the next one, with one sync for all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use tamis_train::replication::Record;
use tamis_train::{ErrorKind, LearnOptions, LearnOutcome, Learner};
use tokio::sync::oneshot;

use crate::models::background;
use crate::models::failure::Failure;
use crate::models::model::Model;
use crate::models::waiting::{Answer, Batch, Body, Change, Corrected, Correction};
use crate::outbox::file::Outbox;
use crate::record::metrics::Metrics;

/// How long the lock is kept while corrections keep coming, how soon the next must come, and how long the lock is free
/// afterwards, so that other processes get it (they try every 5 ms).
const BURST: Duration = Duration::from_millis(250);
const LULL: Duration = Duration::from_millis(3);
const PAUSE: Duration = Duration::from_millis(15);

/// How long to wait for other processes that change the model.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// What learning needs besides the model.
pub(crate) struct Context {
    pub(crate) metrics: Arc<Metrics>,
    /// Maximum number of corrections that wait for a model.
    pub(crate) most_waiting: usize,
    /// Where the fleet is told of them, if there is one.
    pub(crate) outbox: Option<Arc<Outbox>>,
}

/// Learns or forgets a document; returns when the change is on the disk.
///
/// # Errors
/// [`Failure::Busy`] if too much is waiting, and those of the model.
pub(crate) async fn correct(
    model: &Arc<Model>,
    context: &Arc<Context>,
    correction: Correction,
) -> Result<Corrected, Failure> {
    enqueue(model, context, correction)?.answer().await
}

/// A correction that waits. Corrections of a model are made in the order in which they were put there.
pub(crate) struct Enqueued(oneshot::Receiver<Result<Corrected, Failure>>);

impl Enqueued {
    /// The outcome, once it is on the disk.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) async fn answer(self) -> Result<Corrected, Failure> {
        self.0.await.unwrap_or(Err(Failure::Defect))
    }
}

/// Puts a correction behind those that wait.
///
/// # Errors
/// [`Failure::Busy`] if too much is waiting.
pub(crate) fn enqueue(
    model: &Arc<Model>,
    context: &Arc<Context>,
    correction: Correction,
) -> Result<Enqueued, Failure> {
    let (answer, answered) = oneshot::channel();
    let must_start = {
        let mut queue = model.waiting.lock();
        if queue.waiting.len() >= context.most_waiting {
            return Err(Failure::Busy);
        }
        queue.waiting.push((correction, answer));
        !std::mem::replace(&mut queue.is_running, true)
    };
    if must_start {
        start(model.clone(), context.clone());
    } else {
        model.waiting.more.notify_one();
    }
    Ok(Enqueued(answered))
}

/// Starts a thread that learns what waits. Scoring goes before it.
fn start(model: Arc<Model>, context: Arc<Context>) {
    let refused = model.clone();
    let learning = move || {
        background::step_back();
        run(&model, &context);
    };
    if std::thread::Builder::new().name("learning".to_owned()).spawn(learning).is_err() {
        // the system has no thread left
        let waiting = std::mem::take(&mut *refused.waiting.lock()).waiting;
        waiting.into_iter().for_each(|(_, answer)| drop(answer.send(Err(Failure::Busy))));
    }
}

/// Learns until nothing waits.
fn run(model: &Model, context: &Context) {
    let mut next = model.waiting.next();
    while let Some(batch) = next {
        burst(model, context, batch);
        if !model.waiting.lock().waiting.is_empty() {
            sleep(PAUSE);
        }
        next = model.waiting.next_within(follow(model));
        if next.is_none() {
            follow(model);
            next = model.waiting.next();
        }
    }
}

/// Learns a batch and those that follow closely, under one lock. Then does what may take longer.
fn burst(model: &Model, context: &Context, first: Batch) {
    let begun = Instant::now();
    let (mut learner, mut next) = (None, Some(first));
    while let Some(batch) = next {
        learner = learn(model, context, learner, batch);
        next = if begun.elapsed() < BURST { model.waiting.next_within(LULL) } else { None };
    }
    // the answers are out; a defect here must not end the thread
    let upkeep = catch_unwind(AssertUnwindSafe(|| upkeep(context, learner)));
    context.metrics.defects.fetch_add(u64::from(upkeep.is_err()), Relaxed);
}

/// Learns a batch and answers it. Returns the learner, unless it failed.
fn learn(model: &Model, context: &Context, learner: Option<Learner>, mut batch: Batch) -> Option<Learner> {
    match catch_unwind(AssertUnwindSafe(|| attempt(model, context, learner, &batch))) {
        Ok(Ok((learner, outcomes))) => {
            finish(model, context, batch, outcomes);
            Some(learner)
        }
        Ok(Err(failure)) => {
            batch.into_iter().for_each(|(_, answer)| drop(answer.send(Err(failure.clone()))));
            None
        }
        Err(_) => {
            context.metrics.defects.fetch_add(1, Relaxed);
            // nothing was written; the one that caused it is found by learning each half by itself
            if batch.len() == 1 {
                batch.into_iter().for_each(|(_, answer)| drop(answer.send(Err(Failure::Defect))));
                return None;
            }
            let rest = batch.split_off(batch.len() / 2);
            let learner = learn(model, context, None, batch);
            learn(model, context, learner, rest)
        }
    }
}

/// The outcome of each correction, or why it failed.
type Outcomes = Vec<Result<Corrected, Failure>>;

/// Learns a batch and writes it; all or nothing.
fn attempt(
    model: &Model,
    context: &Context,
    learner: Option<Learner>,
    batch: &[(Correction, Answer)],
) -> Result<(Learner, Outcomes), Failure> {
    let mut learner = learner.map_or_else(|| open(model), Ok)?;
    let mut records = Vec::new();
    let apply = |(correction, _): &(Correction, Answer)| match (correction, &context.outbox) {
        (Correction::Record(bytes), _) => take_in(&mut learner, &Record::from_bytes(bytes)?),
        (Correction::Document(change, body), None) => apply(&mut learner, change, body),
        (Correction::Document(change, body), Some(_)) => {
            let label = match change {
                Change::Learn(label) => Some(label.as_str()),
                Change::Forget => None,
            };
            let record = learner.record(label, body.document())?;
            let outcome = take_in(&mut learner, &record)?;
            // told although nothing changed here: another server may have been told otherwise meanwhile
            records.push(record.to_bytes());
            Ok(outcome)
        }
    };
    let outcomes: Outcomes = batch.iter().map(apply).collect();
    if let Some(outbox) = &context.outbox {
        // before the model has it, so that the fleet is told even if this process is killed in between
        let put = outbox.put(&model.name, records);
        put.map_err(|error| Failure::Model(format!("telling the fleet: {error}")))?;
    }
    learner.commit_without_upkeep().map_err(|error| model.failure(&error))?;
    Ok((learner, outcomes))
}

/// Applies a record.
fn take_in(learner: &mut Learner, record: &Record) -> Result<Corrected, Failure> {
    let has_changed = learner.apply(record)?;
    Ok(match (record.label().is_some(), has_changed) {
        (true, true) => Corrected::Learned,
        (true, false) => Corrected::Already,
        (false, true) => Corrected::Forgotten,
        (false, false) => Corrected::Unknown,
    })
}

fn apply(learner: &mut Learner, change: &Change, body: &Body) -> Result<Corrected, Failure> {
    match change {
        Change::Learn(label) => Ok(match learner.learn(label, body.document())? {
            LearnOutcome::Already => Corrected::Already,
            _ => Corrected::Learned,
        }),
        Change::Forget => match learner.forget(None, body.document()) {
            Ok(_) => Ok(Corrected::Forgotten),
            Err(error) if error.kind() == ErrorKind::NotLearned => Ok(Corrected::Unknown),
            Err(error) => Err(error.into()),
        },
    }
}

/// Opens a model for learning. That of a user is made if there is none; the shared one is not.
fn open(model: &Model) -> Result<Learner, Failure> {
    let mut options = LearnOptions::default();
    options.lock_timeout = LOCK_TIMEOUT;
    options.learned_at = Some(end_of_day());
    let shared = model.shared().map(|shared| shared.opened()).transpose()?;
    let opened = match &shared {
        Some(shared) => {
            make_folder(model)?;
            Learner::create_behind(&model.path, shared.filter(), options)
        }
        None => Learner::open(&model.path, options),
    };
    opened.map_err(|error| match crate::models::model::is_missing(&error) {
        true => model.missing(),
        false => model.failure(&error),
    })
}

/// The folder of users' models is private.
fn make_folder(model: &Model) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(folder) = model.path.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::Model(format!("{}: {error}", folder.display())))
}

/// The end of the current day (UTC), in seconds since 1970: everything learned on one day has the same date.
fn end_of_day() -> i64 {
    const DAY: i64 = 86_400;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(now.as_secs()).unwrap_or(0).div_euclid(DAY) + 1) * DAY - 1
}

/// Takes what was learned into use, unless that was done just before, and answers.
fn finish(model: &Model, context: &Context, batch: Batch, outcomes: Outcomes) {
    follow(model);
    context.metrics.commits.fetch_add(1, Relaxed);
    for ((correction, answer), outcome) in batch.into_iter().zip(outcomes) {
        match (correction, &outcome) {
            (Correction::Record(_), _) => context.metrics.fleet_applied.fetch_add(1, Relaxed),
            (_, Ok(Corrected::Learned)) => context.metrics.learned.fetch_add(1, Relaxed),
            (_, Ok(Corrected::Forgotten)) => context.metrics.forgotten.fetch_add(1, Relaxed),
            _ => 0,
        };
        let _ = answer.send(outcome);
    }
}

/// Takes what was learned into use, unless that was done just before; returns when it is due.
fn follow(model: &Model) -> Duration {
    // if the file cannot be opened now, the server's next look at it tries again
    model.follow_in_turn().ok().flatten().unwrap_or_default()
}

/// Rewrites the file and retrains the model, where that is due.
fn upkeep(context: &Context, learner: Option<Learner>) {
    let Some(mut learner) = learner else { return };
    // what was learned is in the file; the next batch tries again
    if learner.upkeep().unwrap_or(false) {
        context.metrics.retrained.fetch_add(1, Relaxed);
    }
}
