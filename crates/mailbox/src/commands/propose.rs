//! Which folders mean what, by what they are for and how they are called.

use crate::imap::folders::{Mailbox, Role};
use crate::settings::{Account, FolderSettings};

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
    (Role::Archive, "archive|archives|archiv|archief|archivio|archivo|архив"),
];

/// Folders whose messages nobody has sorted, in lower case.
const OTHERS: [&str; 8] =
    ["outbox", "templates", "notes", "chats", "important", "starred", "vorlagen", "postausgang"];

/// The last part of a folder's name, in lower case.
fn leaf(mailbox: &Mailbox) -> String {
    mailbox.name.rsplit(['/', '.']).next().unwrap_or_default().to_lowercase()
}

/// What a folder is for, as the server says or by its name.
fn role(mailbox: &Mailbox) -> Option<Role> {
    let leaf = leaf(mailbox);
    let by_name = || {
        NAMES
            .iter()
            .find(|(_, names)| names.split('|').any(|name| name == leaf))
            .map(|(role, _)| role.clone())
    };
    mailbox.role.clone().or_else(by_name)
}

/// Proposes what the folders of an account mean.
///
/// Junk is spam, and other folders are labels by their names, so that the inbox is one of them. If there is only an inbox
/// or an archive besides the junk, these are ham.
pub(crate) fn propose(account: &mut Account, mailboxes: &[Mailbox]) {
    let is_inbox = |mailbox: &Mailbox| mailbox.name == account.inbox;
    let is_topic = |mailbox: &Mailbox| {
        !is_inbox(mailbox) && role(mailbox).is_none() && !OTHERS.contains(&&*leaf(mailbox))
    };
    let has_topics = mailboxes.iter().any(is_topic);
    let mut folders = Vec::new();
    for mailbox in mailboxes {
        let label = match role(mailbox) {
            _ if is_inbox(mailbox) => Some(if has_topics { "inbox" } else { "ham" }.to_owned()),
            // the first, if there are several
            Some(Role::Junk) if account.junk.is_none() => {
                account.junk = Some(mailbox.name.clone());
                Some("spam".to_owned())
            }
            Some(Role::Archive) if has_topics => None,
            Some(Role::Archive) => Some("ham".to_owned()),
            _ if is_topic(mailbox) => Some(mailbox.name.clone()),
            _ => continue,
        };
        folders.push(FolderSettings { name: mailbox.name.clone(), label, threshold: None });
    }
    account.folders = folders;
}
