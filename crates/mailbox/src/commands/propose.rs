//! Which folders mean what, by what they are for and how they are called.

use std::collections::BTreeMap;

use tamis_store::config::labels::check_labels;
use tamis_train::Classes;

use crate::imap::folders::{Mailbox, Role};
use crate::settings::{Account, FolderSettings, SortRule};

/// Names of folders, in lower case and separated by bars, on servers that do not say what a folder is for.
const NAMES: [(Role, &str); 5] = [
    (
        Role::Junk,
        "junk|spam|junk e-mail|junk email|junk mail|bulk mail|bulk|junk-e-mail|spamverdacht|\
         unerwünscht|courrier indésirable|indésirables|pourriel|correo no deseado|posta indesiderata|\
         lixo eletrônico|ongewenste e-mail|спам|迷惑メール|垃圾邮件",
    ),
    (
        Role::Sent,
        "sent|sent mail|sent items|sent messages|gesendet|gesendete elemente|gesendete objekte|\
         envoyés|éléments envoyés|enviados|elementos enviados|posta inviata|inviata|verzonden items|\
         отправленные|送信済み|已发送",
    ),
    (
        Role::Drafts,
        "drafts|draft|entwürfe|brouillons|borradores|bozze|rascunhos|concepten|черновики|下書き|草稿",
    ),
    (
        Role::Trash,
        "trash|deleted items|deleted messages|deleted|bin|papierkorb|gelöscht|gelöschte elemente|\
         corbeille|éléments supprimés|papelera|elementos eliminados|cestino|lixeira|prullenbak|\
         корзина|ゴミ箱|已删除",
    ),
    (
        Role::Archive,
        "archive|archives|archiv|archief|archivio|archivo|arquivo|arkiv|arkisto|archiwum|archív|arşiv|архив|\
         アーカイブ|归档|存档",
    ),
];

/// Folders whose messages nobody has sorted, in lower case, with what is below them.
const OTHERS: &str = "outbox|templates|notes|chats|important|starred|vorlagen|postausgang|calendar|contacts|tasks|journal|\
                      sync issues|conversation history|rss feeds|rss subscriptions";

/// An inbox with fewer messages than this, and fewer than the archive, is emptied by its owner: ham is in the archive.
const SMALL_INBOX: u32 = 100;

/// A folder of the server.
pub(crate) struct ListedFolder {
    pub(crate) mailbox: Mailbox,
    /// Number of messages, if the folder can be read.
    pub(crate) messages: Option<u32>,
    /// Whether it belongs to someone else, or to everyone.
    pub(crate) is_shared: bool,
}

/// What the messages of a folder have in common: the folder's purpose, or their owner's topic.
#[derive(PartialEq, Debug)]
enum Meaning {
    Role(Role),
    Topic(String),
}

/// Whether a part of a folder's name is a year, or begins with one: `2024`, `2024-05`.
fn is_year(part: &str) -> bool {
    let (digits, rest) = part.split_at_checked(4).unwrap_or(("", ""));
    let is_year = ["19", "20"].iter().any(|century| digits.starts_with(century));
    is_year && digits.bytes().all(|byte| byte.is_ascii_digit()) && !rest.starts_with(char::is_alphanumeric)
}

/// What a folder means: what the server says of it, else what its name says or that of the outermost folder it is in.
fn meaning(mailbox: &Mailbox, server_roles: &BTreeMap<&str, Role>) -> Option<Meaning> {
    let delimiter = mailbox.delimiter.unwrap_or('\0');
    let ends = mailbox.name.match_indices(delimiter).map(|(end, _)| end).chain([mailbox.name.len()]);
    let mut role = mailbox.role.clone();
    for path in ends.map(|end| &mailbox.name[..end]) {
        let leaf = path.rsplit(delimiter).next().unwrap_or_default().to_lowercase();
        let has = |names: &str| names.split('|').any(|name| name == leaf);
        if has(OTHERS) {
            return None;
        }
        let by_name = || NAMES.iter().find(|(_, names)| has(names)).map(|(role, _)| role);
        role = role.or_else(|| server_roles.get(path).or_else(by_name).cloned());
    }
    // where folders are below the inbox, it says nothing
    let parts = mailbox.name.split(delimiter).skip_while(|part| part.eq_ignore_ascii_case("inbox"));
    let topic: Vec<&str> = parts.take_while(|part| !is_year(part)).collect();
    // years of no topic are an archive
    let role = role.or_else(|| topic.is_empty().then_some(Role::Archive));
    Some(role.map_or_else(|| Meaning::Topic(topic.join(&delimiter.to_string())), Meaning::Role))
}

/// Proposes what the folders of an account mean.
///
/// Junk and what is in it is spam, and other folders are labels by their names, so that the inbox is one of them. Archives
/// are ham if there is nothing else, or if the inbox is so small that ham cannot be learned there.
pub(crate) fn propose(account: &mut Account, listed: &[ListedFolder]) {
    let roles = listed.iter().filter_map(|it| Some((&*it.mailbox.name, it.mailbox.role.clone()?))).collect();
    let own = listed.iter().filter(|it| !it.is_shared && it.mailbox.name != account.inbox);
    let meant: Vec<_> = own.filter_map(|it| Some((it, meaning(&it.mailbox, &roles)?))).collect();
    let having =
        |role: Role| meant.iter().filter(move |it| it.1 == Meaning::Role(role.clone())).map(|it| it.0);
    // what the server says outranks names
    let first =
        |role| having(role).min_by_key(|it| it.mailbox.role.is_none()).map(|it| it.mailbox.name.clone());
    account.junk = account.junk.take().or_else(|| first(Role::Junk));
    account.sent = account.sent.take().or_else(|| first(Role::Sent));
    let has_topics = meant.iter().any(|(_, meaning)| matches!(meaning, Meaning::Topic(_)));
    let inbox = listed.iter().find(|it| it.mailbox.name == account.inbox);
    let in_inbox = inbox.and_then(|it| it.messages).unwrap_or(0);
    let archived = having(Role::Archive).filter_map(|it| it.messages).fold(0, u32::saturating_add);
    let is_ham_archived = !has_topics || in_inbox < SMALL_INBOX && archived > in_inbox;
    let ham = if has_topics { "inbox" } else { "ham" };
    let folder = |it: &ListedFolder, label: Option<&str>| FolderSettings {
        name: it.mailbox.name.clone(),
        label: label.map(str::to_owned),
        threshold: None,
    };
    let mut topics: BTreeMap<&str, String> = BTreeMap::new();
    let is_newsletters = |it: &&ListedFolder| it.mailbox.name.to_lowercase().ends_with("newsletters");
    if let Some(it) = meant.iter().map(|it| it.0).find(is_newsletters).filter(|_| account.rules.is_empty()) {
        let folder = Some(it.mailbox.name.clone());
        account.rules.push(SortRule { newsletter: true, folder, ..SortRule::default() });
    }
    account.folders = inbox.map(|it| folder(it, Some(ham))).into_iter().collect();
    for (it, meaning) in &meant {
        let label = match meaning {
            Meaning::Role(Role::Junk) => Some("spam"),
            Meaning::Role(Role::Archive) => is_ham_archived.then_some(ham),
            Meaning::Topic(topic) => {
                if !topics.contains_key(&**topic) {
                    let taken =
                        topics.values().map(|label| &**label).chain([ham, "spam"]).collect::<Vec<_>>();
                    let Some(label) = distinct(topic, &taken) else { continue };
                    topics.insert(topic, label);
                }
                topics.get(&**topic).map(|label| &**label)
            }
            Meaning::Role(_) => continue,
        };
        account.folders.push(folder(it, label));
    }
}

/// A label for a topic that a model accepts beside those that are taken; `None` for names with control characters.
fn distinct(topic: &str, taken: &[&str]) -> Option<String> {
    let is_accepted = |label: &String| {
        let labels = Classes::new(taken.iter().copied().chain([&**label]));
        labels.is_ok_and(|labels| labels.len() > taken.len() && check_labels(&labels).is_ok())
    };
    let numbered = (2..).map(|n| format!("{topic} {n}"));
    // one number more than labels is always free
    [topic.to_owned()].into_iter().chain(numbered).take(taken.len() + 2).find(is_accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the labels that are proposed for folders: NAME, what the server says, number of messages, LABEL; an empty
    /// label for those that are listed without one, `-` for those that are not.
    fn check(folders: &[(&str, Option<Role>, u32, &str)]) -> Account {
        let mut account = Account::new("a", "b", "c");
        let listed = folders.iter().map(|(name, role, messages, _)| ListedFolder {
            mailbox: Mailbox::example(name, role.clone()),
            messages: Some(*messages),
            is_shared: name.starts_with("Public/"),
        });
        propose(&mut account, &listed.collect::<Vec<_>>());
        for (name, .., label) in folders {
            let listed = account.folders.iter().find(|it| it.name == *name);
            let got = listed.map_or("-", |it| it.label.as_deref().unwrap_or_default());
            assert_eq!(got, *label, "{name} of {folders:?}");
        }
        account
    }

    #[test]
    fn the_archive_of_an_emptied_inbox_is_ham() {
        for archives in
            [&["Archive"][..], &["Archiv", "Archiv/2023", "Archiv/2024-05"], &["2023", "INBOX/2024"]]
        {
            for (in_inbox, label) in [(0, "inbox"), (99, "inbox"), (900, "")] {
                let mut folders = vec![("INBOX", None, in_inbox, "inbox"), ("Junk", None, 50, "spam")];
                folders.push(("Bills", None, 50, "Bills"));
                folders.extend(archives.iter().map(|name| (*name, None, 500, label)));
                check(&folders);
            }
        }
        check(&[("INBOX", None, 900, "ham"), ("Junk", None, 9, "spam"), ("Archive", None, 9, "ham")]);
    }

    #[test]
    fn what_nobody_has_sorted_is_no_label() {
        let account = check(&[
            ("INBOX", None, 900, "inbox"),
            ("Bulk", None, 9, "spam"),
            ("Verdacht", Some(Role::Junk), 9, "spam"),
            ("Verdacht/2024", None, 9, "spam"),
            ("Gesendet", Some(Role::Sent), 9, "-"),
            ("Gesendet/2024", None, 9, "-"),
            ("Sent/Rust", None, 9, "-"),
            ("Drafts/old", None, 9, "-"),
            ("Trash/Bills", None, 9, "-"),
            ("Public/rust", None, 9, "-"),
            ("Notes/2024", None, 9, "-"),
            ("All", Some(Role::All), 9, "-"),
            ("Rust/2023", None, 9, "Rust"),
            ("Rust/2024", None, 9, "Rust"),
            ("INBOX/Bills", None, 9, "Bills"),
        ]);
        assert_eq!((account.junk.as_deref(), account.sent.as_deref()), (Some("Verdacht"), Some("Gesendet")));
    }

    #[test]
    fn labels_are_such_as_a_model_accepts() {
        let names = ["Rust", "rust", "R ust", "Unsure", "in box", "Cafe\u{301}", "Caf\u{e9}", "\n"];
        let labels = ["Rust", "rust 2", "R ust 3", "Unsure 2", "in box 2", "Cafe\u{301}", "Caf\u{e9} 2", "-"];
        let topics = names.iter().zip(labels).map(|(name, label)| (*name, None, 9, label));
        let account = check(&[("INBOX", None, 9, "inbox")].into_iter().chain(topics).collect::<Vec<_>>());
        check_labels(&Classes::new(account.labels()).unwrap()).unwrap();
    }

    #[test]
    fn a_folder_for_newsletters_gets_them() {
        let account = check(&[("INBOX", None, 9, "inbox"), ("Newsletters", None, 0, "Newsletters")]);
        assert!(account.rules[0].newsletter && account.rules[0].folder.as_deref() == Some("Newsletters"));
    }
}
