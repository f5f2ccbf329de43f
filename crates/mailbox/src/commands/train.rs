//! `train`

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_program::{counted, done, expectation, grouped, make_private, note, shown_path};
use tamis_train::{LearnOptions, Lock};

use crate::commands::agent::runtime;
use crate::commands::arguments::TrainMailboxArgs;
use crate::imap::session::ImapSession;
use crate::ledger::entry::{Event, Id};
use crate::ledger::journal::Ledger;
use crate::settings::{Account, model_file, state_folder};
use crate::training::learn::{SpooledMessage, read, train};
use crate::training::plan::Plan;
use crate::training::replay::Replay;
use crate::training::spool::fetch;

/// Messages that would have gone elsewhere, in the table.
const SHOWN: usize = 30;

/// Lines of the journal that are written at a time.
const BATCH: usize = 1_000;

pub(crate) fn run(args: &TrainMailboxArgs, account: &Account) -> Result<()> {
    if account.labels().len() < 2 {
        bail!("account {}: expected folders of at least two labels", account.name);
    }
    let state = state_folder(account)?;
    // one program at a time, also while it reads
    let mut ledger = Ledger::open(&state)?;
    let spool = state.join("spool");
    make_private(&spool).with_context(|| shown_path(&spool))?;
    let plan = runtime()?.block_on(gather(account, &spool))?;
    let messages = plan.messages(&spool);
    if messages.iter().all(|message| message.label == messages[0].label) {
        bail!(
            "account {}: expected messages in folders of at least two labels; file some first",
            account.name
        );
    }
    match Replay::run(&messages, account)? {
        Some(replay) => {
            replay.print(&mut done(), account, if args.all { usize::MAX } else { SHOWN })?;
            if let Some(path) = &args.html {
                replay.write_html(account, path)?;
                note!("wrote {}", shown_path(path));
            }
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

/// Fetches what is to be learned, or the rest of it.
async fn gather(account: &Account, spool: &Path) -> Result<Plan> {
    let mut server = ImapSession::connect(account).await?;
    let (mailboxes, _) = server.mailboxes().await?;
    let plan = match Plan::begun(spool, account)? {
        Some(plan) => plan,
        None => {
            fs::remove_dir_all(spool).with_context(|| shown_path(spool))?;
            make_private(spool).with_context(|| shown_path(spool))?;
            let plan = Plan::make(&mut server, &mailboxes, account).await?;
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
            let known = ledger.messages.get(id).and_then(|known| known.learned.as_deref());
            if !bytes.is_empty() && known != Some(&*message.label) {
                events.push((id, Event::Taught { label: Some(message.label.clone()) }));
            }
        }
        ledger.note(events)?;
    }
    Ok(())
}
