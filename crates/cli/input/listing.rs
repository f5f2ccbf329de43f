//! Lists the files below a folder: documents, and files that are left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use tamis_mail::maildir;
use tamis_program::{counted, grouped, plain, shown_path};
use tamis_train::Kind;
use walkdir::{DirEntry, WalkDir};

use crate::formats::holds::Holds;
use crate::input::file::InputFile;
use crate::output::to_text;

/// The files of a source, as far as they have been found.
#[derive(Default)]
pub(crate) struct SourceFiles {
    pub(crate) files: Vec<InputFile>,
    /// The kind of the documents, or `None` for a single document, which takes the kind of the others or of the model.
    pub(crate) kind: Option<Kind>,
    pub(crate) left_out: Omissions,
    /// Files that could not be listed, and why.
    pub(crate) unreadable: Vec<String>,
    /// The folder that links may not lead out of, if any.
    pub(crate) inside: Option<PathBuf>,
}

/// Files that are not documents.
#[derive(Default)]
pub(crate) struct Omissions {
    /// Beside the folders of labels, and therefore without a label.
    unlabelled: u64,
    /// Hidden files and folders.
    hidden: u64,
    /// By what they are: the number of other files, and the path of the first.
    others: BTreeMap<&'static str, (u64, PathBuf)>,
}

/// FIFOs, sockets, devices.
const SPECIAL: &str = "special file";

impl Omissions {
    fn add(&mut self, what: &'static str, path: PathBuf) {
        self.others.entry(what).or_insert((0, path)).0 += 1;
    }

    /// Describes in words what was left out, if anything.
    pub(crate) fn describe(&self) -> Option<String> {
        let unlabelled = format!("{} beside the folders of labels", counted(self.unlabelled, "file"));
        let hidden = match self.hidden {
            1 => "1 hidden file or folder".to_owned(),
            number => format!("{} hidden files and folders", grouped(number)),
        };
        let others = self.others.iter().map(|(what, (number, first))| {
            let such_as = if *number == 1 { "" } else { "such as " };
            (*number, format!("{} ({such_as}{})", counted(*number, what), shown_path(first)))
        });
        let parts = [(self.unlabelled, unlabelled), (self.hidden, hidden)].into_iter().chain(others);
        let parts: Vec<_> = parts.filter(|(number, _)| *number > 0).map(|(_, words)| words).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl SourceFiles {
    /// Whether a path is a link that leads out of the folder. If so, it is recorded as left out.
    fn leads_out(&mut self, path: &Path) -> bool {
        let Some(inside) = &self.inside else { return false };
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let leads_out = is_link && path.canonicalize().is_ok_and(|target| !target.starts_with(inside));
        if leads_out {
            self.left_out.add("outward link", path.to_owned());
        }
        leads_out
    }

    /// Adds the messages of a Maildir, which may be below a label's folder.
    pub(crate) fn maildir(&mut self, path: &Path, label: Option<Arc<str>>, folder: Option<Arc<str>>) {
        if ["cur", "new"].iter().any(|part| self.leads_out(&path.join(part))) {
            return;
        }
        match maildir::list(path) {
            Ok(mut listing) => {
                listing.messages.retain(|path| !self.leads_out(path));
                let found = |path| InputFile {
                    folder: folder.clone(),
                    in_maildir: true,
                    ..InputFile::found(path, label.clone(), Holds::One)
                };
                self.files.extend(listing.messages.into_iter().map(found));
                self.left_out.hidden += listing.hidden as u64;
                listing.special.into_iter().for_each(|path| self.left_out.add(SPECIAL, path));
                listing.folders.into_iter().for_each(|path| self.left_out.add("Maildir subfolder", path));
            }
            Err(error) => self.unreadable.push(format!("{}: {}", shown_path(path), plain(&error))),
        }
    }

    /// Adds every regular file below a folder, following links, and the messages of Maildirs. Hidden files are left
    /// out.
    pub(crate) fn folder(&mut self, path: &Path, label: Option<Arc<str>>) {
        // by path: files in a folder differ only in their names, and splitting paths would cost more
        let by_name = |a: &DirEntry, b: &DirEntry| a.path().as_os_str().cmp(b.path().as_os_str());
        let mut walk = WalkDir::new(path).follow_links(true).sort_by(by_name).into_iter();
        let mut below: Option<Arc<str>> = None;
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unreadable.push(unlisted(error));
                    continue;
                }
            };
            let (name, kind) = (entry.file_name(), entry.file_type());
            if entry.depth() == 1 {
                below = kind.is_dir().then(|| to_text(name).into());
            }
            let hidden = entry.depth() > 0 && name.as_encoded_bytes().starts_with(b".");
            let is_link = entry.depth() > 0 && entry.path_is_symlink();
            if hidden || is_link && self.leads_out(entry.path()) {
                self.left_out.hidden += u64::from(hidden);
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
            } else if kind.is_dir() {
                if maildir::is_maildir(entry.path()) {
                    self.maildir(entry.path(), label.clone(), below.clone());
                    walk.skip_current_dir();
                }
            } else if kind.is_file() {
                let holds = Holds::of_name(name);
                let inode = Some(walkdir::DirEntryExt::ino(&entry));
                let found = InputFile::found(entry.into_path(), label.clone(), holds);
                self.files.push(InputFile { inode, folder: below.clone(), ..found });
            } else {
                self.left_out.add(SPECIAL, entry.into_path());
            }
        }
    }

    /// Lists a folder whose subfolders are labels. Without subfolders, its own name is the label of its files.
    pub(crate) fn folder_of_labels(&mut self, path: &Path) -> Result<()> {
        let list = || -> std::io::Result<Vec<PathBuf>> {
            let mut children =
                std::fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
            children.sort();
            Ok(children)
        };
        let children = list().with_context(|| shown_path(&path))?.into_iter();
        let is_hidden = |c: &PathBuf| c.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        let (hidden, shown): (Vec<_>, Vec<_>) = children.partition(is_hidden);
        let (folders, files): (Vec<_>, Vec<_>) = shown.into_iter().partition(|child| child.is_dir());
        if folders.is_empty() {
            self.folder(path, Some(label_from_name(path)?));
            return Ok(());
        }
        self.left_out.hidden += hidden.len() as u64;
        self.left_out.unlabelled += files.len() as u64;
        for folder in folders {
            self.folder(&folder, Some(label_from_name(&folder)?));
        }
        Ok(())
    }

    /// Takes files out.
    pub(crate) fn leave_out(&mut self, what: &'static str, is_it: impl Fn(&InputFile) -> bool) {
        self.files.extract_if(.., |file| is_it(file)).for_each(|file| self.left_out.add(what, file.path));
    }
}

/// Says what could not be listed, and why.
fn unlisted(error: walkdir::Error) -> String {
    let path = error.path().map(shown_path).unwrap_or_default();
    match error.io_error() {
        Some(error) => format!("{path}: {}", plain(error)),
        None => format!("{path}: expected a link that does not lead to a folder above it"),
    }
}

fn label_from_name(path: &Path) -> Result<Arc<str>> {
    let absolute = path.canonicalize().with_context(|| shown_path(&path))?;
    let name = if path.file_name().is_some() { path } else { &absolute };
    let label = name.file_name().and_then(|name| name.to_str()).map(Arc::from);
    label.with_context(|| format!("{}: expected a folder whose name, a label, is UTF-8", shown_path(&path)))
}
