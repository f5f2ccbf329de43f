//! Finds the documents of a source.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tamis_mail::{looks_like_mail, maildir};
use tamis_program::{Stream, read_start, shown_path};
use tamis_train::Kind;

use crate::formats::holds::{Holds, extension, extension_is};
use crate::formats::json::{begins_array, begins_object_line};
use crate::formats::record::looks_like_fasttext;
use crate::input::file::{InputFile, SourceArg, SourceScope};
use crate::input::listing::SourceFiles;
use crate::input::reading::{foreign, foreign_or_binary};

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
        let holds = match format {
            Some(format) => format,
            None if may_be_rows && looks_like_fasttext(&file.start()) => Holds::FastText,
            None => file.holds,
        };
        listing.files.push(InputFile { label, holds, ..file });
    }
    let without_label = |p: &&InputFile| p.label.is_none() && !p.holds.is_table();
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
        files => Some(recognise(files)),
    };
    if is_folder && listing.kind == Some(Kind::Mail) {
        listing.leave_tables_out();
    }
    Ok(listing)
}

/// Recognises mail or text from a sample of documents spread over all files. Tables count only if there is nothing
/// else.
pub(crate) fn recognise(files: &[InputFile]) -> Kind {
    const SAMPLE: usize = 25;
    let documents: Vec<_> = files.iter().filter(|file| !file.holds.is_table()).collect();
    let step = documents.len().div_ceil(SAMPLE).max(1);
    let (mut mail, mut text) = (0, 0);
    for file in documents.into_iter().step_by(step) {
        let start = if file.holds == Holds::Mbox { Vec::new() } else { file.start() };
        if file.holds == Holds::Mbox || looks_like_mail(&start) {
            mail += 1;
        } else if !start.is_empty() && foreign_or_binary(&start).is_none() {
            text += 1;
        }
    }
    if mail > text { Kind::Mail } else { Kind::Text }
}

/// The contents of a file named on the command line, from its name or else from its first bytes.
fn holds_of(path: &Path, mbox: bool) -> Result<Holds> {
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
        Holds::One if !extension_is(path, &["eml", "msg", "txt"]) => {
            let context = || shown_path(&path);
            let start = read_start(path, 4096).with_context(context)?;
            let is_mbox = tamis_mail::mbox::looks_like_mbox(&start)
                && Stream::open(path).with_context(context)?.is_mbox();
            if is_mbox { Holds::Mbox } else { Holds::One }
        }
        holds => holds,
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
