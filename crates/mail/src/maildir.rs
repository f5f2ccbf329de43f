//! Maildirs: directories with one message per file.
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Whether a directory is a Maildir: it has `cur` and `new`.
pub fn is_maildir(path: &Path) -> bool {
    ["cur", "new"].iter().all(|folder| path.join(folder).is_dir())
}

/// The contents of a Maildir.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Listing {
    /// The message files of `cur` and `new`, sorted by name.
    pub messages: Vec<PathBuf>,
    /// Entries that are not regular files, such as FIFOs and broken links; they must not be opened.
    pub special: Vec<PathBuf>,
    /// Number of files and folders left out because their names begin with a dot, such as sub-folders (`.Folder`).
    pub hidden: usize,
}

/// Lists the message files of a Maildir, and what was left out.
///
/// # Errors
/// The Maildir or one of its two directories cannot be read.
pub fn list(path: &Path) -> io::Result<Listing> {
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    let mut listing = Listing::default();
    for entry in path.read_dir()? {
        listing.hidden += usize::from(is_hidden(&entry?.file_name()));
    }
    for folder in ["cur", "new"] {
        for entry in path.join(folder).read_dir()? {
            let entry = entry?;
            if is_hidden(&entry.file_name()) {
                listing.hidden += 1;
                continue;
            }
            let mut kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_symlink()) {
                kind = entry.path().metadata().ok().map(|metadata| metadata.file_type());
            }
            match kind {
                Some(kind) if kind.is_file() => listing.messages.push(entry.path()),
                Some(kind) if kind.is_dir() => (),
                _ => listing.special.push(entry.path()),
            }
        }
    }
    listing.messages.sort_by(|a, b| (a.file_name(), a).cmp(&(b.file_name(), b)));
    listing.special.sort();
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_maildir() {
        let dir = std::env::temp_dir().join(format!("tamis-maildir-{}", std::process::id()));
        for folder in ["cur", "new", "tmp", ".Spam/cur", "cur/dir"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        for file in ["cur/2.b:2,S", "new/1.a", "cur/.hidden", "tmp/0.c", "new/3.c", ".Spam/cur/4.d"] {
            fs::write(dir.join(file), "").unwrap();
        }
        assert!(is_maildir(&dir));
        assert!(!is_maildir(&dir.join("cur")));
        let found = list(&dir).unwrap();
        assert_eq!(found.messages, ["new/1.a", "cur/2.b:2,S", "new/3.c"].map(|file| dir.join(file)));
        assert_eq!((found.special, found.hidden), (vec![], 2));
        assert!(list(&dir.join("cur")).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
