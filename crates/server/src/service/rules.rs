//! Which rule of the settings applies to a message.

use std::cell::OnceCell;
use std::net::IpAddr;

use tamis_mail::{Author, header_fields};

use crate::models::ModelRegistry;
use crate::settings::ServerSettings;
use crate::settings::rules::{AddressList, HeaderText, Rule};

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
