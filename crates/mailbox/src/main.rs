//! `tamis-mailbox`, which `tamis mailbox` calls.

use std::process::ExitCode;

use clap::Parser;
use tamis_mailbox::{AgentArgs, ImapError};
use tamis_program::{ERROR, is_closed_pipe, keep_lost_pages, say, survive_file_limits, told};

/// The exit status after a refused login, EX_NOPERM of sysexits.h: starting again at once would not help.
const REFUSED: u8 = 77;

fn main() -> ExitCode {
    keep_lost_pages();
    // a disk that is full is an error, not the end
    survive_file_limits();
    tamis_train::return_large_blocks();
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        say!("tamis-mailbox: a defect{at}: {}", panic.payload_as_str().unwrap_or("no message"));
    }));
    let arguments = AgentArgs::parse();
    match tamis_mailbox::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say!("tamis-mailbox: {}", told(&error));
            let is_refused = matches!(error.downcast_ref(), Some(ImapError::Login(_)));
            ExitCode::from(if is_refused { REFUSED } else { ERROR })
        }
    }
}
