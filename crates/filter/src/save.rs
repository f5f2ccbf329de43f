//! Replacing a model file: whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes `bytes` to `path`, so that a reader, or whoever comes after a crash, sees the old file or the new one.
///
/// Writers take turns on `PATH.lock`. The model's own inode changes, so it cannot be what is locked.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    // A link to a model stays a link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let _lock = lock(&path)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tamis-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any program creates a file, less the umask; a model that is there keeps its mode.
        let mode = fs::metadata(&path).map_or(0o666, |m| m.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    let mut file = builder.tempfile_in(directory).map_err(Error::io(directory))?;
    let write =
        |file: &mut tempfile::NamedTempFile| file.write_all(bytes).and_then(|()| file.as_file().sync_all());
    write(&mut file).map_err(Error::io(&path))?;
    file.persist(&path).map_err(|e| Error::Io { path: path.clone(), source: e.error })?;
    sync_directory(directory)
}

/// Holds the lock until it is dropped; the operating system lets go of it if the process dies.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(&name).map_err(Error::io(&name))?;
    file.lock().map_err(Error::io(&name))?;
    Ok(file)
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|d| d.sync_all()).map_err(Error::io(directory))
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}
