//! Scores mail messages, one verdict a line. The model is opened once, and one `Scratch` serves all messages.
//!
//! ```sh
//! tamis train -m mail.tamis ham=corpora/mail/ham spam=corpora/mail/spam
//! cargo run -p tamis-train --example score_in_a_loop -- mail.tamis corpora/mail/inbox/*.eml
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use tamis_train::{Filter, Scratch};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let model = arguments.next().ok_or("expected a model and messages")?;
    run(&model, &arguments.collect::<Vec<_>>(), &mut io::stdout().lock())
}

/// Prints verdict, probability, log-odds and path of each message.
pub(crate) fn run(model: &Path, messages: &[PathBuf], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut filter = Filter::open(model)?;
    let mut scratch = Scratch::default();
    for path in messages {
        // whoever trains a new model renames it over the old one
        if let Some(new) = filter.reopened()? {
            filter = new;
        }
        let score = filter.score_mail(&fs::read(path)?, &mut scratch)?;
        let label = filter.label_of(&score);
        write!(out, "{label} {:.4} {:+.2} {}", score.probability, score.log_odds, path.display())?;
        let limits = scratch.limits_hit();
        if !limits.is_empty() {
            write!(out, " (read in part: {limits})")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
