//! The service behind all doors.

pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod history;
pub(crate) mod rules;
pub(crate) mod state;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use tamis_mail::{Limits, LimitsHit};
use tamis_train::{CountedDocument, Document, Explanation, Filter, Kind, Scratch};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use crate::models::ModelRegistry;
use crate::models::learning::{LearningContext, enqueue};
use crate::models::model::{LiveModel, OwnedDocument, Update};
use crate::models::request::{Feedback, FeedbackOutcome, ModelId, ServiceError};
use crate::record::log::{Log, LogLine};
use crate::record::outbox::Outbox;
use crate::record::{Door, MessageOutcome, Metrics};
use crate::service::admission::{Admission, Incoming, TooLong};
use crate::service::answer::{Answer, TermReason};
use crate::service::history::{History, HistoryEntry, Taught, message_id, subject_and_sender};
use crate::service::rules::{Envelope, Rules};
use crate::settings::page::HistoryContent;
use crate::settings::password::Password;
use crate::settings::rules::{Rule, RuleVerdict};
use crate::settings::{FleetSettings, ServerSettings};

/// The longest message that is scored on the thread that has read it, in bytes: that takes a few milliseconds at most, and less
/// than to hand over the other connections of the thread.
const SHORT: usize = 64 << 10;

/// Number of scorings at a time that may take long. Each has a thread of its own meanwhile, of those that may block
/// (`max_blocking_threads`); other connections need some too.
pub(crate) const MOST_LONG: usize = 24;

/// A request, apart from its document.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The door it came through.
    pub door: Door,
    /// The model it is for.
    pub model: ModelId<'a>,
    /// The message's queue id, if the client says it; for the log.
    pub queue_id: &'a str,
    /// Number of strongest reasons to tell; at least those that the settings ask for are told.
    pub reasons: usize,
    /// Whether to tell the probability of each label.
    pub probabilities: bool,
    /// Who asks, for what is shown of corrections.
    pub by: &'a str,
    /// What rules may look at beside the message.
    pub envelope: Envelope<'a>,
    /// Whether the client is a mail server, whose mail rules may learn.
    pub is_mail_server: bool,
}

impl<'a> Request<'a> {
    /// A request through `door` for a model.
    pub fn new(door: Door, model: ModelId<'a>) -> Self {
        let recipient = if let ModelId::User(user) = model { user } else { "" };
        let envelope = Envelope { recipient, ..Envelope::default() };
        let (queue_id, by, is_mail_server) = ("", "", false);
        Request { door, model, queue_id, reasons: 0, probabilities: false, by, envelope, is_mail_server }
    }
}

/// The service in use. Connections ask for it at each message and keep none of their own, so that what was read again
/// applies to those that are open, and nothing old stays in memory.
#[derive(Clone)]
pub(crate) struct CurrentService(Arc<RwLock<Arc<Service>>>);

impl CurrentService {
    pub(crate) fn new(service: Service) -> Self {
        CurrentService(Arc::new(RwLock::new(Arc::new(service))))
    }

    pub(crate) fn get(&self) -> Arc<Service> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, service: Service) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(service);
    }
}

/// What all doors share: settings, models, limits, log and counters. When the settings are read again, a new service
/// takes the place of this one.
pub struct Service {
    settings: ServerSettings,
    pub(crate) models: ModelRegistry,
    rules: Rules,
    admission: Arc<Admission>,
    pub(crate) password: Option<Arc<Password>>,
    learning: Arc<LearningContext>,
    pub(crate) metrics: Arc<Metrics>,
    log: Arc<Log>,
    pub(crate) history: Arc<History>,
    pub(crate) started: Instant,
    /// Turns of scorings that may take long.
    long: Semaphore,
}

impl Service {
    /// A service by these settings. It opens the models that there are.
    ///
    /// # Errors
    /// If there is no path for the shared model, or the log cannot be started.
    pub fn new(settings: ServerSettings) -> Result<Self> {
        Service::with_parts_of(None, settings)
    }

    /// A service by other settings, with the counters of this one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn reconfigured(&self, settings: ServerSettings) -> Result<Self> {
        Service::with_parts_of(Some(self), settings)
    }

    fn with_parts_of(before: Option<&Service>, settings: ServerSettings) -> Result<Self> {
        let models = ModelRegistry::new(&settings)?;
        let rules = Rules::new(&settings, &models);
        let log = match before {
            Some(before) if before.settings.log == settings.log => before.log.clone(),
            _ => Arc::new(Log::start(&settings.log.to)?),
        };
        let outbox = match (before, &settings.fleet) {
            (Some(before), fleet) if before.settings.fleet != *fleet => {
                bail!("[fleet] has changed, which needs a restart")
            }
            (Some(before), _) => before.outbox().cloned(),
            (None, Some(fleet)) => {
                let folder = state_folder(fleet, &models);
                let outbox = Outbox::open(&folder);
                Some(Arc::new(outbox.with_context(|| format!("fleet.state: {}", folder.display()))?))
            }
            (None, None) => None,
        };
        let metrics = before.map(|before| before.metrics.clone()).unwrap_or_default();
        let limits = &settings.limits;
        let admission = match before {
            // what is in flight still counts
            Some(before) if before.settings.limits == *limits => before.admission.clone(),
            _ => Arc::new(Admission::new(limits.bytes_in_flight, limits.message_bytes, metrics.clone())),
        };
        let password = match before {
            // a password that was right once need not be hashed again
            Some(before) if before.settings.http.password == settings.http.password => {
                before.password.clone()
            }
            _ => settings.http.password.clone().map(Password::new).map(Arc::new),
        };
        let history = match before {
            Some(before) if before.settings.page == settings.page => before.history.clone(),
            _ => Arc::new(History::new(&settings.page)),
        };
        let learning =
            LearningContext { metrics: metrics.clone(), most_waiting: limits.waiting_to_learn, outbox };
        let service = Service {
            models,
            rules,
            admission,
            password,
            learning: Arc::new(learning),
            metrics,
            log,
            history,
            started: Instant::now(),
            long: Semaphore::new(MOST_LONG),
            settings,
        };
        service.follow();
        Ok(service)
    }

    /// What waits to be told to the fleet, if there is one.
    pub(crate) fn outbox(&self) -> Option<&Arc<Outbox>> {
        self.learning.outbox.as_ref()
    }

    /// Puts a record of the fleet behind what waits to be learned by the model of a name. Returns its outcome.
    ///
    /// # Errors
    /// If there is no such model, or too much is waiting.
    pub(crate) fn enqueue_record(
        &self,
        model: &str,
        record: Vec<u8>,
    ) -> Result<impl Future<Output = Result<FeedbackOutcome, ServiceError>> + use<>, ServiceError> {
        enqueue(&self.models.by_name(model)?, &self.learning, Update::Record(record))
    }

    /// The settings.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Looks whether models have changed, and opens them again. Returns what failed.
    pub fn follow(&self) -> Vec<ServiceError> {
        let failures = self.models.follow();
        if self.history.kept() != HistoryContent::None {
            self.history.tick();
            // half a percent of a processor at most
            self.find_reasons(&self.history.latest(), Duration::from_millis(5));
        }
        failures
    }

    /// A message that is about to arrive.
    pub fn incoming(&self, too_long: TooLong) -> Incoming {
        self.admission.incoming(too_long)
    }

    /// Bytes of a message beyond which a scorer reads nothing: the beginning is enough to score it.
    pub fn bytes_to_score(&self) -> usize {
        let open = self.models.shared.current();
        open.map_or(Limits::default().bytes, |open| open.filter().information().recipe.limits.bytes)
    }

    /// Scores a document. Other connections go on meanwhile, if that may take long.
    ///
    /// # Errors
    /// If there is no model, the document is not of its kind, or the model cannot be read.
    pub async fn score(&self, request: &Request<'_>, document: Document<'_>) -> Result<Answer, ServiceError> {
        self.away_from_others(request.model, document, || self.score_here(request, document)).await
    }

    /// Runs work on a document and a model: on this thread as it is if that is short, otherwise so that the other connections
    /// of the thread go on meanwhile. Work that may take long waits for its turn.
    pub(crate) async fn away_from_others<T>(
        &self,
        model: ModelId<'_>,
        document: Document<'_>,
        work: impl FnOnce() -> T,
    ) -> T {
        if document.n_bytes() <= SHORT && !self.models.must_open(model) {
            return work();
        }
        // it is never closed
        let _turn = self.long.acquire().await;
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
            _ => work(),
        }
    }

    fn score_here(&self, request: &Request<'_>, document: Document<'_>) -> Result<Answer, ServiceError> {
        let begun = Instant::now();
        let work = || {
            let rule = self.rule(request, document);
            if let Some(rule) = rule.filter(|rule| rule.verdict == Some(RuleVerdict::Skip)) {
                return Ok((Answer::skipped(rule), Some(rule)));
            }
            let ask = |model: &LiveModel| {
                model.opened()?.ask(|filter, scratch| self.answer(request, rule, filter, scratch, document))
            };
            let model = self.models.to_score(request.model)?;
            let mut answer = ask(&model);
            if let (Some(shared), Err(failure @ ServiceError::Damaged(_))) = (&model.shared, &answer)
                && let Ok(by_shared) = ask(shared)
            {
                model.set_aside(failure);
                answer = Ok(by_shared);
            }
            Ok((answer?, rule))
        };
        // the scratch of a defective message is dropped or overwritten, and models are only read
        let answered = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            self.metrics.defects.fetch_add(1, Relaxed);
            Err(ServiceError::Defect)
        });
        let rule = answered.as_ref().ok().and_then(|(_, rule)| *rule);
        let mut answer = answered.map(|(answer, _)| answer);
        let outcome = outcome(&answer);
        self.metrics.count(request.door, outcome, begun.elapsed());
        let error = answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let line = match &answer {
            Ok(answer) => LogLine {
                verdict: Some(&answer.label),
                // a rule's verdict has no log-odds of its own
                log_odds: Some(answer.log_odds).filter(|_| answer.by_rule.is_none()),
                truncated: answer.truncated,
                rule: answer.rule.as_deref().unwrap_or_default(),
                reasons: &answer.reasons_text,
                ..LogLine::default()
            },
            Err(_) => LogLine { verdict: Some("error"), error: &error, ..LogLine::default() },
        };
        self.write_log(request, begun, document, line);
        if let (Ok(answer), Document::Mail(raw)) = (&mut answer, document) {
            answer.history =
                answer.counted.take().map(|counted| self.keep(request, answer, outcome, raw, *counted));
            if let Some(rule) = rule.filter(|rule| rule.learn.is_some() && request.is_mail_server) {
                self.learn_by(rule, request, raw);
            }
        }
        answer
    }

    /// The rule that applies to a document: to a message for the filter of mail.
    fn rule(&self, request: &Request<'_>, document: Document<'_>) -> Option<&Rule> {
        match (request.model, document.apart().0) {
            (ModelId::Shared | ModelId::User(_), Document::Mail(raw)) => {
                self.rules.find(&request.envelope, raw, &self.models)
            }
            _ => None,
        }
    }

    /// Lets the shared model learn a message as a rule says. Nobody waits for it: what comes of it is logged.
    fn learn_by(&self, rule: &Rule, request: &Request<'_>, raw: &[u8]) {
        let begun = Instant::now();
        let class = if rule.learn == Some(RuleVerdict::Spam) { "spam" } else { "ham" };
        // it counts as in flight until it is learned
        let mut room = self.incoming(TooLong::Cut);
        let label = room.reserve(raw.len()).and_then(|()| self.label(ModelId::Shared, class));
        let queued = label.and_then(|label| {
            let document = OwnedDocument::Mail(raw.to_vec());
            let update = Update::Document(Feedback::LearnNew(label.clone()), document, Vec::new());
            Ok((label, enqueue(&self.models.shared, &self.learning, update)?))
        });
        let (log, history) = (self.log.clone(), self.history.clone());
        let (door, queue_id, id) = (request.door.name(), request.queue_id.to_owned(), message_id(raw));
        let (rule, model) = (rule.name.clone(), request.model.name());
        let finish = async move {
            let (label, outcome) = match queued {
                Ok((label, outcome)) => (label, outcome.await),
                Err(failure) => (String::new(), Err(failure)),
            };
            let (learned, error) = match outcome {
                Ok(FeedbackOutcome::Learned) => (&*label, String::new()),
                Ok(_) => return,
                Err(failure) => ("error", failure.to_string()),
            };
            drop(room);
            let (queue_id, id, ms) = (&*queue_id, &*id, begun.elapsed().as_micros() as f64 / 1e3);
            let (learned, error) = (Some(learned), &*error);
            log.write(LogLine { door, queue_id, id, learned, rule: &rule, error, ms, ..LogLine::default() });
            if error.is_empty() && history.kept() != HistoryContent::None {
                let taught = Taught { label: Some(label.clone()), back: None, by: format!("rule {rule}") };
                ["", &*model].iter().for_each(|model| history.note(id, model, &taught));
            }
        };
        // without a runtime of tokio the outcome is not logged
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(finish);
        }
    }

    /// Keeps a message for the page. Returns its number.
    fn keep(
        &self,
        request: &Request<'_>,
        answer: &Answer,
        outcome: MessageOutcome,
        raw: &[u8],
        counted: CountedDocument,
    ) -> u64 {
        let has_fields = self.history.kept() == HistoryContent::Headers;
        self.history.push(HistoryEntry {
            id: 0,
            time: SystemTime::now(),
            door: request.door,
            model: request.model.name(),
            label: answer.label.clone(),
            outcome,
            rule: answer.rule.clone(),
            log_odds: answer.log_odds,
            fields: if has_fields { subject_and_sender(raw) } else { Default::default() },
            counted,
            reasons: OnceLock::new(),
            teaching: tokio::sync::Mutex::default(),
            taught: Mutex::default(),
        })
    }

    /// Finds the five terms that weigh most in messages of the history, in this order, by the model as it is now; each once, and
    /// those that take longer than `most` the next time.
    pub(crate) fn find_reasons<'e>(
        &self,
        of: impl IntoIterator<Item = &'e Arc<HistoryEntry>>,
        most: Duration,
    ) {
        let end = Instant::now() + most;
        for entry in of.into_iter().filter(|entry| entry.reasons.get().is_none()) {
            if Instant::now() > end {
                return;
            }
            let document = Document::Counted(&entry.counted);
            let terms = |_: &Filter, explanation: &Explanation, _| {
                explanation.terms.iter().take(5).cloned().map(TermReason::from).collect()
            };
            // a model that cannot be read has none
            let _ = entry
                .reasons
                .set(self.explain(ModelId::of_name(&entry.model), document, terms).unwrap_or_default());
        }
    }

    /// Explains the score of a document.
    ///
    /// # Errors
    /// As [`score`](Self::score).
    pub(crate) fn explain<T>(
        &self,
        model: ModelId<'_>,
        document: Document<'_>,
        mut show: impl FnMut(&Filter, &Explanation, LimitsHit) -> T,
    ) -> Result<T, ServiceError> {
        let open = self.models.to_score(model)?.opened()?;
        open.ask(|filter, scratch| {
            let explanation = filter.explain(document, scratch)?;
            Ok(show(filter, &explanation, scratch.limits_hit()))
        })
    }

    fn answer(
        &self,
        request: &Request<'_>,
        rule: Option<&Rule>,
        filter: &Filter,
        scratch: &mut Scratch,
        document: Document<'_>,
    ) -> Result<Answer, ServiceError> {
        let kind = filter.information().recipe.kind;
        if kind == Kind::Table {
            return Err(ServiceError::Request(
                "expected a model of mail or text, got one of tables".to_owned(),
            ));
        }
        let is_kept = matches!(document.apart().0, Document::Mail(_)) && self.history.takes_one();
        scratch.keep_counts(is_kept);
        let has_known;
        let mut answer = match request.reasons.max(self.settings.verdict.reasons) {
            0 => {
                let score = filter.score(document, scratch)?;
                has_known = score.known_terms > 0;
                Answer::new(&filter.verdict(&score, scratch), Vec::new())
            }
            n => {
                let explanation = filter.explain(document, scratch)?;
                has_known = explanation.score.known_terms > 0;
                let terms = explanation.terms.into_iter().take(n);
                let reasons = terms.map(TermReason::from).collect();
                Answer::new(&filter.verdict(&explanation.score, scratch), reasons)
            }
        };
        if let Some(rule) = rule {
            answer.apply(rule, filter, has_known);
        }
        answer.counted = is_kept.then(|| Box::new(filter.counted(scratch)));
        if request.probabilities && answer.by_rule.is_none() {
            let labels = filter.classes().iter().map(|(_, label)| label.to_owned());
            answer.probabilities = labels.zip(scratch.probabilities().iter().copied()).collect();
        }
        Ok(answer)
    }

    /// Writes a line with what is known of the request, if there is a log.
    fn write_log<'a>(
        &self,
        request: &Request<'a>,
        begun: Instant,
        document: Document<'_>,
        line: LogLine<'a>,
    ) {
        if !self.log.is_on() {
            return;
        }
        let (user, model) = match request.model {
            ModelId::Shared => ("", ""),
            ModelId::User(user) => (user, ""),
            ModelId::Named(name) => ("", name),
        };
        let id = match document.apart().0 {
            Document::Mail(raw) => message_id(raw),
            _ => String::new(),
        };
        let ms = begun.elapsed().as_micros() as f64 / 1e3;
        let (door, queue_id) = (request.door.name(), request.queue_id);
        self.log.write(LogLine { door, queue_id, id: &id, user, model, ms, ..line });
    }

    /// Counts a wrong password and logs who sent it.
    pub(crate) fn note_wrong_password(&self, address: &str) {
        self.metrics.wrong_passwords.fetch_add(1, Relaxed);
        let door = Door::Http.name();
        self.log.write(LogLine { door, address, error: "wrong password", ..LogLine::default() });
    }

    /// Learns or forgets a document. Returns when the change is on the disk.
    ///
    /// # Errors
    /// If there is no model, its file cannot be written, or the label is unknown.
    pub async fn correct(
        &self,
        request: &Request<'_>,
        feedback: Feedback,
        document: Document<'_>,
    ) -> Result<FeedbackOutcome, ServiceError> {
        let begun = Instant::now();
        let (bare, vector) = document.apart();
        let owned = match bare {
            Document::Mail(bytes) => OwnedDocument::Mail(bytes.to_vec()),
            Document::Text(text) => OwnedDocument::Text(text.to_owned()),
            Document::Counted(of) => OwnedDocument::Counted(Box::new(of.clone())),
            Document::Fields(_) | Document::Embedded { .. } => {
                return Err(ServiceError::Request("expected mail or text, got a row".to_owned()));
            }
        };
        let update = Update::Document(feedback.clone(), owned, vector.to_vec());
        let model = self.models.to_learn(request.model);
        let outcome = match model.and_then(|model| enqueue(&model, &self.learning, update)) {
            Ok(outcome) => outcome.await,
            Err(failure) => Err(failure),
        };
        if outcome == Err(ServiceError::Busy) {
            self.metrics.refused.fetch_add(1, Relaxed);
        }
        let error = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let learned = match (&feedback, &outcome) {
            (_, Err(_)) => "error",
            (Feedback::Learn(label) | Feedback::LearnNew(label), _) => label,
            (Feedback::Forget | Feedback::Find, _) => "none",
        };
        let line = LogLine { learned: Some(learned), error: &error, ..LogLine::default() };
        if feedback != Feedback::Find {
            self.write_log(request, begun, document, line);
        }
        if let (Document::Mail(raw), Ok(done)) = (bare, &outcome)
            && self.history.kept() != HistoryContent::None
            && *done != FeedbackOutcome::Unknown
        {
            let label = (feedback != Feedback::Forget).then(|| learned.to_owned());
            let by = format!("{}, {}", request.door.name(), request.by);
            self.history.note(&message_id(raw), &request.model.name(), &Taught { label, back: None, by });
        }
        outcome
    }

    /// Whether the shared model is open.
    ///
    /// # Errors
    /// If it is not.
    pub fn ready(&self) -> Result<(), ServiceError> {
        self.models.shared.opened().map(drop)
    }
}

fn state_folder(fleet: &FleetSettings, models: &ModelRegistry) -> PathBuf {
    let beside = || models.shared.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    fleet.state.clone().unwrap_or_else(|| beside().unwrap_or(Path::new(".")).to_owned())
}

fn outcome(answer: &Result<Answer, ServiceError>) -> MessageOutcome {
    match answer {
        Err(_) => MessageOutcome::Error,
        Ok(answer) if answer.is_skipped() => MessageOutcome::Skipped,
        Ok(answer) if answer.unsure => MessageOutcome::Unsure,
        Ok(answer) => match answer.spam {
            Some(spam) if spam.is_spam => MessageOutcome::Spam,
            Some(_) => MessageOutcome::Ham,
            None => MessageOutcome::Label,
        },
    }
}
