//! Opens model files: only regular files, never anything that blocks or must not be replaced.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::{Error, Reason, Result};

/// Opens a regular file and returns its metadata. Never blocks on a pipe.
pub fn open(path: &Path, options: &mut OpenOptions) -> Result<(File, Metadata)> {
    set_flags(options, true);
    open_with(path, options, |path| fs::metadata(path))
}

/// As [`open`], but does not follow a link.
pub fn open_itself(path: &Path, options: &mut OpenOptions) -> Result<(File, Metadata)> {
    set_flags(options, false);
    open_with(path, options, |path| fs::symlink_metadata(path))
}

#[cfg(unix)]
fn set_flags(options: &mut OpenOptions, follow: bool) {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    options.custom_flags(if follow { flags } else { flags | libc::O_NOFOLLOW });
}

#[cfg(not(unix))]
fn set_flags(_: &mut OpenOptions, _: bool) {}

fn open_with(
    path: &Path,
    options: &OpenOptions,
    metadata: impl FnOnce(&Path) -> io::Result<Metadata>,
) -> Result<(File, Metadata)> {
    let file = options.open(path).map_err(|source| match metadata(path).map(|m| check(path, &m)) {
        // a socket, or a pipe without a reader: the system's message does not help
        Ok(Err(error)) => error,
        _ => Error::io(path)(source),
    })?;
    let metadata = file.metadata().map_err(Error::io(path))?;
    check(path, &metadata)?;
    Ok((file, metadata))
}

/// The metadata of the regular file at `path`, if there is one.
pub fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => check(path, &metadata).map(|()| Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path)(error)),
    }
}

fn check(path: &Path, metadata: &Metadata) -> Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(Reason::NotAFile { path: path.to_path_buf(), got: kind(metadata) }.into()),
    }
}

/// The kind of a special file, in words.
fn kind(metadata: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    match metadata {
        folder if folder.is_dir() => "a folder",
        link if link.is_symlink() => "a link",
        _ => "something else",
    }
}
