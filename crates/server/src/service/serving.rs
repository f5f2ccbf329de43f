//! The service behind all doors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use tamis_mail::Limits;
use tamis_train::{Document, Filter, Kind, Scratch};

use crate::models::failure::Failure;
use crate::models::learning::{Context, Enqueued, correct, enqueue};
use crate::models::registry::{Models, Of};
use crate::models::waiting::{Body, Change, Corrected, Correction};
use crate::outbox::file::Outbox;
use crate::record::log::{Line, Log};
use crate::record::metrics::{Door, Gauge, Metrics, Outcome};
use crate::service::admission::{Admission, Incoming, TooLong};
use crate::service::answer::Answer;
use crate::settings::file::{FleetSettings, Settings};
use crate::settings::password::Password;

/// A request, apart from its document.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The door it came through.
    pub door: Door,
    /// The model it is for.
    pub of: Of<'a>,
    /// The message's queue id, if the client says it; for the log.
    pub queue_id: &'a str,
    /// Number of strongest reasons to tell; at least those that the settings ask for are told.
    pub reasons: usize,
    /// Whether to tell the probability of each label.
    pub probabilities: bool,
}

impl<'a> Request<'a> {
    /// A request through `door` for a model.
    pub fn new(door: Door, of: Of<'a>) -> Self {
        Request { door, of, queue_id: "", reasons: 0, probabilities: false }
    }
}

/// What all doors share: settings, models, limits, log and counters. When the settings are read again, a new service
/// takes the place of this one for new connections.
pub struct Service {
    settings: Settings,
    models: Models,
    admission: Admission,
    password: Option<Password>,
    learning: Arc<Context>,
    metrics: Arc<Metrics>,
    log: Arc<Log>,
    started: Instant,
}

impl Service {
    /// A service by these settings. It opens the models that there are.
    ///
    /// # Errors
    /// If there is no path for the shared model, or the log cannot be started.
    pub fn new(settings: Settings) -> Result<Self> {
        let log = Arc::new(Log::start(&settings.log.to)?);
        let models = Models::new(&settings)?;
        let outbox = settings.fleet.as_ref().map(|fleet| {
            let folder = state_folder(fleet, &models);
            Outbox::open(&folder).with_context(|| format!("fleet.state: {}", folder.display()))
        });
        Service::with(settings, Arc::default(), log, outbox.transpose()?.map(Arc::new))
    }

    fn with(
        settings: Settings,
        metrics: Arc<Metrics>,
        log: Arc<Log>,
        outbox: Option<Arc<Outbox>>,
    ) -> Result<Self> {
        let limits = &settings.limits;
        let learning = Context { metrics: metrics.clone(), most_waiting: limits.waiting_to_learn, outbox };
        let service = Service {
            models: Models::new(&settings)?,
            admission: Admission::new(limits.bytes_in_flight, limits.message_bytes),
            password: settings.http.password.clone().map(Password::new),
            learning: Arc::new(learning),
            metrics,
            log,
            started: Instant::now(),
            settings,
        };
        service.follow();
        Ok(service)
    }

    /// A service by other settings, with the counters of this one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn reconfigured(&self, settings: Settings) -> Result<Self> {
        let log = match settings.log == self.settings.log {
            true => self.log.clone(),
            false => Arc::new(Log::start(&settings.log.to)?),
        };
        if settings.fleet != self.settings.fleet {
            bail!("[fleet] has changed, which needs a restart");
        }
        Service::with(settings, self.metrics.clone(), log, self.learning.outbox.clone())
    }

    /// What waits to be told to the fleet, if there is one.
    pub(crate) fn outbox(&self) -> Option<&Arc<Outbox>> {
        self.learning.outbox.as_ref()
    }

    /// The folder of what the fleet needs to remember.
    pub(crate) fn fleet_folder(&self, fleet: &FleetSettings) -> PathBuf {
        state_folder(fleet, &self.models)
    }

    /// Puts a record of the fleet behind what waits to be learned by the model of a name.
    ///
    /// # Errors
    /// If there is no such model, or too much is waiting.
    pub(crate) fn take_in(&self, model: &str, record: Vec<u8>) -> Result<Enqueued, Failure> {
        enqueue(&self.models.by_name(model)?, &self.learning, Correction::Record(record))
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Looks whether models have changed, and opens them again. Returns what failed.
    pub fn follow(&self) -> Vec<Failure> {
        self.models.follow()
    }

    /// A message that is about to arrive.
    pub fn incoming(&self, too_long: TooLong) -> Incoming {
        self.admission.incoming(too_long)
    }

    /// Bytes of a message beyond which a scorer reads nothing: the beginning is enough to score it.
    pub fn bytes_to_score(&self) -> usize {
        self.models
            .shared
            .current()
            .map_or(Limits::default().bytes, |open| open.filter().information().recipe.limits.bytes)
    }

    /// Scores a document.
    ///
    /// # Errors
    /// If there is no model, the document is not of its kind, or the model cannot be read.
    pub fn score(&self, request: &Request<'_>, document: Document<'_>) -> Result<Answer, Failure> {
        let begun = Instant::now();
        let answer = self.guarded(|| {
            let open = self.models.to_score(request.of)?.opened()?;
            open.ask(|filter, scratch| self.answer(request, filter, scratch, document))
        });
        let took = begun.elapsed();
        self.metrics.count(request.door, outcome(&answer), took);
        if self.log.is_on() {
            let mut line = self.line(request, begun);
            match &answer {
                Ok(answer) => {
                    line.verdict = Some(&answer.label);
                    line.log_odds = Some(answer.log_odds);
                    line.truncated = answer.truncated;
                    line.reasons = answer.reasons_text();
                    self.write(line, document);
                }
                Err(failure) => {
                    let text = failure.to_string();
                    (line.verdict, line.error) = (Some("error"), &text);
                    self.write(line, document);
                }
            }
        }
        answer
    }

    fn answer(
        &self,
        request: &Request<'_>,
        filter: &Filter,
        scratch: &mut Scratch,
        document: Document<'_>,
    ) -> Result<Answer, Failure> {
        let kind = filter.information().recipe.kind;
        if kind == Kind::Table {
            return Err(Failure::Request("expected a model of mail or text, got one of tables".to_owned()));
        }
        let score = filter.score(document, scratch)?;
        let n_reasons = request.reasons.max(self.settings.verdict.reasons);
        let mut answer = match n_reasons {
            0 => Answer::new(&filter.verdict(&score, scratch), Vec::new()),
            n => {
                let explanation = filter.explain(document, scratch)?;
                let terms = explanation.terms.into_iter().take(n);
                let reasons = terms.map(|term| (term.term, term.contribution)).collect();
                Answer::new(&filter.verdict(&explanation.score, scratch), reasons)
            }
        };
        if request.probabilities {
            let labels = filter.classes().iter().map(|(_, label)| label.to_owned());
            answer.probabilities = labels.zip(scratch.probabilities().iter().copied()).collect();
        }
        Ok(answer)
    }

    /// The line of a request in the log.
    fn line<'a>(&self, request: &Request<'a>, begun: Instant) -> Line<'a> {
        let (user, model) = match request.of {
            Of::Shared => ("", ""),
            Of::User(user) => (user, ""),
            Of::Named(name) => ("", name),
        };
        let ms = begun.elapsed().as_micros() as f64 / 1e3;
        Line { door: request.door.name(), queue_id: request.queue_id, user, model, ms, ..Line::default() }
    }

    /// Writes a line with the Message-ID of the document.
    fn write(&self, line: Line<'_>, document: Document<'_>) {
        let id = match document {
            Document::Mail(raw) => message_id(raw),
            _ => String::new(),
        };
        self.log.write(&Line { id: &id, ..line });
    }

    /// Learns or forgets a document. Returns when the change is on the disk.
    ///
    /// # Errors
    /// If there is no model, its file cannot be written, or the label is unknown.
    pub async fn correct(
        &self,
        request: &Request<'_>,
        change: Change,
        document: Document<'_>,
    ) -> Result<Corrected, Failure> {
        let begun = Instant::now();
        let body = match document {
            Document::Mail(bytes) => Body::Mail(bytes.to_vec()),
            Document::Text(text) => Body::Text(text.to_owned()),
            Document::Fields(_) => {
                return Err(Failure::Request("expected mail or text, got a row".to_owned()));
            }
        };
        let label = change.clone();
        let corrected = match self.models.to_learn(request.of) {
            Ok(model) => correct(&model, &self.learning, Correction::Document(change, body)).await,
            Err(failure) => Err(failure),
        };
        if corrected == Err(Failure::Busy) {
            self.metrics.refused.fetch_add(1, Relaxed);
        }
        if self.log.is_on() {
            let mut line = self.line(request, begun);
            let error = corrected.as_ref().err().map(ToString::to_string).unwrap_or_default();
            line.error = &error;
            line.learned = Some(match (&label, &corrected) {
                (_, Err(_)) => "error",
                (Change::Learn(label), _) => label,
                (Change::Forget, _) => "none",
            });
            self.write(line, document);
        }
        corrected
    }

    /// Runs work of ours; a panic becomes an error, and is counted.
    fn guarded<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        // the scratch of a defective message is dropped or overwritten, and models are only read
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            self.metrics.defects.fetch_add(1, Relaxed);
            Err(Failure::Defect)
        })
    }

    /// Counts a request that was refused because the server is full.
    pub fn refused(&self) {
        self.metrics.refused.fetch_add(1, Relaxed);
    }

    /// Counts a request that a defect of ours ended.
    pub(crate) fn defect(&self) {
        self.metrics.defects.fetch_add(1, Relaxed);
    }

    /// Counts a connection that was opened or, if `change` is -1, closed. Returns the number of those open now.
    pub(crate) fn connections(&self, door: Door, change: i64) -> u64 {
        let open = &self.metrics.connections[door as usize];
        match change {
            -1 => open.fetch_sub(1, Relaxed) - 1,
            _ => open.fetch_add(1, Relaxed) + 1,
        }
    }

    /// Whether a password is the one for learning over HTTP; false if none is set. May take tens of milliseconds.
    pub fn is_password(&self, password: &[u8]) -> bool {
        self.password.as_ref().is_some_and(|own| own.is(password))
    }

    /// Whether the shared model is open.
    ///
    /// # Errors
    /// If it is not.
    pub fn ready(&self) -> Result<(), Failure> {
        self.models.shared.opened().map(drop)
    }

    /// The labels of a model, in order, with the number of documents of each, and its file's size in bytes.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn state(&self, of: Of<'_>) -> Result<ModelState, Failure> {
        let open = self.models.to_score(of)?.opened()?;
        let filter = open.filter();
        let information = filter.information();
        let labels = information.classes.iter().map(|(_, label)| label.to_owned());
        Ok(ModelState {
            documents: labels.zip(information.totals.iter().map(|totals| totals.documents)).collect(),
            spam: filter.spam().and_then(|spam| filter.classes().label(spam)).map(str::to_owned),
            terms: information.size.terms,
            bytes: information.file.bytes,
            log_bytes: information.file.log_bytes,
        })
    }

    /// The label that clients mean by `spam`, `ham` or a label of the model: in a spam filter, `spam` is the label that
    /// means spam, and `ham` the other one.
    ///
    /// # Errors
    /// If there is no such label, or the model cannot be opened.
    pub fn label(&self, of: Of<'_>, class: &str) -> Result<String, Failure> {
        let state = self.state(of)?;
        let labels = || state.documents.iter().map(|(label, _)| label);
        let others: Vec<_> = labels().filter(|label| Some(*label) != state.spam.as_ref()).collect();
        let label = match (class, &state.spam, &others[..]) {
            ("spam", Some(spam), _) => Some(spam),
            ("ham", Some(_), [ham]) => Some(*ham),
            _ => labels().find(|label| *label == class),
        };
        label.cloned().ok_or_else(|| {
            let known: Vec<_> = labels().map(String::as_str).collect();
            Failure::Request(format!("expected one of the labels {}, got {class:?}", known.join(", ")))
        })
    }

    /// Seconds since the server started.
    pub fn uptime(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Messages that were scored: spam, ham, unsure, other labels, errors.
    pub fn scored(&self) -> [u64; 5] {
        [Outcome::Spam, Outcome::Ham, Outcome::Unsure, Outcome::Label, Outcome::Error]
            .map(|o| self.metrics.n(o))
    }

    /// Messages learned since the server started.
    pub fn learned(&self) -> u64 {
        self.metrics.learned.load(Relaxed)
    }

    /// The counters as OpenMetrics text.
    pub fn metrics_page(&self) -> String {
        let gauge = |name, help, value: usize| Gauge { name, help, value: value as f64 };
        let mut gauges = vec![
            gauge("bytes_in_flight", "Bytes of messages in the server.", self.admission.in_flight()),
            gauge("user_models", "Users' models that are open.", self.models.n_users()),
        ];
        if let Some(outbox) = self.outbox() {
            gauges.push(gauge("fleet_waiting", "Records that wait to be sent to the fleet.", outbox.len()));
        }
        if let Ok(state) = self.state(Of::Shared) {
            let documents = state.documents.iter().map(|(_, n)| *n).sum::<u64>();
            gauges.push(gauge("model_documents", "Documents of the shared model.", documents as usize));
            gauges.push(gauge("model_terms", "Terms of the shared model.", state.terms));
            gauges.push(gauge("model_bytes", "Bytes of the shared model's file.", state.bytes));
            gauges.push(gauge("model_log_bytes", "Bytes of its log.", state.log_bytes));
        }
        self.metrics.page(&gauges)
    }
}

fn state_folder(fleet: &FleetSettings, models: &Models) -> PathBuf {
    let beside = || models.shared.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    fleet.state.clone().unwrap_or_else(|| beside().unwrap_or(Path::new(".")).to_owned())
}

/// What a model tells about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ModelState {
    /// Labels and the number of documents learned under each.
    pub documents: Vec<(String, u64)>,
    /// The label that means spam, if there is one.
    pub spam: Option<String>,
    /// Number of terms.
    pub terms: usize,
    /// Bytes of the file.
    pub bytes: usize,
    /// Bytes of its log.
    pub log_bytes: usize,
}

fn outcome(answer: &Result<Answer, Failure>) -> Outcome {
    match answer {
        Err(_) => Outcome::Error,
        Ok(answer) if answer.unsure => Outcome::Unsure,
        Ok(answer) => match answer.spam {
            Some(spam) if spam.is_spam => Outcome::Spam,
            Some(_) => Outcome::Ham,
            None => Outcome::Label,
        },
    }
}

/// Maximum bytes of a message that are searched for its Message-ID.
const MOST_HEADER: usize = 64 << 10;

/// The Message-ID of a message, without its angle brackets; empty if there is none.
pub(crate) fn message_id(raw: &[u8]) -> String {
    let raw = &raw[..raw.len().min(MOST_HEADER)];
    let is_end = |at: &usize| raw[at + 1..].starts_with(b"\n") || raw[at + 1..].starts_with(b"\r\n");
    let end = (0..raw.len()).filter(|at| raw[*at] == b'\n').find(is_end).map_or(raw.len(), |at| at + 1);
    let message = tamis_mail::Message::parse(&raw[..end], &Limits::default());
    message.header("message-id").map_or_else(String::new, tamis_train::document_name)
}
