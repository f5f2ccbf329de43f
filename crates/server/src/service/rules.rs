//! Which rule of the settings applies to a message.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::net::IpAddr;

use tamis_mail::{Author, header_values};

use crate::models::ModelRegistry;
use crate::settings::ServerSettings;
use crate::settings::rules::{AddressList, HeaderText, Network, Rule, RuleVerdict};

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

/// The recipient of a message, as rules look at it.
struct Recipient {
    /// In lower case.
    address: String,
    has_no_domain: bool,
    /// The user that it means, if it is one recipient.
    user: Option<String>,
}

impl Recipient {
    fn new(recipient: &str, models: &ModelRegistry) -> Self {
        let address = recipient.to_lowercase();
        let is_one = !address.is_empty() && !address.starts_with('@');
        let user = if is_one { models.names.user(&address) } else { None };
        Recipient { has_no_domain: is_one && !address.contains('@'), user, address }
    }
}

/// A rule, and the users that its recipients mean.
struct UserRule {
    rule: Rule,
    users: HashSet<String>,
    /// Whether users without a domain are in one of its domains.
    has_local: bool,
}

impl Rules {
    pub(super) fn new(settings: &ServerSettings, models: &ModelRegistry) -> Self {
        let named = settings.rules.iter().cloned().enumerate().map(|(n, mut rule)| {
            if rule.name.is_empty() {
                rule.name = (n + 1).to_string();
            }
            let is_of_rule = |domain: &String| {
                rule.to.as_ref().is_some_and(|to| to.has(&format!("@{}", domain.to_lowercase())))
            };
            let has_local = settings.models.domains.iter().any(is_of_rule);
            let users =
                rule.to.iter().flat_map(|to| &*to.names).filter_map(|name| models.names.user(name)).collect();
            UserRule { users, has_local, rule }
        });
        Rules { rules: named.collect(), authserv_id: settings.verdict.authserv_id.clone() }
    }

    /// The first rule of which all conditions hold.
    pub(super) fn find(&self, envelope: &Envelope<'_>, raw: &[u8], models: &ModelRegistry) -> Option<&Rule> {
        let (author, recipient) = (OnceCell::new(), OnceCell::new());
        let recipient = || recipient.get_or_init(|| Recipient::new(envelope.recipient, models));
        let author = || author.get_or_init(|| Author::read(raw, &self.authserv_id));
        let applies = |it: &&UserRule| {
            let Rule { clients, to, from, header, .. } = &it.rule;
            let is_client = |networks: &Vec<Network>| {
                envelope.client.is_some_and(|address| networks.iter().any(|network| network.has(address)))
            };
            clients.as_ref().is_none_or(is_client)
                && (!it.rule.authenticated || envelope.is_authenticated)
                && to.as_ref().is_none_or(|to| it.is_recipient(to, recipient()))
                && header.as_ref().is_none_or(|wanted| has_text(raw, wanted))
                && from.as_ref().is_none_or(|from| is_author(&it.rule, from, author()))
        };
        self.rules.iter().find(applies).map(|found| &found.rule)
    }
}

impl UserRule {
    fn is_recipient(&self, to: &AddressList, recipient: &Recipient) -> bool {
        let is_user = |user: &String| self.users.contains(user);
        to.has(&recipient.address)
            || self.has_local && recipient.has_no_domain
            || recipient.user.as_ref().is_some_and(is_user)
    }
}

/// Whether an author is one of a rule's. Who is to be refused may have written his address in any form.
fn is_author(rule: &Rule, from: &AddressList, author: &Author) -> bool {
    if rule.verdict == Some(RuleVerdict::Spam) {
        return author.mentions(|address| from.has(address));
    }
    author.address.as_ref().is_some_and(|address| from.has(address))
        && (author.is_proved || !rule.needs_proof())
}

fn has_text(raw: &[u8], wanted: &HeaderText) -> bool {
    header_values(raw, &wanted.name).any(|value| value.to_lowercase().starts_with(&wanted.text))
}
