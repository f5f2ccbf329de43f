//! What the user names on the command line, and the documents found there.

mod items;
mod listing;
mod reading;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tamis_filter::Kind;
use tamis_mail::{looks_like_mail, maildir};

use crate::shown::shown_path;

pub(crate) use items::{Columns, Content, Item, Layout, find_tables, items, label_of, part, whole_rows};
pub(crate) use listing::LeftOut;
use listing::Listing;
pub(crate) use reading::{Contents, Stream, foreign, foreign_in_folder, read_document};

/// A source as named: a path, `-` for standard input, perhaps with a label before it.
pub(crate) struct Source {
    pub(crate) label: Option<String>,
    pub(crate) path: PathBuf,
}

impl Source {
    /// `LABEL=PATH` only where what stands before the first `=` has no `/` and the whole is no path that exists
    /// (names in a Maildir contain `=`).
    pub(crate) fn parse(argument: &OsStr) -> Self {
        let bytes = argument.as_encoded_bytes();
        let label =
            bytes.iter().position(|byte| *byte == b'=').and_then(|end| str::from_utf8(&bytes[..end]).ok());
        match label {
            Some(label) if !label.is_empty() && !label.contains('/') && !Path::new(argument).exists() => {
                Source { label: Some(label.to_owned()), path: after(argument, label.len() + 1).into() }
            }
            _ => Source { label: None, path: argument.into() },
        }
    }
}

/// What follows the first bytes of an argument, which are UTF-8.
fn after(argument: &OsStr, length: usize) -> OsString {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        OsStr::from_bytes(&argument.as_bytes()[length..]).to_owned()
    }
    #[cfg(not(unix))]
    argument.to_string_lossy()[length..].into()
}

/// One place where documents are: a file that is one, or a file that holds many.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) holds: Holds,
    /// Whether the user named it; else it was found in a folder.
    pub(crate) named: bool,
    /// What is no regular file and so can be read only once.
    pub(crate) once: Option<Once>,
    /// The file's number on its disk, where listing told it.
    pub(crate) inode: Option<u64>,
}

/// A stream that is taken when its turn comes.
#[derive(Clone)]
pub(crate) struct Once(Arc<Mutex<Option<Stream>>>);

impl Place {
    /// A file that was found in a folder.
    pub(crate) fn found(path: PathBuf, label: Option<Arc<str>>, holds: Holds) -> Self {
        Place { path, label, holds, named: false, once: None, inode: None }
    }

    /// What a stream holds, whose path is only a name.
    pub(crate) fn of_stream(path: &Path, stream: Stream, mbox: bool) -> Self {
        let holds = match Holds::of_name(path.as_os_str()) {
            Holds::One if mbox || stream.is_mbox() => Holds::Mbox,
            holds => holds,
        };
        let once = Some(Once(Arc::new(Mutex::new(Some(stream)))));
        Place { path: path.to_owned(), label: None, holds, named: true, once, inode: None }
    }

    /// The stream, if it is one.
    pub(crate) fn take_stream(&self) -> Result<Option<Stream>> {
        let Some(Once(once)) = &self.once else { return Ok(None) };
        match once.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(stream) => Ok(Some(stream)),
            None => bail!("{}: expected a file, which can be read twice", shown_path(&self.path)),
        }
    }

    /// Opens what holds many documents for reading, unpacked.
    pub(crate) fn open(&self) -> Result<Box<dyn std::io::BufRead + Send>> {
        Ok(match self.take_stream()? {
            Some(stream) => stream.into_reader(),
            None => reading::open(&self.path).with_context(|| shown_path(&self.path))?,
        })
    }

    /// What a document begins with, as far as can be read.
    fn start(&self) -> Vec<u8> {
        const MOST: usize = 64 << 10;
        match &self.once {
            Some(Once(once)) => match &*once.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(stream) => stream.start()[..stream.start().len().min(MOST)].to_vec(),
                None => Vec::new(),
            },
            None => reading::read_start(&self.path, MOST as u64).unwrap_or_default(),
        }
    }
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
    fn of_named(path: &Path, mbox: bool) -> Result<Holds> {
        Ok(match Holds::of_name(path.as_os_str()) {
            Holds::One if mbox => Holds::Mbox,
            Holds::One if !extension_is(path, &["eml", "msg", "txt"]) => {
                let context = || shown_path(&path);
                let start = reading::read_start(path, 4096).with_context(context)?;
                let is_mbox = tamis_mail::mbox::looks_like_mbox(&start)
                    && Stream::of(path).with_context(context)?.is_mbox();
                if is_mbox { Holds::Mbox } else { Holds::One }
            }
            holds => holds,
        })
    }

    /// What a file holds by its name. A file found in a folder is known by that only, because a message of its own may
    /// begin as an mbox does.
    fn of_name(name: &OsStr) -> Holds {
        let mut path = Path::new(name);
        // most names have no such ending, which takes less to see than what a path's extension is
        let ending = name.as_encoded_bytes().rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let endings = ["gz", "csv", "tsv", "jsonl", "ndjson", "mbox", "mbx"];
        if !endings.iter().any(|known| ending.eq_ignore_ascii_case(known.as_bytes())) {
            return Holds::One;
        }
        if extension_is(path, &["gz"]) {
            path = Path::new(path.file_stem().unwrap_or_default());
        }
        if extension_is(path, &["csv"]) {
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

/// The documents of one source.
pub(crate) struct Found {
    pub(crate) places: Vec<Place>,
    /// What they are; a single document is what the others are, or what the model is of.
    pub(crate) kind: Option<Kind>,
    pub(crate) left_out: LeftOut,
    /// What could not even be listed.
    pub(crate) unreadable: Vec<String>,
}

/// Lists the documents of a source in a stable order. `labelled` says whether each must have a label.
///
/// `kind` is what they are if that is settled, and `mbox` whether a single file or standard input is an mbox.
pub(crate) fn find(
    source: &Source,
    labelled: bool,
    kind: Option<Kind>,
    (mbox, format): (bool, Option<Holds>),
) -> Result<Found> {
    let path = &source.path;
    let label = source.label.as_deref().map(Arc::from);
    let mut listing = Listing::default();
    let is_input = path.as_os_str() == "-";
    let metadata =
        if is_input { None } else { Some(std::fs::metadata(path).with_context(|| shown_path(&path))?) };
    let is_folder = metadata.as_ref().is_some_and(|metadata| metadata.is_dir());
    let is_maildir = is_folder && maildir::is_maildir(path);
    if is_maildir {
        listing.maildir(path, label);
    } else if is_folder && (label.is_some() || !labelled) {
        listing.folder(path, label);
    } else if is_folder {
        listing.folder_of_labels(path)?;
    } else {
        let place = match metadata {
            Some(metadata) if metadata.is_file() => {
                Place { named: true, ..Place::found(path.clone(), None, Holds::of_named(path, mbox)?) }
            }
            _ => {
                let stream = Stream::of(path).with_context(|| shown_path(&path))?;
                Place::of_stream(path, stream, mbox)
            }
        };
        listing.places.push(Place { label, holds: format.unwrap_or(place.holds), ..place });
    }
    let without_label = |p: &&Place| p.label.is_none() && !p.holds.is_table();
    if let Some(place) = listing.places.iter().find(without_label).filter(|_| labelled) {
        bail!("{}: expected a label, as in LABEL={}", shown_path(&place.path), shown_path(path));
    }
    let kind = match &listing.places[..] {
        _ if kind.is_some() => kind,
        _ if is_maildir => Some(Kind::Mail),
        [Place { named: true, holds: Holds::One, .. }] => None,
        [] => None,
        places => Some(recognise(places)),
    };
    if is_folder && kind == Some(Kind::Mail) {
        listing.leave_tables_out();
    }
    let Listing { places, left_out, unreadable } = listing;
    Ok(Found { places, kind, left_out, unreadable })
}

/// Mail or text, by a sample of the documents spread over the whole; by tables only where nothing else is.
pub(crate) fn recognise(places: &[Place]) -> Kind {
    const SAMPLE: usize = 25;
    let documents: Vec<_> = places.iter().filter(|place| !place.holds.is_table()).collect();
    let step = documents.len().div_ceil(SAMPLE).max(1);
    let (mut mail, mut text) = (0, 0);
    for place in documents.into_iter().step_by(step) {
        let start = if place.holds == Holds::Mbox { Vec::new() } else { place.start() };
        if place.holds == Holds::Mbox || looks_like_mail(&start) {
            mail += 1;
        } else if !start.is_empty() && foreign_in_folder(&start).is_none() {
            text += 1;
        }
    }
    if mail > text { Kind::Mail } else { Kind::Text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_before_the_first_equals_sign() {
        let source = Source::parse("ham=a/b=c".as_ref());
        assert_eq!((source.label.as_deref(), source.path.as_path()), (Some("ham"), Path::new("a/b=c")));
        let source = Source::parse("cur/1.M2,S=3:2,S".as_ref());
        assert_eq!((source.label, source.path.as_path()), (None, Path::new("cur/1.M2,S=3:2,S")));
    }

    #[test]
    fn a_path_that_exists_is_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.M2,S=3");
        std::fs::write(&path, "x").unwrap();
        assert!(Source::parse(path.as_os_str()).label.is_none());
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
            let found = find(&Source::parse(argument.as_ref()), labelled, None, (false, None))?;
            let labels =
                found.places.iter().map(|p| p.label.as_deref().unwrap_or("-").to_owned()).collect::<Vec<_>>();
            Ok::<_, anyhow::Error>((labels, found.left_out.describe().unwrap_or_default()))
        };
        let root = root.display();
        assert_eq!(
            labels(format!("{root}/train"), true).unwrap(),
            (
                vec!["a".into(), "b".into()],
                "1 file beside the folders of labels, 1 hidden file or folder".into()
            )
        );
        assert_eq!(labels(format!("{root}/train/a"), true).unwrap(), (vec!["a".into()], String::new()));
        assert_eq!(labels(format!("{root}/train"), false).unwrap().0, ["-", "-", "-"]);
        assert_eq!(labels(format!("ham={root}/box"), true).unwrap().0, ["ham", "ham"]);
        let error = labels(format!("{root}/box"), true).unwrap_err().to_string();
        assert!(error.contains("LABEL="), "{error}");
    }
}
