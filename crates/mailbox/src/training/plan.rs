//! Which messages to train on.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tamis_program::{say, shown};

use crate::files::{read_if_there, replace};
use crate::imap::folders::Mailbox;
use crate::imap::messages::{Location, Marks};
use crate::imap::session::ImapSession;
use crate::ledger::journal::FolderPosition;
use crate::ledger::messages::MessageStates;
use crate::settings::Account;
use crate::training::learn::SpooledMessage;

/// The messages of all folders. It is kept until the model is made, so that interrupted training continues with
/// the same messages.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub(crate) struct Plan {
    pub(crate) folders: Vec<FolderPlan>,
}

/// The messages of a folder.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct FolderPlan {
    pub(crate) folder: String,
    /// `None` if only the position of the folder matters.
    pub(crate) label: Option<String>,
    pub(crate) position: FolderPosition,
    pub(crate) uids: Vec<u32>,
    /// The labels of those that their owner has marked.
    #[serde(default)]
    pub(crate) marked: BTreeMap<u32, String>,
}

impl Plan {
    /// Reads the unfinished plan in a spool. `None` if there is none, or the account's folders have changed.
    pub(crate) fn begun(spool: &Path, account: &Account) -> Result<Option<Plan>> {
        let Some(plan) = read_if_there::<Plan>(&spool.join("plan.json"))? else { return Ok(None) };
        let known: Vec<_> = account.folders.iter().map(|folder| (&folder.name, &folder.label)).collect();
        let is_same = plan.folders.iter().all(|planned| known.contains(&(&planned.folder, &planned.label)));
        Ok(Some(plan).filter(|_| is_same))
    }

    /// Plans to train on the newest messages of each folder that has a label.
    pub(crate) async fn make(
        server: &mut ImapSession,
        mailboxes: &[Mailbox],
        account: &Account,
        known: &MessageStates,
    ) -> Result<Plan> {
        let mut plan = Plan::default();
        for folder in &account.folders {
            let Some(mailbox) = mailboxes.iter().find(|mailbox| mailbox.name == folder.name) else {
                say!("{}: there is no folder {} (any more)", account.name, shown(&folder.name));
                continue;
            };
            let opened = match server.open(mailbox, false).await {
                Err(error) if error.is_refusal() => {
                    say!("{}: {error}; leaves it out", account.name);
                    continue;
                }
                opened => opened?,
            };
            let mut uids = match folder.label {
                Some(_) => server.uids_from(1).await?,
                None => Vec::new(),
            };
            // the agent handles what arrives from now on
            uids.retain(|uid| *uid < opened.next_uid);
            uids.drain(..uids.len().saturating_sub(account.newest as usize));
            let (validity, next_uid) = (opened.validity, opened.next_uid);
            let there = known.in_folder(&folder.name, validity);
            // what was moved after it was marked belongs where it is
            let decided = |uid| there.get(&uid).map(|known| (known.marks, &known.learned));
            let label = |marks: Marks| account.label_by_mark(&folder.name, marks.say_junk(Marks::default())?);
            let flags = server.flags(None).await?.into_iter();
            let marked = flags.filter(|it| decided(it.uid) != Some((it.marks, &folder.label)));
            plan.folders.push(FolderPlan {
                folder: folder.name.clone(),
                label: folder.label.clone(),
                position: FolderPosition { validity, next_uid, modseq: None },
                uids,
                marked: marked.filter_map(|it| Some((it.uid, label(it.marks)?.to_owned()))).collect(),
            });
        }
        Ok(plan)
    }

    pub(crate) fn keep(&self, spool: &Path) -> Result<()> {
        replace(&spool.join("plan.json"), &serde_json::to_vec(self)?)
    }

    /// The messages that have labels, in the spool.
    pub(crate) fn messages(&self, spool: &Path) -> Vec<SpooledMessage> {
        let mut messages = Vec::new();
        for (n, folder) in self.folders.iter().enumerate() {
            let Some(label) = &folder.label else { continue };
            let path = |uid: &u32| spool.join(n.to_string()).join(uid.to_string());
            let validity = folder.position.validity;
            let place = |uid: &u32| Location { folder: folder.folder.clone(), validity, uid: *uid };
            let label = |uid| folder.marked.get(uid).unwrap_or(label).clone();
            let message = |uid| SpooledMessage { path: path(uid), label: label(uid), place: place(uid) };
            messages.extend(folder.uids.iter().map(message));
        }
        messages
    }
}
