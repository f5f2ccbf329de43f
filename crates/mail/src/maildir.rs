//! Maildirs: directories with one message per file; and what names of files say in Maildirs and MH folders.
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Whether a directory is a Maildir: it has two of `cur`, `new` and `tmp`, since copying can lose empty ones.
pub fn is_maildir(path: &Path) -> bool {
    ["cur", "new", "tmp"].iter().filter(|folder| path.join(folder).is_dir()).count() > 1
}

/// Whether a file's name says that the message is deleted: the flag T in a Maildir, or a number after a comma or `#` in
/// an MH folder.
///
/// ```
/// use tamis_mail::maildir::is_deleted;
///
/// assert!(is_deleted("1700000000.M1.host:2,ST".as_ref()) && is_deleted(",12".as_ref()));
/// assert!(!is_deleted("1700000000.MT.host:2,S".as_ref()) && !is_deleted("12".as_ref()));
/// ```
pub fn is_deleted(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    if let [b',' | b'#', number @ ..] = name {
        return !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    }
    // some programs replace the colon, which not every file system allows
    let info = name.windows(3).rposition(|part| matches!(part, [b':' | b';' | b'!', b'2', b',']));
    info.is_some_and(|at| {
        name[at + 3..].contains(&b'T') && name[at + 3..].iter().all(u8::is_ascii_alphabetic)
    })
}

/// The contents of a Maildir.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Listing {
    /// The message files of `cur` and `new`, sorted by name.
    pub messages: Vec<PathBuf>,
    /// Entries that are not regular files, such as FIFOs and broken links; they must not be opened.
    pub special: Vec<PathBuf>,
    /// Maildirs inside it (Dovecot's layout `fs`), and folders in `cur` and `new`.
    pub folders: Vec<PathBuf>,
    /// Number of files and folders left out because their names begin with a dot, such as sub-folders (`.Folder`).
    pub hidden: usize,
}

/// Lists the message files of a Maildir, and what was left out.
///
/// # Errors
/// The Maildir or one of its two directories cannot be read. They may be missing.
pub fn list(path: &Path) -> io::Result<Listing> {
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    let mut listing = Listing::default();
    for entry in path.read_dir()? {
        let entry = entry?;
        if is_hidden(&entry.file_name()) {
            listing.hidden += 1;
        } else if is_maildir(&entry.path()) {
            listing.folders.push(entry.path());
        }
    }
    for folder in ["cur", "new"].map(|folder| path.join(folder)).iter().filter(|folder| folder.is_dir()) {
        for entry in folder.read_dir()? {
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
                Some(kind) if kind.is_dir() => listing.folders.push(entry.path()),
                _ => listing.special.push(entry.path()),
            }
        }
    }
    listing.messages.sort_by(|a, b| (a.file_name(), a).cmp(&(b.file_name(), b)));
    listing.special.sort();
    listing.folders.sort();
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_maildir() {
        let dir = std::env::temp_dir().join(format!("tamis-maildir-{}", std::process::id()));
        for folder in ["cur", "new", "tmp", ".Spam/cur", "cur/dir", "Spam/cur", "Spam/new", "keywords"] {
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
        assert_eq!(found.folders, ["Spam", "cur/dir"].map(|file| dir.join(file)));
        assert!(list(&dir.join("old")).is_err());
        fs::remove_dir_all(dir.join("new")).unwrap();
        assert!(is_maildir(&dir));
        assert_eq!(list(&dir).unwrap().messages, [dir.join("cur/2.b:2,S")]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn names_of_deleted_messages() {
        for (name, expected) in [
            ("1.a:2,ST", true),
            ("1.a,S=3,W=4;2,FSTa", true),
            ("1.a!2,T", true),
            (",12", true),
            ("#3", true),
            ("1.a:2,S", false),
            ("1.T", false),
            ("a:2,Tab.txt", false),
            (",", false),
            ("#3#", false),
            ("12", false),
        ] {
            assert_eq!(is_deleted(name.as_ref()), expected, "{name}");
        }
    }
}
