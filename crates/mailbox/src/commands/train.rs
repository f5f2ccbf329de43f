//! `train`

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use tamis_program::{counted, done, expectation, grouped, make_private, note, shown, shown_path};
use tamis_train::{LearnOptions, Lock};

use crate::commands::agent::runtime;
use crate::commands::arguments::TrainMailboxArgs;
use crate::imap::session::ImapSession;
use crate::ledger::entry::Id;
use crate::ledger::header::Header;
use crate::ledger::journal::Ledger;
use crate::ledger::messages::MessageStates;
use crate::settings::{Account, line_of, model_file, state_folder};
use crate::training::learn::{SpooledMessage, read, train};
use crate::training::plan::Plan;
use crate::training::replay::Replay;
use crate::training::spool::fetch;

/// Messages that would have gone elsewhere, in the table.
const SHOWN: usize = 30;

/// Lines of the journal that are written at a time.
const BATCH: usize = 1_000;

/// Minimum number of messages of ham.
const LEAST_HAM: usize = 20;

pub(crate) fn run(args: &TrainMailboxArgs, path: &Path, account: &Account) -> Result<()> {
    ensure!(account.labels().len() >= 2, "account {}: expected folders of at least two labels", account.name);
    let state = state_folder(account)?;
    // one program at a time, also while it reads
    let mut ledger = Ledger::open(&state)?;
    let spool = state.join("spool");
    make_private(&spool).with_context(|| shown_path(&spool))?;
    let plan = runtime()?.block_on(gather(account, &spool, &ledger.messages))?;
    let mut messages = plan.messages(&spool);
    // they teach nothing
    messages.retain(|it| !read(&it.path).is_ok_and(|bytes| ledger.messages.is_digest(&bytes)));
    if messages.iter().all(|message| message.label == messages[0].label) {
        bail!(
            "account {}: expected messages in folders of at least two labels; file some first",
            account.name
        );
    }
    let settings = fs::read_to_string(path).with_context(|| shown_path(path))?;
    check_ham(account, &messages, &settings)?;
    match Replay::run(&messages, account, &spool)? {
        Some(replay) => {
            replay.print(&mut done(), account, if args.all { usize::MAX } else { SHOWN })?;
            if let Some(path) = &args.html {
                replay.write_html(account, path)?;
                note!("wrote {}", shown_path(path));
            }
            check_replay(account, &replay, &settings)?;
        }
        None => note!("too few messages to show how they would have been sorted"),
    }
    learn(account, &messages)?;
    note_learned(&mut ledger, &messages)?;
    for planned in &plan.folders {
        ledger.positions.folders.insert(planned.folder.clone(), planned.position);
    }
    ledger.keep_positions()?;
    fs::remove_dir_all(&spool).with_context(|| shown_path(&spool))?;
    note!("Next: tamis mailbox run (with --dry-run --once it only shows what it would move)");
    Ok(())
}

/// Checks that it is known what stays in the inbox, so that good mail does not go to the junk or elsewhere.
fn check_ham(account: &Account, messages: &[SpooledMessage], settings: &str) -> Result<()> {
    let of = |label: &str| messages.iter().filter(|message| message.label == label).count();
    let inbox = account.label_of(&account.inbox);
    let has_junk = messages.iter().any(|message| account.is_junk(&message.label));
    let n_ham = inbox.map_or(0, of);
    if n_ham >= LEAST_HAM || inbox.is_none() && !has_junk {
        return Ok(());
    }
    let unlabelled = account.folders.iter().filter(|folder| folder.label.is_none());
    let such_as: String =
        unlabelled.map(|folder| format!(", such as {}", place(settings, account, &folder.name))).collect();
    bail!(
        "account {}: expected at least {LEAST_HAM} messages of the kind that stays in {}, got {n_ham}: good mail would go to the \
         junk or to the wrong folder. Give the label {} to the folder that your read mail is in{such_as}",
        account.name,
        place(settings, account, &account.inbox),
        shown(inbox.unwrap_or("ham"))
    );
}

/// A folder with its line in the settings.
fn place(settings: &str, account: &Account, folder: &str) -> String {
    format!("{} ({})", shown(folder), line_of(settings, &account.name, folder))
}

/// Checks that the labels can be told apart.
fn check_replay(account: &Account, replay: &Replay, settings: &str) -> Result<()> {
    if let Some((pair, mistakes, n)) = replay.confusable(account) {
        let folder = |label| account.folder_of(label).map_or(label, |folder| &*folder.name);
        let [one, other] = pair.map(|label| place(settings, account, folder(label)));
        bail!(
            "account {}: expected folders that can be told apart, got {one} and {other}, mistaken for one another with \
             {mistakes} of {n} messages. Give them the same label, or remove one of them",
            account.name
        );
    }
    Ok(())
}

/// Fetches what is to be learned, or the rest of it.
async fn gather(account: &Account, spool: &Path, known: &MessageStates) -> Result<Plan> {
    let mut server = ImapSession::connect(account).await?;
    let (mailboxes, _) = server.mailboxes().await?;
    let plan = match Plan::begun(spool, account)? {
        Some(plan) => plan,
        None => {
            fs::remove_dir_all(spool).with_context(|| shown_path(spool))?;
            make_private(spool).with_context(|| shown_path(spool))?;
            let plan = Plan::make(&mut server, &mailboxes, account, known).await?;
            plan.keep(spool)?;
            plan
        }
    };
    let fetched = fetch(&mut server, &mailboxes, &plan, spool).await;
    server.log_out().await;
    fetched.map(|()| plan)
}

/// Makes the model, in place of the one that is there: everything it has learned by moves is in the folders too.
fn learn(account: &Account, messages: &[SpooledMessage]) -> Result<()> {
    let path = model_file(account)?;
    if let Some(folder) = path.parent() {
        make_private(folder).with_context(|| shown_path(folder))?;
    }
    let model = train(messages)?;
    Lock::wait(&path, LearnOptions::default().lock_timeout)?.save(&model)?;
    let filter = model.into_filter()?;
    let information = filter.information();
    note!(
        "learned {} of {}; wrote {} ({} kB)",
        counted(information.size.documents as u64, "message"),
        counted(filter.classes().len() as u64, "label"),
        shown_path(&path),
        grouped(information.file.bytes.div_ceil(1_000) as u64)
    );
    if let Some(expectation) = expectation(&filter) {
        note!("{expectation}");
    }
    Ok(())
}

/// Notes what was learned, so that a message that comes back to the inbox is known.
fn note_learned(ledger: &mut Ledger, messages: &[SpooledMessage]) -> Result<()> {
    for batch in messages.chunks(BATCH) {
        let mut events = Vec::new();
        for message in batch {
            let bytes = read(&message.path)?;
            let id = Id::hash(&bytes);
            let known = ledger.messages.get(id);
            let is_known = known.is_some_and(|known| {
                known.learned.as_ref() == Some(&message.label) && known.place.as_ref() == Some(&message.place)
            });
            if !bytes.is_empty() && !is_known {
                events.push((id, Header::parse(&bytes).taught(Some(&message.label), &message.place)));
            }
        }
        ledger.note(events)?;
    }
    Ok(())
}
