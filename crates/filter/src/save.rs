//! Replacing a model file: whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::model::Model;

/// The right to change a model file, held until it is dropped; the operating system takes it back if the process dies.
///
/// Writers take turns on `PATH.lock`, as the model's own inode changes. A [`Learner`](crate::Learner) has it, and
/// [`Model::save`] takes it for as long as it writes; have it yourself where what is written depends on what is there.
///
/// ```
/// use std::time::Duration;
/// use tamis_filter::{Filter, Lock, MergeOptions, merge};
/// # use tamis_filter::{Document, Kind, TrainOptions, Trainer};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.tamis");
/// # let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// # trainer.add("fruit", Document::Text("apples"))?;
/// # trainer.add("metal", Document::Text("iron"))?;
/// # let other = trainer.finish()?;
/// # other.save(&path)?;
/// # let other = other.into_filter()?;
/// let lock = Lock::wait(&path, Duration::from_secs(60))?;
/// let own = Filter::open(&path)?; // as it stays until the lock is dropped
/// lock.save(&merge(&[&own, &other], MergeOptions::default())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lock {
    _file: File,
    /// The file itself, where the path was a link to it.
    pub(crate) path: PathBuf,
}

/// How long writers wait for one another before they give up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a writer that waits sleeps before it looks again.
const NAP: Duration = Duration::from_millis(5);

impl Lock {
    /// Waits for the right to change the model at `path`, at most so long. There need not be a file.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it for all that time; if `PATH.lock` cannot be made or locked.
    pub fn wait(path: impl AsRef<Path>, patience: Duration) -> Result<Self> {
        let path = path.as_ref();
        // A link to a model stays a link, also one to where there is none yet.
        let to = || fs::read_link(path).map(|to| path.parent().unwrap_or(Path::new("")).join(to));
        let path = fs::canonicalize(path).or_else(|_| to()).unwrap_or_else(|_| path.to_path_buf());
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
    ///
    /// Until it is whole it has another name, which only who holds the lock uses: what a writer left that was stopped
    /// is swept away by the next.
    ///
    /// # Errors
    /// If the file cannot be written; what was there stays.
    pub fn save(&self, model: &Model) -> Result<()> {
        let path = &self.path;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut name = OsString::from(".tamis-");
        name.push(path.file_name().unwrap_or_default());
        name.push(".tmp");
        let temporary = directory.join(name);
        let written =
            write_new(&temporary, model.as_bytes(), path).and_then(|()| fs::rename(&temporary, path));
        if let Err(source) = written {
            // the disk may be full
            let _ = fs::remove_file(&temporary);
            return Err(Error::Io { path: path.clone(), source });
        }
        sync_directory(directory)
    }
}

/// Writes a file that is not there yet, or is of no use, with the mode of the model it will replace.
fn write_new(path: &Path, bytes: &[u8], model: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    // never through a link that someone laid there
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if let Ok(metadata) = fs::metadata(model) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // whoever may give files away, root, leaves a user's model to the user
            let _ = fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
        }
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|d| d.sync_all()).map_err(Error::io(directory))
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}
