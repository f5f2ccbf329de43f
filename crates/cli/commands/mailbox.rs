//! `tamis mailbox`: a program of its own, so that this one stays small.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

const PROGRAM: &str = "tamis-mailbox";

#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
This runs tamis-mailbox, a package of its own: cargo install --locked --path crates/mailbox. \
`tamis mailbox --help` shows its commands.

Example:
  tamis mailbox setup anna@example.org
  tamis mailbox train
  tamis mailbox run"
)]
pub(crate) struct MailboxArgs {
    /// Command and options of tamis-mailbox
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Becomes the program beside this one, or the one that the shell would find. Without it, help says how to get it.
pub(crate) fn run(args: &MailboxArgs, mut tamis: clap::Command) -> Result<u8> {
    let beside = std::env::current_exe().ok().map(|tamis| tamis.with_file_name(PROGRAM));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(PROGRAM));
    let error = Command::new(&program).args(&args.arguments).exec();
    if error.kind() == io::ErrorKind::NotFound {
        if let ([], Some(help)) | ([_], Some(help)) =
            (&args.arguments[..], tamis.find_subcommand_mut("mailbox"))
            && args.arguments.iter().all(|argument| argument == "-h" || argument == "--help")
        {
            help.print_help().context("standard output")?;
            return Ok(0);
        }
        bail!("there is no {PROGRAM}; `cargo install --locked --path crates/mailbox` installs it");
    }
    Err(error).with_context(|| program.display().to_string())
}
