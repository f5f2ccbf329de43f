//! Replacing a model file: whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The right to change a model file, held until it is dropped; the operating system takes it back if the process dies.
///
/// Writers take turns on `PATH.lock`. The model's own inode changes, so it cannot be what is locked.
pub(crate) struct Lock {
    _file: File,
    /// The file itself, where the path was a link to it.
    pub(crate) path: PathBuf,
}

/// How long writers wait for one another before they give up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a writer that waits sleeps before it looks again.
const NAP: Duration = Duration::from_millis(5);

impl Lock {
    /// Waits for the right to change the model at `path`, at most so long.
    pub(crate) fn wait(path: &Path, patience: Duration) -> Result<Self> {
        // A link to a model stays a link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let open = || OpenOptions::new().create(true).truncate(false).write(true).open(&name);
        let file = open().map_err(Error::io(&name))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file, path }),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(NAP),
                Err(TryLockError::WouldBlock) => return Err(Error::Locked { path: name, waited: patience }),
                Err(TryLockError::Error(source)) => return Err(Error::Io { path: name, source }),
            }
        }
    }

    /// Writes the file anew, so that a reader, or whoever comes after a crash, sees the old file or the new one.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<()> {
        let path = &self.path;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tamis-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any program creates a file, less the umask; a model that is there keeps its mode.
            let mode = fs::metadata(path).map_or(0o666, |m| m.permissions().mode() & 0o777);
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let mut file = builder.tempfile_in(directory).map_err(Error::io(directory))?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(Error::io(path))?;
        file.persist(path).map_err(|e| Error::Io { path: path.clone(), source: e.error })?;
        sync_directory(directory)
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|d| d.sync_all()).map_err(Error::io(directory))
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}
