//! The program `bogofilter`: tamis under that name only.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    tamis_program::keep_lost_pages();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(tamis_bogofilter::run(&arguments))
}
