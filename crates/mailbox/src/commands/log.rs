//! `log`

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use tamis_program::{json_line, shown};

use crate::commands::arguments::{LogArgs, since};
use crate::ledger::entry::{Event, Id};
use crate::ledger::journal::Ledger;
use crate::settings::{Account, state_folder};

pub(crate) fn run(args: &LogArgs, account: &Account) -> Result<()> {
    let since = since(args.since.as_deref())?;
    let mut entries = Ledger::entries(&state_folder(account)?)?;
    entries.retain(|entry| entry.at >= since);
    let mut out = std::io::stdout().lock();
    // how it went on with a message, for those that were sorted
    let mut later: HashMap<Id, &str> = HashMap::new();
    let mut lines = Vec::new();
    for entry in entries.iter().rev() {
        match &entry.event {
            _ if args.json => {}
            Event::Sorting(what) => {
                let reasons: Vec<String> =
                    what.reasons.iter().map(|(term, adds)| format!("{} {adds:+.2}", shown(term))).collect();
                lines.push(format!(
                    "{}  {} -> {} {}{}  {}: {}  [{}]",
                    entry.at,
                    shown(&what.from.folder),
                    shown(&what.to),
                    what.why(),
                    later.remove(&entry.id).unwrap_or_default(),
                    shown(&what.message.sender),
                    shown(&what.message.subject),
                    reasons.join(", ")
                ));
            }
            Event::Undone { .. } => drop(later.insert(entry.id, ", undone")),
            Event::Left { .. } => drop(later.insert(entry.id, ", stayed or came back")),
            Event::Taught { .. } => drop(later.insert(entry.id, ", corrected or confirmed")),
            _ => {}
        }
    }
    lines.iter().rev().try_for_each(|line| writeln!(out, "{line}"))?;
    for entry in entries.iter().filter(|_| args.json) {
        writeln!(out, "{}", json_line(serde_json::to_string(entry)?))?;
    }
    Ok(())
}
