//! What the user names on the command line, and the documents found there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use tamis_filter::{Kind, is_missing};
use tamis_mail::{looks_like_mail, maildir, mbox};
use walkdir::{DirEntry, WalkDir};

use crate::records::{Cells, Record, records};
use crate::shown::shown_path;

/// A source as named: a path, perhaps with a label before it.
pub(crate) struct Source {
    pub(crate) label: Option<String>,
    pub(crate) path: PathBuf,
}

impl Source {
    /// `LABEL=PATH` only where what stands before the first `=` has no `/` and the whole is no path that exists
    /// (names in a Maildir contain `=`).
    pub(crate) fn parse(argument: &str) -> Self {
        match argument.split_once('=') {
            Some((label, path))
                if !label.is_empty() && !label.contains('/') && !Path::new(argument).exists() =>
            {
                Source { label: Some(label.to_owned()), path: path.into() }
            }
            _ => Source { label: None, path: argument.into() },
        }
    }
}

/// One place where documents are: a file that is one, or a file that holds many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) holds: Holds,
}

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    /// One document.
    One,
    /// Messages one after the other.
    Mbox,
    /// Rows with columns for label and text, separated by commas.
    Csv,
    /// Rows separated by tabs, nothing quoted.
    Tsv,
    /// A JSON object a line.
    Jsonl,
}

impl Holds {
    /// Whether it is a table.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Holds::Csv | Holds::Tsv | Holds::Jsonl)
    }

    /// What a file named on the command line holds, by its name and, failing that, by its first bytes.
    fn of_named(path: &Path) -> Result<Holds> {
        Ok(match Holds::of_listed(path.as_os_str()) {
            Holds::One if !extension_is(path, &["eml", "msg", "txt"]) => {
                let start = read_start(path, 4096).with_context(|| shown_path(path))?;
                if mbox::looks_like_mbox(&start) { Holds::Mbox } else { Holds::One }
            }
            holds => holds,
        })
    }

    /// What a file found in a folder holds: by its name only, because a message of its own may begin as an mbox does.
    fn of_listed(name: &OsStr) -> Holds {
        let path = Path::new(name);
        // most names have no such ending: one look is enough
        let mut end = name.as_encoded_bytes().iter().rev().take(7);
        if !end.any(|byte| *byte == b'.') {
            Holds::One
        } else if extension_is(path, &["csv"]) {
            Holds::Csv
        } else if extension_is(path, &["tsv"]) {
            Holds::Tsv
        } else if extension_is(path, &["jsonl", "ndjson"]) {
            Holds::Jsonl
        } else if extension_is(path, &["mbox", "mbx"]) {
            Holds::Mbox
        } else {
            Holds::One
        }
    }
}

fn extension_is(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|e| extensions.iter().any(|known| e.eq_ignore_ascii_case(known)))
}

pub(crate) fn read_start(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut start)?;
    Ok(start)
}

/// The documents of one source.
pub(crate) struct Found {
    pub(crate) places: Vec<Place>,
    pub(crate) kind: Kind,
    /// Files at the top of a folder of labels, which have none.
    pub(crate) unlabelled: usize,
    /// What could not even be listed.
    pub(crate) unreadable: Vec<String>,
}

/// Lists the documents of a source in a stable order. `labelled` says whether each must have a label.
pub(crate) fn find(source: &Source, labelled: bool, forced: Option<Kind>) -> Result<Found> {
    let path = &source.path;
    let label = source.label.as_deref().map(Arc::from);
    let metadata = std::fs::metadata(path).with_context(|| shown_path(path))?;
    let mut listing = Listing::default();
    let mut is_mail = false;
    if metadata.is_dir() {
        if maildir::is_maildir(path) {
            is_mail = true;
            listing.maildir(path, label);
        } else if label.is_some() || !labelled {
            listing.folder(path, label);
        } else {
            listing.folder_of_labels(path)?;
        }
    } else {
        listing.places.push(Place { path: path.clone(), label, holds: Holds::of_named(path)? });
    }
    let without_label = |p: &&Place| p.label.is_none() && matches!(p.holds, Holds::One | Holds::Mbox);
    if let Some(place) = listing.places.iter().find(without_label).filter(|_| labelled) {
        bail!("{}: expected a label, as in LABEL={}", shown_path(&place.path), shown_path(path));
    }
    let kind = forced.unwrap_or_else(|| if is_mail { Kind::Mail } else { recognise(&listing.places) });
    Ok(Found { places: listing.places, kind, unlabelled: listing.unlabelled, unreadable: listing.unreadable })
}

#[derive(Default)]
struct Listing {
    places: Vec<Place>,
    unlabelled: usize,
    unreadable: Vec<String>,
}

impl Listing {
    fn maildir(&mut self, path: &Path, label: Option<Arc<str>>) {
        match maildir::messages(path) {
            Ok(messages) => self.places.extend(messages.into_iter().map(|path| Place {
                path,
                label: label.clone(),
                holds: Holds::One,
            })),
            Err(error) => self.unreadable.push(format!("{}: {error}", shown_path(path))),
        }
    }

    /// Every file below a folder, hidden ones left out, a Maildir's messages among them.
    fn folder(&mut self, path: &Path, label: Option<Arc<str>>) {
        // by path, which those in a folder share but for their names: taking names apart costs more
        let by_name = |a: &DirEntry, b: &DirEntry| a.path().as_os_str().cmp(b.path().as_os_str());
        let mut walk = WalkDir::new(path).follow_links(true).sort_by(by_name).into_iter();
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unreadable.push(error.to_string());
                    continue;
                }
            };
            let name = entry.file_name();
            let hidden = entry.depth() > 0 && name.as_encoded_bytes().starts_with(b".");
            if entry.file_type().is_dir() {
                if hidden {
                    walk.skip_current_dir();
                } else if maildir::is_maildir(entry.path()) {
                    self.maildir(entry.path(), label.clone());
                    walk.skip_current_dir();
                }
            } else if !hidden {
                let holds = Holds::of_listed(name);
                self.places.push(Place { path: entry.into_path(), label: label.clone(), holds });
            }
        }
    }

    /// A folder whose folders are labels; or, if it has none, whose own name is the label of its files.
    fn folder_of_labels(&mut self, path: &Path) -> Result<()> {
        let list = || -> std::io::Result<Vec<PathBuf>> {
            let mut children =
                std::fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
            children.retain(|c| !c.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b".")));
            children.sort();
            Ok(children)
        };
        let (folders, files): (Vec<_>, Vec<_>) =
            list().with_context(|| shown_path(path))?.into_iter().partition(|child| child.is_dir());
        if folders.is_empty() {
            self.folder(path, Some(label_from_name(path)?));
            return Ok(());
        }
        self.unlabelled += files.len();
        for folder in folders {
            self.folder(&folder, Some(label_from_name(&folder)?));
        }
        Ok(())
    }
}

fn label_from_name(path: &Path) -> Result<Arc<str>> {
    let absolute = path.canonicalize().with_context(|| shown_path(path))?;
    let name = if path.file_name().is_some() { path } else { &absolute };
    name.file_name()
        .and_then(|name| name.to_str())
        .map(Arc::from)
        .ok_or_else(|| anyhow!("{}: expected a folder whose name, a label, is UTF-8", shown_path(path)))
}

/// Mail or text, by a sample of the documents spread over the whole.
fn recognise(places: &[Place]) -> Kind {
    const SAMPLE: usize = 25;
    let step = places.len().div_ceil(SAMPLE).max(1);
    let (mut mail, mut text) = (0, 0);
    for place in places.iter().step_by(step) {
        match place.holds {
            Holds::Mbox => mail += 1,
            Holds::Csv | Holds::Tsv | Holds::Jsonl => text += 1,
            Holds::One => match read_start(&place.path, 64 * 1024) {
                Ok(start) if looks_like_mail(&start) => mail += 1,
                Ok(start) if !start.is_empty() => text += 1,
                _ => (),
            },
        }
    }
    if mail > text { Kind::Mail } else { Kind::Text }
}

/// A document that was found: its name for people, its label, its bytes or where to read them.
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) content: Content,
}

/// The content of a document.
pub(crate) enum Content {
    /// A file that holds nothing else.
    File,
    /// A message of an mbox.
    Mail(Vec<u8>),
    /// The text of a row of a table.
    Text(String),
    /// A whole row of a table.
    Row(Cells),
    /// Nothing that can be read, and why.
    Unreadable(String),
}

/// The columns of label and text, as the user named them.
pub(crate) struct Columns<'a> {
    pub(crate) label: &'a str,
    pub(crate) text: &'a str,
}

/// What is read of a table.
pub(crate) enum Layout<'a> {
    /// A label and a text.
    Text(Columns<'a>),
    /// Every cell; the label is that of the target, which the rows must have if `labelled`.
    Rows { target: Option<&'a str>, labelled: bool },
}

impl Layout<'_> {
    /// The label of a row.
    fn label(&self, cells: &Cells) -> Option<Arc<str>> {
        let Layout::Rows { target: Some(target), .. } = self else { return None };
        let (_, label) = cells.iter().find(|(name, _)| **name == **target)?;
        Some(label.trim()).filter(|label| !is_missing(label)).map(Arc::from)
    }
}

/// Lists the tables of a source.
pub(crate) fn find_tables(source: &Source) -> Result<Found> {
    let found = find(source, false, Some(Kind::Table))?;
    match found.places.iter().find(|place| !place.holds.is_table()) {
        Some(place) => bail!("{}: expected a table, .csv, .tsv or .jsonl", shown_path(&place.path)),
        None => Ok(found),
    }
}

/// The rows of a table, whole. `needed` is a column that they must have.
pub(crate) fn whole_rows(place: &Place, needed: Option<&str>) -> Result<Box<dyn Iterator<Item = Record>>> {
    let name = || shown_path(&place.path);
    let file = File::open(&place.path).with_context(name)?;
    records(BufReader::new(file), place.holds, needed).with_context(name)
}

/// Goes through the documents of a place, in order.
pub(crate) fn items<'a>(
    place: &'a Place,
    layout: &'a Layout<'a>,
    most_bytes: usize,
) -> Result<Box<dyn Iterator<Item = Item> + 'a>> {
    let path = &place.path;
    let item = move |name: String, label: Option<Arc<str>>, content: Content| Item {
        name,
        path: path.clone(),
        label: place.label.clone().or(label),
        content,
    };
    let name = path.display().to_string();
    let open = || File::open(path).map(BufReader::new).with_context(|| shown_path(path));
    Ok(match (place.holds, layout) {
        (Holds::One, _) => Box::new(std::iter::once(item(name, None, Content::File))),
        (Holds::Mbox, _) => {
            Box::new(mbox::Reader::new(open()?, most_bytes).enumerate().map(move |(i, entry)| match entry {
                Ok(entry) => item(format!("{name}:{}", entry.number), None, Content::Mail(entry.bytes)),
                Err(error) => item(format!("{name}:{}", i + 1), None, Content::Unreadable(error.to_string())),
            }))
        }
        (Holds::Csv | Holds::Tsv | Holds::Jsonl, Layout::Rows { target, labelled }) => {
            let rows = whole_rows(place, target.filter(|_| *labelled))?;
            Box::new(rows.map(move |Record { line, content }| {
                let name = format!("{name}:{line}");
                match content {
                    Ok(cells) => item(name, layout.label(&cells), Content::Row(cells)),
                    Err(error) => item(name, None, Content::Unreadable(error)),
                }
            }))
        }
        (Holds::Csv | Holds::Tsv | Holds::Jsonl, Layout::Text(columns)) => {
            let rows = crate::table::rows(open()?, place.holds, columns).with_context(|| name.clone())?;
            Box::new(rows.map(move |row| match row.content {
                Ok((label, text)) => {
                    item(format!("{name}:{}", row.line), label.map(Arc::from), Content::Text(text))
                }
                Err(error) => item(format!("{name}:{}", row.line), None, Content::Unreadable(error)),
            }))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_before_the_first_equals_sign() {
        let source = Source::parse("ham=a/b=c");
        assert_eq!((source.label.as_deref(), source.path.as_path()), (Some("ham"), Path::new("a/b=c")));
        let source = Source::parse("cur/1.M2,S=3:2,S");
        assert_eq!((source.label, source.path.as_path()), (None, Path::new("cur/1.M2,S=3:2,S")));
    }

    #[test]
    fn a_path_that_exists_is_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.M2,S=3");
        std::fs::write(&path, "x").unwrap();
        assert!(Source::parse(path.to_str().unwrap()).label.is_none());
    }

    #[test]
    fn folders_are_labels_and_maildirs_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in [
            "train/a/1.txt",
            "train/b/deep/2.txt",
            "train/b/.hidden",
            "train/README",
            "box/cur/m1:2,S",
            "box/new/m2",
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "words").unwrap();
        }
        let labels = |argument: String, labelled| {
            let found = find(&Source::parse(&argument), labelled, None)?;
            let labels =
                found.places.iter().map(|p| p.label.as_deref().unwrap_or("-").to_owned()).collect::<Vec<_>>();
            Ok::<_, anyhow::Error>((labels, found.unlabelled))
        };
        let root = root.display();
        assert_eq!(labels(format!("{root}/train"), true).unwrap(), (vec!["a".into(), "b".into()], 1));
        assert_eq!(labels(format!("{root}/train/a"), true).unwrap(), (vec!["a".into()], 0));
        assert_eq!(labels(format!("{root}/train"), false).unwrap().0, ["-", "-", "-"]);
        assert_eq!(labels(format!("ham={root}/box"), true).unwrap().0, ["ham", "ham"]);
        let error = labels(format!("{root}/box"), true).unwrap_err().to_string();
        assert!(error.contains("LABEL="), "{error}");
    }
}
