//! Prints the text of documents: `cargo run -p tamis-documents --example text -- FILE...`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

use tamis_documents::{Format, Limits, text_of};

fn main() -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for path in std::env::args_os().skip(1) {
        let path = std::path::PathBuf::from(path);
        let read = std::fs::read(&path).map_err(|error| error.to_string());
        match read.and_then(|bytes| {
            let text = text_of(&bytes, &Limits::default()).map_err(|error| error.to_string())?;
            Ok((Format::of(&bytes).map_or("", |format| format.name()), text))
        }) {
            Ok((format, text)) => {
                eprintln!(
                    "{}: {format}, {} links{}",
                    path.display(),
                    text.links.len(),
                    if text.is_cut { ", cut off" } else { "" }
                );
                println!("{}", text.text);
            }
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                status = ExitCode::from(3);
            }
        }
    }
    status
}
