//! Trains on a folder of folders, each of which is a label, and labels other texts, with the probability of every label.
//!
//! ```sh
//! cargo run -p tamis-train --example train_and_label -- corpora/topics/train corpora/topics/test/cooking/*
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let corpus = arguments.next().ok_or("expected a folder of labels and texts")?;
    run(&corpus, &arguments.collect::<Vec<_>>(), &mut io::stdout().lock())
}

/// Prints the path of each text, its label, and all labels with their probabilities.
pub(crate) fn run(corpus: &Path, texts: &[PathBuf], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let filter = train(corpus)?;
    let mut scratch = Scratch::default();
    for path in texts {
        let score = filter.score_text(&read(path)?, &mut scratch)?;
        write!(out, "{} {}:", path.display(), filter.label_of(&score))?;
        for ((_, label), probability) in filter.classes().iter().zip(scratch.probabilities()) {
            write!(out, " {label} {probability:.3}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A filter that has learned every file of `corpus/LABEL`.
fn train(corpus: &Path) -> Result<Filter, Box<dyn Error>> {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    for folder in fs::read_dir(corpus)? {
        let folder = folder?;
        let label = folder.file_name().into_string().map_err(|name| format!("no label: {name:?}"))?;
        for file in fs::read_dir(folder.path())? {
            trainer.add(&label, Document::Text(&read(&file?.path())?))?;
        }
    }
    Ok(trainer.finish()?.into_filter()?)
}

/// A text, whatever its bytes: what is not UTF-8 becomes U+FFFD.
fn read(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
