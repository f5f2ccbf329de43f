//! Which rule of the settings applies to a message.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use tamis_mail::{Author, header_fields};
use tamis_train::Document;
use tokio::runtime::Handle;

use crate::models::ModelRegistry;
use crate::models::learning::enqueue;
use crate::models::queue::{OwnedDocument, Update};
use crate::models::request::{Feedback, FeedbackOutcome, ModelId, ServiceError};
use crate::record::log::LogLine;
use crate::service::history::Taught;
use crate::service::{Request, Service, message_id};
use crate::settings::ServerSettings;
use crate::settings::page::HistoryContent;
use crate::settings::rules::{AddressList, HeaderText, Rule, RuleVerdict};

/// What a mail server says of a message, beside its content.
#[derive(Clone, Copy, Default, Debug)]
pub struct Envelope<'a> {
    /// The address that it came from.
    pub client: Option<IpAddr>,
    /// Whether the client has signed in.
    pub is_authenticated: bool,
    /// The recipient, a user or an address; of several, `@` and the domain that all have; otherwise empty.
    pub recipient: &'a str,
}

/// The rules of the settings.
#[derive(Default)]
pub(super) struct Rules {
    rules: Vec<UserRule>,
    authserv_id: String,
}

/// A rule, and the users of its recipients.
struct UserRule {
    rule: Rule,
    users: AddressList,
}

impl Rules {
    pub(super) fn new(settings: &ServerSettings, models: &ModelRegistry) -> Self {
        let named = settings.rules.iter().cloned().enumerate().map(|(n, mut rule)| {
            if rule.name.is_empty() {
                rule.name = (n + 1).to_string();
            }
            let users = rule.to.0.iter().filter(|name| !name.starts_with('@'));
            let local = |domain: &String| rule.to.0.contains(&format!("@{}", domain.to_lowercase()));
            // users without a domain are those of the local ones
            let all = settings.models.domains.iter().any(local).then(|| "@".to_owned());
            let users = users.filter_map(|name| models.user_of(name)).chain(all).collect();
            UserRule { users: AddressList(users), rule }
        });
        Rules { rules: named.collect(), authserv_id: settings.verdict.authserv_id.clone() }
    }

    /// The first rule of which all conditions hold.
    pub(super) fn find(&self, envelope: &Envelope<'_>, raw: &[u8], models: &ModelRegistry) -> Option<&Rule> {
        let author = OnceCell::new();
        let author = || author.get_or_init(|| Author::read(raw, &self.authserv_id)).as_ref();
        let applies = |UserRule { rule, users }: &&UserRule| {
            let is_client = |address| rule.clients.iter().any(|network| network.has(address));
            let is_author =
                |author: &Author| rule.from.has(&author.address) && (author.is_proved || !rule.needs_proof());
            (rule.clients.is_empty() || envelope.client.is_some_and(is_client))
                && (!rule.authenticated || envelope.is_authenticated)
                && (rule.to.0.is_empty() || is_recipient(rule, users, envelope.recipient, models))
                && rule.header.as_ref().is_none_or(|wanted| has_text(raw, wanted))
                && (rule.from.0.is_empty() || author().is_some_and(is_author))
        };
        self.rules.iter().find(applies).map(|found| &found.rule)
    }
}

impl Service {
    /// The rule that applies to a document: to a message for the filter of mail.
    pub(super) fn rule(&self, request: &Request<'_>, document: Document<'_>) -> Option<&Rule> {
        match (request.model, document.apart().0) {
            (ModelId::Shared | ModelId::User(_), Document::Mail(raw)) => {
                self.rules.find(&request.envelope, raw, &self.models)
            }
            _ => None,
        }
    }

    /// Lets the shared model learn a message as a rule says. Nobody waits for it: what fails is logged.
    pub(super) fn learn_by(&self, rule: &Rule, request: &Request<'_>, raw: &[u8]) {
        let begun = Instant::now();
        let class = if rule.learn == Some(RuleVerdict::Spam) { "spam" } else { "ham" };
        let queued = self.label(ModelId::Shared, class).and_then(|label| {
            let document = OwnedDocument::Mail(raw.to_vec());
            let update = Update::Document(Feedback::LearnNew(label.clone()), document, Vec::new());
            Ok((label, enqueue(&self.models.shared, &self.learning, update)?))
        });
        let (learned, error) = match &queued {
            Ok((label, _)) => (label.as_str(), String::new()),
            Err(failure) => ("error", failure.to_string()),
        };
        let is_refused = queued.as_ref().is_err_and(|failure| *failure == ServiceError::Busy);
        self.metrics.refused.fetch_add(u64::from(is_refused), Relaxed);
        let line = LogLine { learned: Some(learned), rule: &rule.name, error: &error, ..LogLine::default() };
        self.write_log(&Request { model: ModelId::Shared, ..*request }, begun, Document::Mail(raw), line);
        if let (Ok((label, outcome)), Ok(runtime)) = (queued, Handle::try_current())
            && self.history.kept() != HistoryContent::None
        {
            let (history, id, by) = (self.history.clone(), message_id(raw), format!("rule {}", rule.name));
            runtime.spawn(async move {
                if outcome.await == Ok(FeedbackOutcome::Learned) {
                    history.note(&id, "", &Taught { label: Some(label), back: None, by });
                }
            });
        }
    }
}

fn is_recipient(rule: &Rule, users: &AddressList, recipient: &str, models: &ModelRegistry) -> bool {
    let is_user = |user: String| users.0.contains(&user) || !user.contains('@') && users.0.contains("@");
    let recipient = recipient.to_lowercase();
    rule.to.has(&recipient)
        || !recipient.is_empty()
            && !recipient.starts_with('@')
            && models.user_of(&recipient).is_some_and(is_user)
}

fn has_text(raw: &[u8], wanted: &HeaderText) -> bool {
    header_fields(raw).any(|(name, value)| {
        name.eq_ignore_ascii_case(&wanted.name) && value.to_lowercase().contains(&wanted.text)
    })
}
