//! Maildirs: directories with one message a file.
use std::io;
use std::path::{Path, PathBuf};

/// Whether a directory is a Maildir: it has `cur` and `new`.
pub fn is_maildir(path: &Path) -> bool {
    ["cur", "new"].iter().all(|folder| path.join(folder).is_dir())
}

/// The message files of a Maildir, those of `cur` and `new` together, sorted by name.
///
/// Files whose names begin with a dot are no messages; sub-folders (`.Folder`) are not entered.
///
/// # Errors
/// When one of the two directories cannot be read.
pub fn messages(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["cur", "new"] {
        for entry in path.join(folder).read_dir()? {
            let file = entry?.path();
            let hidden = file.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            if !hidden && file.is_file() {
                files.push(file);
            }
        }
    }
    files.sort_by(|a, b| (a.file_name(), a).cmp(&(b.file_name(), b)));
    Ok(files)
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
        let found = messages(&dir).unwrap();
        assert_eq!(found, ["new/1.a", "cur/2.b:2,S", "new/3.c"].map(|file| dir.join(file)));
        assert!(messages(&dir.join("cur")).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
