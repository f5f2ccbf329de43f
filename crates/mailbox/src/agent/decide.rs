//! Where a message of the inbox goes.

use crate::ledger::entry::{Cause, Opinion};
use crate::ledger::header::{Header, address, addresses};
use crate::ledger::messages::MessageStates;
use crate::settings::{Account, JUNK_THRESHOLD, SortRule};

/// Where a message goes, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    pub(crate) folder: String,
    pub(crate) label: String,
    pub(crate) cause: Cause,
}

/// Where a message of the inbox goes; `None` if it stays. Rules come first, then the model where it is sure, then the thread
/// and the mailing list. Only the model sends to the junk, and nobody whom the owner knows.
pub(crate) fn decide(
    account: &Account,
    messages: &MessageStates,
    header: &Header,
    opinion: Option<&Opinion>,
) -> Option<Verdict> {
    let elsewhere = |folder: &str| (folder != account.inbox).then(|| folder.to_owned());
    let by_score = opinion.filter(|it| is_sure(account, messages, header, it));
    let is_junk = by_score.is_some_and(|opinion| account.is_junk(&opinion.label));
    let applies = |rule: &&SortRule| header.matches(rule) && !(rule.newsletter && is_junk);
    if let Some(rule) = account.rules.iter().find(applies) {
        let folder = elsewhere(rule.folder.as_deref()?)?;
        let label = account.label_of(&folder).unwrap_or(&folder).to_owned();
        return Some(Verdict { folder, label, cause: Cause::Rule });
    }
    let by_score = by_score.map(|opinion| (&*opinion.label, Cause::Score));
    let by_links = || messages.label_by_links(header).filter(|(label, _)| !account.is_junk(label));
    let (label, cause) = by_score.or_else(by_links)?;
    let folder = elsewhere(&account.folder_of(label)?.name)?;
    Some(Verdict { folder, label: label.to_owned(), cause })
}

/// Whether the model is as sure as the folder of a label asks for.
fn is_sure(account: &Account, messages: &MessageStates, header: &Header, opinion: &Opinion) -> bool {
    let (label, is_junk) = (&*opinion.label, account.is_junk(&opinion.label));
    let own = account.folder_of(label).and_then(|folder| folder.threshold);
    let usual = || match is_junk {
        true => account.threshold.max(JUNK_THRESHOLD),
        false => messages.threshold(label, account.threshold, account.max_wrong),
    };
    opinion.probability >= own.unwrap_or_else(usual) && !(is_junk && is_known(account, messages, header))
}

/// Whether the owner has written to where a message comes from, or has kept mail from there and none of it is junk. Junk often
/// claims to come from oneself.
fn is_known(account: &Account, messages: &MessageStates, header: &Header) -> bool {
    let Some(sender) = addresses(&header.from).pop() else { return false };
    let own = [&account.user, &account.name].map(|text| address(text));
    let is_kept =
        || messages.labels_of(sender).is_some_and(|mut labels| !labels.any(|it| account.is_junk(it)));
    !own.contains(&sender) && (messages.correspondents.contains(&sender) || is_kept())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::entry::{Event, Id, JournalEntry};

    #[test]
    fn rules_outrank_the_score_and_the_score_outranks_threads() {
        let rule = |from: &str, folder: Option<&str>| SortRule {
            from: Some(from.to_owned()),
            folder: folder.map(str::to_owned),
            ..SortRule::default()
        };
        let newsletters =
            SortRule { newsletter: true, folder: Some("News".to_owned()), ..SortRule::default() };
        let account = Account {
            junk: Some("Junk".to_owned()),
            rules: vec![rule("shop@x", Some("Bills")), rule("boss@x", None), newsletters],
            ..Account::example(&[("INBOX", "inbox"), ("Junk", "spam"), ("Rust", "rust"), ("Bills", "bills")])
        };
        let mut messages = MessageStates::default();
        let mut apply = |id, event| messages.apply(JournalEntry { at: String::new(), id, event });
        for (mail, label) in [
            ("Message-ID: <1@x>\n\n", "rust"),
            ("Message-ID: <2@x>\n\n", "spam"),
            ("From: News <news@x>\n\n", "inbox"),
            ("From: <both@x>\n\n", "inbox"),
            ("From: <both@x>\n\nx", "spam"),
        ] {
            let (label, links) = (Some(label.to_owned()), Header::parse(mail.as_bytes()).links);
            apply(Id::hash(mail.as_bytes()), Event::Taught { label, place: None, links });
        }
        apply(address("friend@x"), Event::Correspondent);
        apply(address("anna@example.org"), Event::Correspondent);
        for (mail, label, probability, expected) in [
            ("From: shop@x", "spam", 1.0, Some(("Bills", Cause::Rule))),
            ("From: Boss <BOSS@x>", "spam", 1.0, None),
            ("From: a@x", "spam", 0.96, Some(("Junk", Cause::Score))),
            ("From: a@x", "spam", 0.94, None),
            ("From: a@x\nList-Unsubscribe: <x>", "inbox", 0.99, Some(("News", Cause::Rule))),
            ("From: a@x\nList-Unsubscribe: <x>\nList-Post: <x>", "inbox", 0.99, None),
            ("From: a@x\nList-Unsubscribe: <x>", "spam", 0.96, Some(("Junk", Cause::Score))),
            ("From: a@x", "rust", 0.81, Some(("Rust", Cause::Score))),
            ("From: a@x", "inbox", 0.99, None),
            ("From: friend@x", "spam", 1.0, None),
            ("From: \"friend@x\" <other@x>", "spam", 1.0, Some(("Junk", Cause::Score))),
            ("From: NEWS@x", "spam", 1.0, None),
            ("From: both@x", "spam", 1.0, Some(("Junk", Cause::Score))),
            ("From: anna@example.org", "spam", 1.0, Some(("Junk", Cause::Score))),
            ("In-Reply-To: <1@x>", "bills", 0.5, Some(("Rust", Cause::Thread))),
            ("In-Reply-To: <1@x>", "bills", 0.9, Some(("Bills", Cause::Score))),
            ("In-Reply-To: <1@x>", "inbox", 0.9, None),
            ("In-Reply-To: <2@x>", "spam", 0.9, None),
        ] {
            let opinion = Opinion { label: label.to_owned(), probability, log_odds: 0.0 };
            let header = Header::parse(format!("{mail}\n\n").as_bytes());
            let got = decide(&account, &messages, &header, Some(&opinion));
            let got = got.as_ref().map(|verdict| (&*verdict.folder, verdict.cause));
            assert_eq!(got, expected, "{mail} {label} {probability}");
        }
    }
}
