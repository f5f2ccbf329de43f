//! The arguments.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use chrono::NaiveDate;
use clap::{Args, Parser, Subcommand};
use tamis_program::{at, seconds_now};

use crate::agent::state::RunMode;
use crate::settings::{OAuth, Tls};

/// Sort a mailbox by what you have filed, and learn from the messages you move
#[derive(Parser, Debug)]
#[command(
    name = "tamis-mailbox",
    version,
    disable_help_subcommand = true,
    after_help = "\
Example:
  tamis mailbox setup anna@example.org     finds the server, proposes which folders mean what
  tamis mailbox train                      learns from them, and shows how last month would have been sorted
  tamis mailbox run --dry-run --once       shows what would be moved now
  tamis mailbox run --existing --once      sorts the inbox itself, too (--dry-run only shows it)
  tamis mailbox run                        sorts what arrives, learns from what you move
  tamis mailbox undo                       moves everything back"
)]
pub struct AgentArgs {
    /// The settings file [default: ~/.config/tamis/mailbox.toml]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) settings: Option<PathBuf>,
    /// Only this account; can be repeated
    #[arg(short, long, value_name = "NAME", global = true)]
    pub(crate) account: Vec<String>,
    /// Print errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum AgentCommand {
    /// Write the settings of an account: the server, and what its folders mean
    Setup(Box<SetupArgs>),
    /// Learn from the folders, and show how the last month would have been sorted. Moves nothing
    Train(TrainMailboxArgs),
    /// Sort what arrives, and learn from what is moved
    Run(RunMode),
    /// Move back what was moved
    Undo(UndoArgs),
    /// Show what was moved, and why
    Log(LogArgs),
}

#[derive(Args, Debug)]
pub(crate) struct SetupArgs {
    /// Your address
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// The server [default: the first of imap.DOMAIN, mail.DOMAIN and DOMAIN that answers]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// The server's port [default: 993, or 143 without TLS from the start]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// How the connection is encrypted: implicit (from the start), starttls, none (on this machine only)
    #[arg(long, value_name = "HOW", default_value = "implicit", hide_possible_values = true)]
    pub(crate) tls: Tls,
    /// A file of certificates (PEM) to trust besides the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// The name to log in with [default: ADDRESS]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// A command that prints the password, such as "pass show mail/anna" [default: the keyring, by secret-tool]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) password: Option<String>,
    /// A command that prints an OAuth 2 access token (XOAUTH2), in place of a password
    #[arg(long, value_name = "COMMAND", conflicts_with = "password")]
    pub(crate) token: Option<String>,
    #[command(flatten)]
    pub(crate) oauth: Option<OAuth>,
    /// The name of the account [default: ADDRESS]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct TrainMailboxArgs {
    /// Write the report of the last month to a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// List all messages that would have gone elsewhere, not only the latest 30
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// Only what was moved since then: 30m, 12h, 2d, 1w or 2026-11-24 [default: everything]
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Show what would be moved back, and move nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// Only what happened since then: 30m, 12h, 2d, 1w or 2026-11-24 [default: everything]
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Print the journal's lines of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A time as the journal has it.
///
/// # Errors
/// If it is neither a number of minutes, hours, days or weeks nor a date.
pub(crate) fn since(text: Option<&str>) -> Result<String> {
    let Some(text) = text else { return Ok(String::new()) };
    let expected =
        || anyhow!("--since: expected a time such as 30m, 12h, 2d, 1w or 2026-11-24, got {text:?}");
    if let Ok(date) = text.parse::<NaiveDate>() {
        return Ok(date.to_string());
    }
    let units = [('m', 60), ('h', 3_600), ('d', 86_400), ('w', 604_800)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, seconds)));
    let (n, seconds) = found.ok_or_else(expected)?;
    let n: u32 = n.parse().map_err(|_| expected())?;
    Ok(at(seconds_now() - i64::from(n) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(since(None).unwrap(), "");
        assert_eq!(since(Some("2026-11-24")).unwrap(), "2026-11-24");
        assert!(since(Some("2d")).unwrap() < since(Some("1h")).unwrap());
        for bad in ["", "2026-13-01", "d", "5", "5y", "-5d", "20261124", "ü"] {
            assert!(since(Some(bad)).is_err(), "{bad}");
        }
    }
}
