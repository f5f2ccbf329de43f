//! Finds the documents of a source.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use memchr::memmem;
use rayon::prelude::*;
use tamis_documents::Format;
use tamis_mail::mbox::looks_like_mbox;
use tamis_mail::{lacks_header, looks_like_mail, maildir, not_mail};
use tamis_program::{Stream, read_start, shown, shown_path};
use tamis_train::Kind;

use crate::formats::holds::{Holds, extension, extension_is};
use crate::formats::json::{begins_array, begins_object_line};
use crate::formats::record::looks_like_fasttext;
use crate::input::file::{InputFile, SourceArg, SourceScope};
use crate::input::listing::SourceFiles;
use crate::input::reading::foreign;

/// Lists the documents of a source in a stable order. `wanted` says whether each must have a label, and whether links
/// may lead out of a folder.
///
/// `kind` is the kind of the documents if it is known. `mbox` and `format` are the format of a single file or of standard
/// input.
pub(crate) fn find(
    source: &SourceArg,
    wanted: SourceScope,
    kind: Option<Kind>,
    mbox: bool,
    format: Option<Holds>,
) -> Result<SourceFiles> {
    let path = &source.path;
    let label = source.label.as_deref().map(Arc::from);
    let labelled = wanted == SourceScope::Labelled;
    let mut listing = SourceFiles::default();
    if wanted == SourceScope::Inside {
        listing.inside = path.canonicalize().ok();
    }
    let is_input = path.as_os_str() == "-";
    let metadata =
        if is_input { None } else { Some(std::fs::metadata(path).with_context(|| shown_path(&path))?) };
    let is_folder = metadata.as_ref().is_some_and(|metadata| metadata.is_dir());
    let is_maildir = is_folder && maildir::is_maildir(path);
    if is_maildir {
        listing.maildir(path, label, None);
    } else if is_folder && (label.is_some() || !labelled) {
        listing.folder(path, label);
    } else if is_folder {
        listing.folder_of_labels(path)?;
    } else {
        let file = match metadata.is_some_and(|metadata| metadata.is_file()) {
            true => InputFile { named: true, ..InputFile::found(path.clone(), None, holds_of(path, mbox)?) },
            false => InputFile::of_stream(path, Stream::open(path).with_context(|| shown_path(&path))?, mbox),
        };
        let is_one = file.holds == Holds::One && kind != Some(Kind::Mail);
        let may_be_rows = is_one && matches!(wanted, SourceScope::Labelled | SourceScope::WhatIsThere);
        let is_workbook =
            is_one && file.once.is_none() && extension_is(path, &["xlsx", "xlsb", "xls", "ods"]);
        let is_table = || kind == Some(Kind::Table) || labelled && label.is_none() || has_text_column(&file);
        let holds = match format {
            Some(format) => format,
            None if is_workbook && is_table() => Holds::Sheet,
            None if may_be_rows && looks_like_fasttext(&file.start()) => Holds::FastText,
            None => file.holds,
        };
        listing.files.push(InputFile { label, holds, ..file });
    }
    if is_folder {
        let may_be_mbox = |file: &&mut InputFile| !file.holds.is_table() && !file.in_maildir;
        // what cannot be read is reported when it is its turn
        listing.files.par_iter_mut().filter(may_be_mbox).for_each(|file| {
            file.holds = mbox_or_one(&file.path, file.holds, false).unwrap_or(file.holds);
        });
        if wanted != SourceScope::WhatIsThere {
            // by their names
            let is_deleted = |file: &InputFile| file.path.file_name().is_some_and(maildir::is_deleted);
            listing.leave_out("deleted message", is_deleted);
        }
    }
    let without_label = |p: &&InputFile| p.label.is_none() && matches!(p.holds, Holds::One | Holds::Mbox);
    if let Some(file) = listing.files.iter().find(without_label).filter(|_| labelled) {
        if let Some(what) = foreign(&file.start()) {
            bail!("{}: expected labelled documents, got {what}", shown_path(&file.path));
        }
        bail!("{}: expected a label, as in LABEL={}", shown_path(&file.path), shown_path(path));
    }
    listing.kind = match &listing.files[..] {
        _ if kind.is_some() => kind,
        _ if is_maildir => Some(Kind::Mail),
        [InputFile { named: true, holds: Holds::One, .. }] => None,
        [] => None,
        files => recognise(files).with_context(|| shown_path(&path))?,
    };
    if is_folder && listing.kind == Some(Kind::Mail) {
        listing.leave_out("table", |file| file.holds.is_table());
    }
    Ok(listing)
}

/// Recognises mail or text from a sample of documents spread over all files: `None` if they are neither. Tables are text
/// if there is nothing else.
///
/// # Errors
/// If most names say that the documents are mail and their contents that they are text, or if all documents of a label
/// are mail and all of another are text.
pub(crate) fn recognise(files: &[InputFile]) -> Result<Option<Kind>> {
    const SAMPLE: usize = 25;
    let documents: Vec<_> = files.iter().filter(|file| !file.holds.is_table()).collect();
    let step = documents.len().div_ceil(SAMPLE).max(1);
    // per label, the number of mails, of texts with a header and of other texts
    let mut labels = BTreeMap::<_, [u32; 3]>::new();
    let mut named = 0;
    for file in documents.iter().step_by(step) {
        let (start, is_mbox) = (file.start(), file.holds == Holds::Mbox);
        let has_header = !lacks_header(&start);
        let is_mail = is_mbox || looks_like_mail(&start) || has_header && file.is_mail_by_name();
        if is_mail || !start.is_empty() && foreign(&start).is_none() {
            let kind = if is_mail { 0 } else { 2 - usize::from(has_header) };
            // an mbox has many messages, unless it is damaged
            labels.entry(&file.label).or_default()[kind] += if is_mbox && !start.is_empty() { 3 } else { 1 };
            named += u32::from(file.is_mail_by_name());
        }
    }
    let choose = "choose with --as mail or --as text";
    let is_all = |of: &[u32; 3], kind: usize| of[kind] > 1 && of[kind] == of.iter().sum::<u32>();
    let label_of = |kind| labels.iter().find_map(|(label, of)| label.as_ref().filter(|_| is_all(of, kind)));
    if let (Some(mail), Some(text)) = (label_of(0), label_of(2)) {
        let (mail, text) = (shown(mail), shown(text));
        bail!("expected documents of one kind, got mail under {mail} and text under {text}; {choose}");
    }
    let (all, mail) = (labels.values().flatten().sum::<u32>(), labels.values().map(|of| of[0]).sum::<u32>());
    if 2 * mail < all && 2 * named > all {
        bail!("expected mail, as most names of files say, got text; {choose}");
    }
    Ok(match all {
        0 if !documents.is_empty() => None,
        _ if mail > 0 && 2 * mail >= all => Some(Kind::Mail),
        _ => Some(Kind::Text),
    })
}

/// The contents of a file named on the command line, from its name or else from its first bytes.
pub(crate) fn holds_of(path: &Path, mbox: bool) -> Result<Holds> {
    Ok(match Holds::of_name(path.as_os_str()) {
        Holds::One if mbox => Holds::Mbox,
        Holds::One if extension(path).eq_ignore_ascii_case("json") => {
            let start = read_start(path, 64 << 10).with_context(|| shown_path(&path))?;
            // any other JSON is one document
            match () {
                () if begins_array(&start) => Holds::Json,
                () if begins_object_line(&start) || start.trim_ascii().is_empty() => Holds::Jsonl,
                () => Holds::One,
            }
        }
        holds if holds.is_table() => holds,
        holds => mbox_or_one(path, holds, true).with_context(|| shown_path(&path))?,
    })
}

/// Whether the first row of a workbook names a column of text, so that it is a table and not a document.
fn has_text_column(file: &InputFile) -> bool {
    let rows = InputFile { holds: Holds::Sheet, ..file.clone() }.open();
    let mut names = Vec::new();
    rows.is_ok_and(|mut rows| rows.read_until(b'\n', &mut names).is_ok())
        && memmem::find(&names.to_ascii_lowercase(), b"\"text\"").is_some()
}

/// Whether a file with this beginning is a zip archive of other files. A message can begin with any bytes.
fn is_archive(start: &[u8]) -> bool {
    Format::of(start) == Some(Format::Zip) && not_mail(start).is_some()
}

/// Whether a file, which by its name holds `by_name`, holds the messages of an mbox or is one document. What is found in a
/// folder is looked at only if its name does not say that it is one.
fn mbox_or_one(path: &Path, by_name: Holds, named: bool) -> io::Result<Holds> {
    if by_name == Holds::One && !named && extension_is(path, &["eml", "emlx", "msg", "txt"]) {
        return Ok(Holds::One);
    }
    let start = read_start(path, 4096)?;
    Ok(match by_name {
        Holds::Mbox if not_mail(&start).is_none() => Holds::Mbox,
        Holds::Archive | Holds::One if is_archive(&start) && (named || by_name == Holds::Archive) => {
            Holds::Archive
        }
        Holds::One if looks_like_mbox(&start) && Stream::open(path)?.is_mbox() => Holds::Mbox,
        _ => Holds::One,
    })
}

/// Lists the tables of a source. `format` is the format of a named file, if it is given.
pub(crate) fn find_tables(source: &SourceArg, format: Option<Holds>) -> Result<SourceFiles> {
    let found = find(source, SourceScope::Documents, Some(Kind::Table), false, format)?;
    match found.files.iter().find(|file| !file.holds.is_table()) {
        Some(file) => {
            let path = shown_path(&file.path);
            if let Some(what) = foreign(&file.start()) {
                bail!("{path}: expected a table, got {what}");
            }
            bail!("{path}: expected a table (.csv, .tsv, .jsonl or a .json array), or --input-format")
        }
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_before_the_first_equals_sign() {
        let source = SourceArg::parse("ham=a/b=c".as_ref());
        assert_eq!((source.label.as_deref(), source.path.as_path()), (Some("ham"), Path::new("a/b=c")));
        let source = SourceArg::parse("cur/1.M2,S=3:2,S".as_ref());
        assert_eq!((source.label, source.path.as_path()), (None, Path::new("cur/1.M2,S=3:2,S")));
    }

    #[test]
    fn a_path_that_exists_is_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.M2,S=3");
        std::fs::write(&path, "x").unwrap();
        assert!(SourceArg::parse(path.as_os_str()).label.is_none());
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
            let wanted = if labelled { SourceScope::Labelled } else { SourceScope::Documents };
            let found = find(&SourceArg::parse(argument.as_ref()), wanted, None, false, None)?;
            let labels =
                found.files.iter().map(|p| p.label.as_deref().unwrap_or("-").to_owned()).collect::<Vec<_>>();
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
