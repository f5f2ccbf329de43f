//! The spool of `tamis learn --spool`: a private folder of messages that wait to be learned.
//!
//! A file holds a line with the label, then the message. Its name begins with the time, so names sort by age. Files are
//! written under a hidden name, synced and renamed: a file without a dot in its name is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use tamis_program::{make_private, shown, shown_path};

/// Age of a hidden file whose writer is certainly gone.
const ABANDONED: Duration = Duration::from_hours(24);

/// The ending of files that can never be learned.
const REFUSED: &str = "refused";

/// The folder of a spool.
pub(crate) struct Spool<'a>(&'a Path);

impl<'a> Spool<'a> {
    /// Opens a spool. Creates its folder, which only its owner may enter.
    pub(crate) fn open(folder: &'a Path) -> Result<Self> {
        make_private(folder).with_context(|| shown_path(&folder))?;
        Ok(Spool(folder))
    }

    /// Adds a message, which is on the disk when this returns.
    pub(crate) fn put(&self, label: &str, message: &[u8]) -> Result<()> {
        if label.contains(char::is_control) {
            bail!("expected a label without control characters, got {:?}", shown(label));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}", now.as_nanos(), std::process::id());
        let hidden = self.0.join(format!(".{name}"));
        let written = write(&hidden, &[label.as_bytes(), b"\n", message])
            .and_then(|()| fs::rename(&hidden, self.0.join(&name)))
            .and_then(|()| File::open(self.0)?.sync_all());
        if written.is_err() {
            // frees the space: the disk may be full
            let _ = fs::remove_file(&hidden);
        }
        written.with_context(|| shown_path(&self.0))
    }

    /// The files that wait, the oldest first. Removes hidden files that were left by a writer that was stopped.
    pub(crate) fn waiting(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.0).with_context(|| shown_path(&self.0))? {
            let entry = entry.with_context(|| shown_path(&self.0))?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            if name.starts_with(b".0") && is_abandoned(&entry.path()) {
                // only space is lost if it stays
                let _ = fs::remove_file(entry.path());
            }
            if !name.contains(&b'.') {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }
}

fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.sync_all()
}

fn is_abandoned(path: &Path) -> bool {
    let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > ABANDONED))
}

/// Reads a file of a spool. Returns `None` if it is gone: another process has learned it.
pub(crate) fn read(file: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).with_context(|| shown_path(&file)),
    }
}

/// Splits the content of a file into label and message. Returns `None` if it is not that of a spool.
pub(crate) fn split(content: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr(b'\n', content)?;
    let label = str::from_utf8(&content[..end]).ok()?;
    let message = &content[end + 1..];
    (!message.is_empty()).then_some((label, message))
}

/// Removes a file whose message is in the model.
pub(crate) fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| shown_path(&file)),
    }
}

/// Puts a file aside that can never be learned. Returns its new path.
pub(crate) fn refuse(file: &Path) -> Result<PathBuf> {
    let aside = file.with_added_extension(REFUSED);
    fs::rename(file, &aside).with_context(|| shown_path(&file))?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_wait_and_the_oldest_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/spool");
        let spool = Spool::open(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
        for (label, message) in [("spam", "1\n"), ("ham", "2\n"), ("é", "\n3")] {
            spool.put(label, message.as_bytes()).unwrap();
        }
        assert!(spool.put("a\nb", b"x").is_err());
        let old = File::create(path.join(".01-1")).unwrap();
        old.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        fs::write(path.join(".02-1"), "spam\nhalf").unwrap();
        fs::write(path.join("03-1.refused"), "spam\nrefused").unwrap();
        fs::create_dir(path.join("04")).unwrap();
        let waiting = spool.waiting().unwrap();
        let read = |file: &PathBuf| String::from_utf8(read(file).unwrap().unwrap()).unwrap();
        assert_eq!(waiting.iter().map(read).collect::<Vec<_>>(), ["spam\n1\n", "ham\n2\n", "é\n\n3"]);
        assert!(!path.join(".01-1").exists() && path.join(".02-1").exists());
        remove(&waiting[0]).unwrap();
        remove(&waiting[0]).unwrap();
        assert!(super::read(&waiting[0]).unwrap().is_none());
        assert!(refuse(&waiting[1]).unwrap().ends_with(format!("{}.refused", waiting[1].display())));
        assert_eq!(spool.waiting().unwrap(), waiting[2..]);
    }

    #[test]
    fn a_file_is_a_label_and_a_message() {
        assert_eq!(split(b"spam\nA: 1\n\nx"), Some(("spam", &b"A: 1\n\nx"[..])));
        for other in [&b""[..], b"spam", b"spam\n", b"\xff\nA: 1\n"] {
            assert_eq!(split(other), None);
        }
    }
}
