//! One shared model, and a small one of each user's own before it, which learns the user's corrections.
//!
//! Every line on standard input is a user, what to do (`score`, or `ham` or `spam` to correct) and a message:
//!
//! ```sh
//! tamis train -m shared.tamis ham=corpora/mail/ham spam=corpora/mail/spam
//! printf 'anna %s corpora/mail/inbox/01.eml\n' score ham score |
//!     cargo run -p tamis-train --example per_user -- shared.tamis users/
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use tamis_train::{Document, Filter, LearnOptions, Learner, Scratch};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(shared), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("expected a shared model and a folder for the users' own".into());
    };
    run(&shared, &folder, io::stdin().lock(), &mut io::stdout().lock())
}

/// Serves all lines, and prints what came of each.
pub(crate) fn run(
    shared: &Path,
    folder: &Path,
    lines: impl BufRead,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let shared = Arc::new(Filter::open(shared)?);
    let mut scratch = Scratch::default();
    for line in lines.lines() {
        let line = line?;
        let words: Vec<_> = line.splitn(3, ' ').collect();
        let [user, deed, path] = words[..] else {
            return Err(format!("expected USER score|LABEL MESSAGE, got {line:?}").into());
        };
        let (own, message) = (folder.join(format!("{user}.tamis")), fs::read(path)?);
        if deed == "score" {
            let filter = filter(&own, &shared)?;
            let score = filter.score_mail(&message, &mut scratch)?;
            writeln!(out, "{user}: {} {:.4} {path}", filter.label_of(&score), score.probability)?;
        } else {
            correct(&own, &shared, deed, &message)?;
            writeln!(out, "{user}: learned {deed} {path}")?;
        }
    }
    Ok(())
}

/// What a user's mail is scored with: the shared model alone while the user has corrected nothing. Opening a model is cheap.
fn filter(own: &Path, shared: &Arc<Filter>) -> tamis_train::Result<Arc<Filter>> {
    if !own.exists() {
        return Ok(Arc::clone(shared));
    }
    let mut filter = Filter::open(own)?;
    filter.set_fallback(Arc::clone(shared))?;
    Ok(Arc::new(filter))
}

/// Teaches a user's own model a message; the first one makes the model.
fn correct(own: &Path, shared: &Arc<Filter>, label: &str, message: &[u8]) -> tamis_train::Result<()> {
    let mut learner = Learner::create_behind(own, Arc::clone(shared), LearnOptions::default())?;
    learner.learn(label, Document::Mail(message))?;
    learner.commit().map(|_| ())
}
