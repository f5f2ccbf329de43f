//! The lock of a model file, and its atomic replacement.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tamis_store::disk::open;
use tamis_store::error::{Error, Reason, Result};

/// An exclusive lock on a model file, held until it is dropped. The operating system releases it if the process dies.
///
/// Writers lock `PATH.lock`, because the model's own inode changes. A [`Learner`](crate::Learner) holds the lock, and
/// [`Model::save`](crate::Model::save) takes it while it writes. Take it yourself if what you write depends on the
/// current file.
///
/// ```
/// use std::time::Duration;
/// use tamis_train::{Filter, Lock, MergeOptions, merge};
/// # use tamis_train::{Document, Kind, TrainOptions, Trainer};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.tamis");
/// # let train = |fruit, metal| {
/// #     let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// #     trainer.add("fruit", Document::Text(fruit))?;
/// #     trainer.add("metal", Document::Text(metal))?;
/// #     trainer.finish()
/// # };
/// # train("apples", "iron")?.save(&path)?;
/// # let other = train("pears", "tin")?.into_filter()?;
/// let lock = Lock::wait(&path, Duration::from_secs(60))?;
/// let own = Filter::open(&path)?; // as it stays until the lock is dropped
/// lock.save(&merge(&[&own, &other], MergeOptions::default())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The lock file follows the owner, group and mode of the model: those who may write the model may lock it, and no others. A new lock file is
/// removed again if no model was written.
pub struct Lock {
    file: File,
    /// The lock file.
    name: PathBuf,
    /// The model file, with links resolved.
    pub(crate) path: PathBuf,
    /// Whether the lock file was created.
    is_new: bool,
    has_written: AtomicBool,
}

/// How long writers wait for one another by default.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval between attempts to lock.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Lock {
    /// Locks the model at `path`, waiting at most `lock_timeout`. The file need not exist.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`](crate::ErrorKind::Locked) if another process holds the lock all that time,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if `path` is not a regular file, or an error if `PATH.lock` cannot be
    /// created or locked.
    pub fn wait(path: impl AsRef<Path>, lock_timeout: Duration) -> Result<Self> {
        let path = path.as_ref();
        // a link to a model stays a link, even a dangling one
        let to = || fs::read_link(path).map(|to| path.parent().unwrap_or(Path::new("")).join(to));
        let path = fs::canonicalize(path).or_else(|_| to()).unwrap_or_else(|_| path.to_path_buf());
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let model = open::metadata(&path)?;
        let start = Instant::now();
        loop {
            let (file, metadata, is_new) = open_lock(&name)?;
            share(&file, &metadata, model.as_ref(), directory(&path));
            while let Err(error) = file.try_lock() {
                match error {
                    TryLockError::WouldBlock if start.elapsed() < lock_timeout => {
                        std::thread::sleep(POLL_INTERVAL)
                    }
                    TryLockError::WouldBlock => {
                        return Err(Reason::Locked { path: name, waited: lock_timeout }.into());
                    }
                    TryLockError::Error(source) => return Err(Reason::Io { path: name, source }.into()),
                }
            }
            // the last holder may have removed it: then try again with the new one
            if is_at(&metadata, &name) {
                return Ok(Lock { file, name, path, is_new, has_written: AtomicBool::new(false) });
            }
        }
    }

    /// Replaces the file as described at [`Lock::save`].
    pub(crate) fn replace(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let path = &self.path;
        let directory = directory(path);
        let mut name = OsString::from(".tamis-");
        name.push(path.file_name().unwrap_or_default());
        name.push(".tmp");
        let temporary = directory.join(name);
        let replaced = open::metadata(path)?;
        let written = write_new(&temporary, write, replaced.as_ref(), directory)
            .and_then(|()| fs::rename(&temporary, path));
        if let Err(source) = written {
            // frees the space: the disk may be full
            let _ = fs::remove_file(&temporary);
            return Err(Reason::Io { path: path.clone(), source }.into());
        }
        self.wrote();
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(Error::io(directory))
    }

    /// Records that the model was written, so that the lock file is kept.
    pub(crate) fn wrote(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // removed while held, so that waiters notice
        if self.is_new
            && !self.has_written.load(Ordering::Relaxed)
            && self.file.metadata().is_ok_and(|m| is_at(&m, &self.name))
        {
            let _ = fs::remove_file(&self.name);
        }
    }
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Options to create a private file.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens or creates a lock file without following a link. Also returns whether it is new.
fn open_lock(name: &Path) -> Result<(File, Metadata, bool)> {
    let is =
        |error: &Error, kind| matches!(error.reason(), Reason::Io { source, .. } if source.kind() == kind);
    loop {
        let known = match open::open_itself(name, OpenOptions::new().write(true)) {
            // read access suffices to lock
            Err(error) if is(&error, io::ErrorKind::PermissionDenied) => {
                open::open_itself(name, OpenOptions::new().read(true)).map_err(|_| error)
            }
            known => known,
        };
        match known {
            Err(error) if is(&error, io::ErrorKind::NotFound) => (),
            known => return known.map(|(file, metadata)| (file, metadata, false)),
        }
        match open::open_itself(name, &mut private()) {
            // another process was faster
            Err(error) if is(&error, io::ErrorKind::AlreadyExists) => (),
            new => return new.map(|(file, metadata)| (file, metadata, true)),
        }
    }
}

/// Whether the name still refers to this file.
fn is_at(metadata: &Metadata, name: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
    fs::symlink_metadata(name).is_ok_and(|there| identity(&there) == identity(metadata))
}

/// Gives a lock file to the owner and group of the model (or of the directory if there is no model yet) and to all who may
/// write the model, and takes it from others, as far as permitted.
fn share(lock: &File, metadata: &Metadata, model: Option<&Metadata>, directory: &Path) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    // never give away any other file
    if metadata.len() > 0 || metadata.nlink() != 1 {
        return;
    }
    let Some(model) = model else { return give_to_owner_of(lock, directory) };
    if (metadata.uid(), metadata.gid()) != (model.uid(), model.gid()) {
        let _ = give(lock, model);
    }
    let writers = model.mode() & 0o022;
    let mode = 0o600 | writers | writers << 1;
    if mode != metadata.mode() & 0o777 {
        let _ = lock.set_permissions(fs::Permissions::from_mode(mode));
    }
}

/// Gives a file the owner and group of a model, or at least its group.
fn give(file: &File, model: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let group = Some(model.gid());
    fchown(file, Some(model.uid()), group).or_else(|_| fchown(file, None, group))
}

/// Gives a file that root creates in a user's directory to that user.
fn give_to_owner_of(file: &File, directory: &Path) {
    use std::os::unix::fs::MetadataExt;
    if let (Ok(folder), Ok(own)) = (fs::metadata(directory), file.metadata())
        && folder.uid() != own.uid()
    {
        let _ = give(file, &folder);
    }
}

/// Gives a file the owner, group and mode of the model it replaces.
fn take_after(file: &File, model: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = model.mode() & 0o777;
    let mode = match give(file, model) {
        Ok(()) => mode,
        // a different group gets only what everyone has
        Err(_) => mode & 0o707 | mode & (mode & 0o007) << 3,
    };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Writes a temporary file with the owner, group and mode of the model it will replace.
fn write_new(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    replaced: Option<&Metadata>,
    directory: &Path,
) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    // never follow a link
    let mut file = private().open(path)?;
    match replaced {
        Some(model) => take_after(&file, model)?,
        None => give_to_owner_of(&file, directory),
    }
    write(&mut file)?;
    file.sync_all()
}
