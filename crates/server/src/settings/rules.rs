//! `[[rule]]`: what applies to some messages only.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::settings::file::read_file;

/// Applies to messages that meet all its conditions. The first rule that does decides.
#[derive(Clone, Default, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Rule {
    /// What header, log and page call it; by default its number, from 1.
    pub name: String,
    /// Condition: the client's address is in one of these networks.
    pub clients: Option<Vec<Network>>,
    /// Condition: the client has signed in to the mail server.
    pub authenticated: bool,
    /// Condition: the only recipient, or the domain that all recipients share, is one of these.
    pub to: Option<AddressList>,
    /// Condition: the author is one of these; for [`RuleVerdict::Spam`], an address in `From` is.
    pub from: Option<AddressList>,
    /// Whether an address that nothing proves is accepted too.
    pub unproved: bool,
    /// Condition: a header field begins with a text.
    pub header: Option<HeaderText>,
    /// The verdict, whatever the words say.
    pub verdict: Option<RuleVerdict>,
    /// The probability from which messages are spam; by default what the model says.
    pub spam: Option<f64>,
    /// As `milter.reject`; one of these three replaces all of the milter's.
    pub reject: Option<f64>,
    /// As `milter.quarantine`.
    pub quarantine: Option<f64>,
    /// As `milter.tempfail`.
    pub tempfail: Option<f64>,
    /// Whether messages are delivered, whatever `[milter]` does with spam.
    pub deliver: bool,
    /// The class under which the shared model learns messages that it does not know.
    pub learn: Option<RuleVerdict>,
}

/// A verdict of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum RuleVerdict {
    /// Let through.
    Ham,
    /// Refused where spam is.
    Spam,
    /// Not judged.
    Skip,
}

/// The probabilities from which a milter does something with a message.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct MilterActions {
    pub(crate) reject: Option<f64>,
    pub(crate) quarantine: Option<f64>,
    pub(crate) tempfail: Option<f64>,
}

impl MilterActions {
    /// # Errors
    /// If one is no probability, or leaves nothing for another.
    pub(super) fn check(self, section: &str) -> Result<()> {
        let MilterActions { reject, quarantine, tempfail } = self;
        for (key, value) in [("reject", reject), ("quarantine", quarantine), ("tempfail", tempfail)] {
            check_probability(&format!("{section}.{key}"), value)?;
        }
        for (key, value, other, most) in [
            ("quarantine", quarantine, "tempfail", tempfail),
            ("quarantine", quarantine, "reject", reject),
            ("tempfail", tempfail, "reject", reject),
        ] {
            let (value, most) = (value.unwrap_or(0.0), most.unwrap_or(1.0));
            // what is done from a lower probability on would leave nothing for it
            let has_room = value <= most;
            ensure!(has_room, "{section}.{key}: expected at most {section}.{other}, {most}, got {value}");
        }
        Ok(())
    }
}

/// # Errors
/// If a value is below 0 or above 1.
pub(super) fn check_probability(key: &str, value: Option<f64>) -> Result<()> {
    let value = value.unwrap_or_default();
    ensure!((0.0..=1.0).contains(&value), "{key}: expected a probability from 0 to 1, got {value}");
    Ok(())
}

impl Rule {
    /// What the milter does with a message of this rule, if the rule says so.
    pub(crate) fn actions(&self) -> Option<MilterActions> {
        let Rule { reject, quarantine, tempfail, .. } = *self;
        let actions = MilterActions { reject, quarantine, tempfail };
        (self.deliver || actions != MilterActions::default()).then_some(actions)
    }

    /// Whether `from` holds of a proved address only. Whoever is to be refused may have lied about anything.
    pub(crate) fn needs_proof(&self) -> bool {
        self.from.is_some() && !self.unproved && self.verdict != Some(RuleVerdict::Spam)
    }

    /// # Errors
    /// If it has no condition or no effect, or a value that cannot be.
    pub(super) fn check(&self, key: &str, authserv_id: &str) -> Result<()> {
        let Rule { from, to, .. } = self;
        let has_condition = self.clients.is_some() || self.authenticated || to.is_some() || from.is_some();
        let has_condition = has_condition || self.header.is_some();
        ensure!(has_condition, "{key}: expected clients, authenticated, to, from or header");
        let has_action = self.actions().is_some() || self.learn.is_some();
        let has_effect = self.verdict.is_some() || self.spam.is_some() || has_action;
        ensure!(has_effect, "{key}: expected verdict, spam, reject, quarantine, tempfail, deliver or learn");
        let actions = self.actions().unwrap_or_default();
        actions.check(key)?;
        let is_alone = !self.deliver || actions == MilterActions::default();
        ensure!(is_alone, "{key}.deliver: expected no reject, quarantine or tempfail beside it");
        let spam = self.spam.unwrap_or(0.5);
        let is_possible = spam > 0.0 && spam < 1.0;
        ensure!(is_possible, "{key}.spam: expected a probability above 0 and below 1, got {spam}");
        if let Some(name) = from.iter().flat_map(|it| &*it.names).find(|name| !name.contains('@')) {
            ensure!(false, "{key}.from: expected an address or @DOMAIN, got {name:?}");
        }
        ensure!(
            !self.needs_proof() || !authserv_id.is_empty(),
            "{key}.from: anyone can write an address; expected verdict.authserv_id, by which it is proved, or unproved = true"
        );
        let is_alone = self.verdict.is_none() || self.spam.is_none();
        ensure!(is_alone, "{key}.spam: expected no verdict beside it");
        let is_skipped = self.verdict == Some(RuleVerdict::Skip);
        ensure!(!is_skipped || !has_action, "{key}.verdict: expected nothing to do beside \"skip\"");
        ensure!(!self.unproved || from.is_some(), "{key}.unproved: expected from beside it");
        ensure!(self.learn != Some(RuleVerdict::Skip), "{key}.learn: expected \"ham\" or \"spam\"");
        let is_by_header = self.learn.is_none() || self.header.is_some();
        ensure!(is_by_header, "{key}.learn: expected header, with the verdict of another filter");
        Ok(())
    }
}

/// Users, addresses and domains (`@example.org`, with those below it), in lower case. An entry that begins with `/` is a
/// file of them, one in a line; lines that begin with `#` are comments.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "Vec<String>")]
pub struct AddressList {
    /// Users and addresses.
    pub(crate) names: Arc<HashSet<String>>,
    domains: Arc<HashSet<String>>,
}

/// Maximum length of an address, in bytes.
pub(crate) const LONGEST_ADDRESS: usize = 320;

impl TryFrom<Vec<String>> for AddressList {
    type Error = String;

    fn try_from(entries: Vec<String>) -> Result<Self, String> {
        let (mut names, mut domains) = (HashSet::new(), HashSet::new());
        for entry in entries {
            let text = match entry.starts_with('/') {
                true => read_file(Path::new(&entry)).map_err(|error| format!("{entry}: {error}"))?,
                false => entry,
            };
            let text = text.trim_start_matches('\u{feff}');
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            for line in lines {
                let (name, domain) =
                    line.rsplit_once('@').map_or((line, None), |(name, it)| (name, Some(it)));
                let is_odd = |c: char| c.is_whitespace() || c.is_control() || "@*<>,;:()\"\\".contains(c);
                let is_domain =
                    domain.is_none_or(|it| !it.is_empty() && !it.starts_with('.') && !it.ends_with('.'));
                if !is_domain
                    || line.contains("@@")
                    || [name, domain.unwrap_or_default()].concat().contains(is_odd)
                {
                    return Err(format!("expected a user, an address or @DOMAIN, got {line:?}"));
                }
                match (name, domain) {
                    ("", Some(domain)) => domains.insert(domain.to_lowercase()),
                    _ => names.insert(line.to_lowercase()),
                };
            }
        }
        Ok(AddressList { names: Arc::new(names), domains: Arc::new(domains) })
    }
}

impl AddressList {
    /// Whether it has an address, or its domain, or one above that; the address is in lower case.
    pub(crate) fn has(&self, address: &str) -> bool {
        let has_domain = |(_, domain): (&str, &str)| {
            let mut starts = std::iter::once(0).chain(domain.match_indices('.').map(|(at, _)| at + 1));
            starts.any(|start| self.domains.contains(&domain[start..]))
        };
        address.len() <= LONGEST_ADDRESS
            && (self.names.contains(address) || address.rsplit_once('@').is_some_and(has_domain))
    }
}

/// What a header field begins with, `NAME: TEXT`, in any case of letters.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub struct HeaderText {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl TryFrom<String> for HeaderText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text.split_once(':').map(|(name, text)| (name.trim(), text.trim()));
        match parts {
            Some((name, text)) if !name.is_empty() && !name.contains(' ') && !text.is_empty() => {
                Ok(HeaderText { name: name.to_owned(), text: text.to_lowercase() })
            }
            _ => Err(format!("expected \"NAME: TEXT\", got {text:?}")),
        }
    }
}

/// A network, `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub struct Network {
    address: IpAddr,
    n_bits: u32,
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (address, n_bits) = text.split_once('/').map_or((&*text, None), |(a, n)| (a, Some(n)));
        let address: Option<IpAddr> = address.parse().ok();
        let network = address.and_then(|address| {
            let (_, most) = bits(address);
            let n_bits: u32 = n_bits.map_or(Some(most), |n| n.parse().ok()).filter(|n| *n <= most)?;
            // IPv4 written as IPv6
            let canonical = address.to_canonical();
            let n_bits = if canonical == address { n_bits } else { n_bits.checked_sub(96)? };
            Some(Network { address: canonical, n_bits })
        });
        network.ok_or_else(|| format!("expected a network such as 10.0.0.0/8, got {text:?}"))
    }
}

impl Network {
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let ((own, n), (other, m)) = (bits(self.address), bits(address.to_canonical()));
        n == m && (own ^ other).checked_shr(128 - self.n_bits).unwrap_or(0) == 0
    }
}

/// The bits of an address, from the highest on, and their number.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_their_addresses() {
        let network = |text: &str| Network::try_from(text.to_owned());
        let has = |text: &str, address: &str| network(text).unwrap().has(address.parse().unwrap());
        assert!(has("10.0.0.0/8", "10.1.2.3") && has("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(has("::ffff:10.0.0.0/104", "10.1.2.3") && !has("::ffff:10.0.0.0/104", "11.0.0.0"));
        assert!(has("192.0.2.7", "192.0.2.7") && has("0.0.0.0/0", "192.0.2.7"));
        assert!(has("2001:db8::/32", "2001:db8::1") && has("::/0", "2001:db8::1") && has("::1", "::1"));
        assert!(!has("10.0.0.0/8", "11.0.0.0") && !has("192.0.2.7", "192.0.2.6"));
        assert!(!has("0.0.0.0/0", "::1") && !has("::/0", "10.0.0.1") && !has("2001:db8::/32", "2001:db9::"));
        for text in ["10.0.0.0/33", "10.0.0/8", "::/129", "", "/8", "10.0.0.0/x"] {
            assert!(network(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_have_addresses_and_domains_and_come_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partners");
        std::fs::write(&path, "\u{feff}# ours\r\n\n Joe@Example.net \n@partner.example\n").unwrap();
        let entries = vec!["ann".to_owned(), path.to_str().unwrap().to_owned()];
        let list = AddressList::try_from(entries).unwrap();
        for address in ["ann", "joe@example.net", "x@partner.example", "x@mail.partner.example"] {
            assert!(list.has(address), "{address}");
        }
        let long = format!("x@{}partner.example", "a.".repeat(200));
        for address in ["x@example.net", "x@apartner.example", "ann@example.net", "x@example", "", &long] {
            assert!(!list.has(address), "{address}");
        }
        let odd = [
            "two words",
            "@",
            "*@x",
            "<a@x>",
            "a@x,b@y",
            "@.x",
            "@x.",
            "a@@x",
            "a@",
            "/no/such/file",
            "/",
            "/dev/zero",
        ];
        for entry in odd {
            assert!(AddressList::try_from(vec![entry.to_owned()]).is_err(), "{entry}");
        }
    }
}
