//! `tamis label`

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_program::{counted, note, say, shown, shown_path};
use tamis_train::{LabelScore, Score};

use crate::args::{By, Format, InputArgs, ModelArgs, VerdictArgs};
use crate::formats::keep::{KeepColumns, KeptCells};
use crate::input::{Content, Corpus, CorpusScorer, Item, SourceScope, columns};
use crate::output::{DocumentVerdict, RowWriter, say_truncated};

#[derive(Args)]
#[command(after_help = "\
The columns of --keep come before those of the verdict, as they are; in JSON, values keep their types. \
If the rows have a column such as label, that of the verdict is called tamis_label. With --keep all, \
CSV and TSV have the columns of the first row.

A model of many labels gives a document any number of them: commas separate them, their probabilities \
and their log-odds in CSV and TSV; JSON has arrays.

CSV and TSV have unchanged paths. In JSON a path that is not UTF-8 is quoted as in bash, \
$'...', which --files-from accepts. --sort-into skips documents that are already there.

Example:
  tamis label articles/ > labels.csv
  tamis label tickets.csv --keep id,date > labels.csv
  tamis label --sort-into sorted --by link \"$HOME/Maildir\"")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Files, folders, mboxes, Maildirs, CSV, TSV, JSONL or a JSON array
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,
    /// Write each row at once and, if standard input (-) is a table, answer each of its lines before the next is read, as
    /// on a terminal. How a table is written is then judged by its first line. This takes longer
    #[arg(long)]
    line_buffered: bool,
    /// Add the probability of every label
    #[arg(long)]
    pub(crate) all: bool,
    /// Write these columns of each row before its verdict: their names, or all
    #[arg(long, value_name = "COLUMN,COLUMN|all", value_delimiter = ',')]
    keep: Vec<String>,
    /// File the documents into DIR/LABEL
    #[arg(long, value_name = "DIR")]
    pub(crate) sort_into: Option<PathBuf>,
    /// How --sort-into files documents
    #[arg(long, value_enum, default_value_t = By::Copy, requires = "sort_into")]
    pub(crate) by: By,
    // last, since its heading applies to everything after it
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

pub(crate) fn run(args: &LabelArgs) -> Result<u8> {
    let mut filter = args.model.open()?;
    args.decision.apply(&mut filter)?;
    if args.sort_into.is_some() {
        for (_, label) in filter.classes().iter().filter(|(_, label)| folder_name(label) != *label) {
            let name = folder_name(label);
            note!("--sort-into: documents of {} go to the folder {name}", shown(label));
        }
        if filter.has_many_labels() && args.by == By::Move {
            bail!("--by move: expected copy or link, since a document may have several labels");
        }
    }
    let recipe = filter.information().recipe;
    let keep = KeepColumns::of_names(&args.keep);
    let is_table = args.input.input_format.is_some() && args.input.list.files_from.is_none();
    // an encoder gets all lines before it answers the first
    let is_table = is_table && args.input.vectors.encoder.is_none();
    let is_by_line = is_table && args.paths == ["-"] && (args.line_buffered || io::stdout().is_terminal());
    let input = InputArgs { is_by_line, ..args.input.clone() };
    let corpus = Corpus::find_for(&args.paths, SourceScope::WhatIsThere, &input, recipe)?;
    let mut rows =
        RowWriter::new(args.format.delimiter(), args.all.then_some(filter.classes()), keep.is_some())?;
    let (mut not_filed, mut n_truncated, mut taken) = (0, 0, TakenNames::new());
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(CorpusScorer::new(&filter)),
        |scorer, item, _, document| {
            let score = scorer.score(document)?;
            let scratch = &scorer.scratch;
            let probabilities = if args.all { scratch.probabilities().to_vec() } else { Vec::new() };
            let (labels, truncated) = (scratch.labels().to_vec(), !scratch.limits_hit().is_empty());
            Ok(LabelRow { score, labels, probabilities, truncated, kept: item.kept(keep.as_ref())? })
        },
        |item, LabelRow { score, labels, probabilities, truncated, kept }| {
            let name = item.name();
            let verdict = DocumentVerdict::new(&filter, &name, &score, &labels, truncated);
            n_truncated += u64::from(truncated);
            rows.write(&verdict, &probabilities, kept)?;
            if is_by_line || args.line_buffered {
                rows.flush()?;
            }
            if let Some(directory) = &args.sort_into {
                // file a document only if the model did not change meanwhile
                filter.check_unchanged()?;
                let mut is_filed = true;
                for label in verdict.label.each() {
                    is_filed &= file(item, &directory.join(&*folder_name(label)), args.by, &mut taken)?;
                }
                not_filed += u64::from(!is_filed);
            }
            Ok(())
        },
    )?;
    filter.check_unchanged()?;
    rows.finish()?;
    columns::say_missing(recipe, &CorpusScorer::missing(&finished.states));
    say_truncated(n_truncated, recipe.kind);
    if not_filed > 0 {
        say!("tamis: labelled but not filed: {} inside larger files", counted(not_filed, "document"));
    }
    Ok(corpus.conclude(finished.unreadable))
}

/// A row of the output: the verdict on a document.
struct LabelRow {
    score: Score,
    labels: Vec<LabelScore>,
    /// Those of all labels, if they are asked for.
    probabilities: Vec<f64>,
    truncated: bool,
    kept: KeptCells,
}

/// The folder name of a label. Slashes, control characters, and the dots of `.` and `..` are escaped as in a URL, so
/// that the folder is always inside the one to sort into, whatever the model.
fn folder_name(label: &str) -> Cow<'_, str> {
    let is_dots = matches!(label, "." | "..");
    let is_bad = |c: char| c == '/' || c.is_control() || is_dots;
    if !label.contains(is_bad) {
        return Cow::Borrowed(label);
    }
    let escaped = |c: char| match is_bad(c) {
        true => c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
        false => c.to_string(),
    };
    label.chars().map(escaped).collect()
}

/// The names that were taken when documents were filed, and who has them.
type TakenNames = HashMap<PathBuf, Namesakes>;

/// Files a document into a folder. Returns `false` if the document is part of a larger file. Nothing is overwritten: if
/// another document has the name, this one gets a number.
fn file(item: &Item<'_>, folder: &Path, by: By, taken: &mut TakenNames) -> Result<bool> {
    let (Content::File, Some(name)) = (&item.content, item.file.path.file_name()) else { return Ok(false) };
    std::fs::create_dir_all(folder).with_context(|| shown_path(&folder))?;
    let filing = || format!("filing {}", shown_path(&item.name()));
    let source = item.file.path.canonicalize().with_context(filing)?;
    let target = folder.join(name);
    let is_new = !taken.contains_key(&target);
    match is_new.then(|| place(&source, &target, by)) {
        Some(Err(error)) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(filing);
        }
        Some(Ok(())) => return Ok(true),
        _ => (),
    }
    let namesakes = taken.entry(target.clone()).or_default();
    namesakes.file(&source, &target, by).map(|()| true).with_context(filing)
}

/// The documents of one name, which are numbered. Each is read once, so that filing takes as long as there are
/// documents.
#[derive(Default)]
struct Namesakes {
    /// The number that may be free.
    next: u64,
    /// The numbers below it, by the MD5 of their documents.
    numbers: HashMap<[u8; 16], u64>,
}

impl Namesakes {
    /// Files a document under the next free number, unless it is there already.
    fn file(&mut self, source: &Path, first: &Path, by: By) -> io::Result<()> {
        let digest = md5::compute(std::fs::read(source)?).0;
        if let Some(number) = self.numbers.get(&digest)
            && is_filed(source, &numbered(first, *number), by)?
        {
            return Ok(());
        }
        loop {
            let (number, target) = (self.next, numbered(first, self.next));
            let placed = place(source, &target, by);
            let is_taken = placed.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
            if !is_taken {
                placed?;
                self.numbers.insert(digest, number);
            } else if target.is_file() {
                self.numbers.insert(md5::compute(std::fs::read(&target)?).0, number);
            }
            self.next += 1;
            if !is_taken || self.numbers.get(&digest) == Some(&number) && is_filed(source, &target, by)? {
                return Ok(());
            }
        }
    }
}

/// The path with a number before its extension, unless the number is 0.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    if number > 0 {
        name.push(format!("-{number}"));
    }
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Whether the document, or one with equal content, is already there. If so, a document to be moved is removed from its
/// old place.
fn is_filed(source: &Path, target: &Path, by: By) -> io::Result<bool> {
    // a dangling link, or anything but a file, counts as another document
    let Ok(found) = target.canonicalize() else { return Ok(false) };
    if found == source {
        // a link does not preserve a document that is moved
        return Ok(by != By::Move || !target.is_symlink());
    }
    let is_equal = found.is_file()
        && source.metadata()?.len() == found.metadata()?.len()
        && std::fs::read(source)? == std::fs::read(found)?;
    if is_equal && by == By::Move {
        std::fs::remove_file(source)?;
    }
    Ok(is_equal)
}

fn place(source: &Path, target: &Path, by: By) -> io::Result<()> {
    match by {
        By::Link => std::os::unix::fs::symlink(source, target),
        By::Copy => copy(source, target),
        // unlike renaming, a hard link fails if the name is taken
        By::Move => match std::fs::hard_link(source, target) {
            // on the disk before the document is removed from its old place
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                copy(source, target).and_then(|()| std::fs::File::open(target)?.sync_all())
            }
            linked => linked,
        }
        .and_then(|()| std::fs::remove_file(source)),
    }
}

fn copy(source: &Path, target: &Path) -> io::Result<()> {
    let mut from = std::fs::File::open(source)?;
    let mut to = std::fs::File::create_new(target)?;
    io::copy(&mut from, &mut to).map(drop).inspect_err(|_| {
        // leave no incomplete copy behind
        let _ = std::fs::remove_file(target);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::holds::Holds;
    use crate::input::file::InputFile;

    #[test]
    fn labels_that_lead_elsewhere_are_escaped() {
        for (label, folder) in [
            ("..", "%2E%2E"),
            (".", "%2E"),
            ("/etc", "%2Fetc"),
            ("../up", "..%2Fup"),
            ("a/", "a%2F"),
            ("a\nb", "a%0Ab"),
            ("\u{85}", "%C2%85"),
        ] {
            assert_eq!(folder_name(label), folder);
        }
        for label in ["sci.space", "a b", "...", "100%"] {
            assert_eq!(folder_name(label), label);
        }
    }

    #[test]
    fn filing_never_overwrites() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("in/a.eml");
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        let (folder, mut taken) = (directory.path().join("spam"), TakenNames::new());
        for (by, content) in [(By::Copy, "1"), (By::Link, "2"), (By::Move, "3")] {
            std::fs::write(&source, content).unwrap();
            let place = InputFile::found(source.clone(), None, Holds::One);
            let item = Item { file: &place, number: None, member: None, at: 0, content: Content::File };
            assert!(file(&item, &folder, by, &mut taken).unwrap());
        }
        assert!(!source.exists());
        assert_eq!(std::fs::read_to_string(folder.join("a.eml")).unwrap(), "1");
        assert!(folder.join("a-1.eml").is_symlink());
        assert_eq!(std::fs::read_to_string(folder.join("a-2.eml")).unwrap(), "3");
    }

    #[test]
    fn documents_of_one_name_are_read_once_and_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let (folder, sources) = (directory.path().join("spam"), directory.path().join("in"));
        std::fs::create_dir(&sources).unwrap();
        let source = |i: usize| sources.join(i.to_string());
        (0..50).for_each(|i| std::fs::write(source(i), (i % 40).to_string()).unwrap());
        std::fs::create_dir(&folder).unwrap();
        let first = folder.join("a.eml");
        // the second time as another process
        for mut namesakes in [Namesakes::default(), Namesakes::default()] {
            (0..50).for_each(|i| namesakes.file(&source(i), &first, By::Copy).unwrap());
            assert_eq!((std::fs::read_dir(&folder).unwrap().count(), namesakes.next), (40, 40));
        }
        let mut namesakes = Namesakes::default();
        (0..50).for_each(|i| namesakes.file(&source(i), &first, By::Move).unwrap());
        assert!(std::fs::read_dir(&sources).unwrap().next().is_none());
        assert_eq!(std::fs::read_to_string(folder.join("a-39.eml")).unwrap(), "39");
    }
}
