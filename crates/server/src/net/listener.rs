//! Sockets that listen: TCP, Unix, or handed over by systemd.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use listenfd::ListenFd;
use tokio::net::{TcpListener, UnixListener};

use crate::net::connection::Stream;
use crate::net::peer::Peer;
use crate::settings::address::Address;

/// A socket that listens.
pub(crate) struct Listener {
    socket: Socket,
    /// Where, for the log.
    pub(crate) at: String,
    /// The file of a Unix socket that was made here, and its inode.
    file: Option<(PathBuf, u64)>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The sockets that systemd handed over (`LISTEN_FDS`), each to be taken once.
pub(crate) struct Handed {
    sockets: ListenFd,
    names: Vec<String>,
}

impl Handed {
    /// Those of this process.
    pub(crate) fn from_environment() -> Self {
        // before the crate below clears it
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        Handed { sockets: ListenFd::from_env(), names: names.split(':').map(str::to_owned).collect() }
    }

    fn take(&mut self, name: &str) -> Result<Socket> {
        let place = self.names.iter().position(|known| known == name);
        let Some(place) = place.filter(|place| *place < self.sockets.len()) else {
            bail!("systemd:{name}: expected a socket of that name from systemd, got {:?}", self.names);
        };
        if let Ok(Some(socket)) = self.sockets.take_unix_listener(place) {
            socket.set_nonblocking(true)?;
            return Ok(Socket::Unix(UnixListener::from_std(socket)?));
        }
        match self.sockets.take_tcp_listener(place) {
            Ok(Some(socket)) => {
                socket.set_nonblocking(true)?;
                Ok(Socket::Tcp(TcpListener::from_std(socket)?))
            }
            _ => bail!("systemd:{name}: expected a listening stream socket that is not in use yet"),
        }
    }
}

impl Listener {
    /// Listens at an address; a Unix socket gets this mode.
    ///
    /// # Errors
    /// If the address is in use, is not this machine's, or may not be used.
    pub(crate) async fn bind(address: &Address, mode: u32, handed: &mut Handed) -> Result<Self> {
        let mut file = None;
        let socket = match address {
            Address::Tcp(tcp) => {
                Socket::Tcp(TcpListener::bind(tcp).await.with_context(|| address.to_string())?)
            }
            Address::Unix(path) => {
                let socket = bind_unix(path, mode).with_context(|| address.to_string())?;
                file = fs::metadata(path).ok().map(|made| (path.clone(), made.ino()));
                Socket::Unix(socket)
            }
            Address::Systemd(name) => handed.take(name)?,
        };
        let at = match &socket {
            // the port that the system chose, if it was 0
            Socket::Tcp(tcp) => tcp.local_addr().map_or(address.to_string(), |at| format!("tcp:{at}")),
            Socket::Unix(_) => address.to_string(),
        };
        Ok(Listener { socket, at, file })
    }

    /// The next connection.
    ///
    /// # Errors
    /// If the process has too many files open, and the like: try again after a pause.
    pub(crate) async fn accept(&self) -> io::Result<(Box<dyn Stream>, Peer)> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok((Box::new(stream), Peer::Address(address)))
            }
            Socket::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = stream.peer_cred().map_or(Peer::Unknown, |peer| Peer::User(peer.uid()));
                Ok((Box::new(stream), peer))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // only if it is still ours: another server may have taken the place
        if let Some((path, inode)) = &self.file
            && fs::metadata(path).is_ok_and(|now| now.ino() == *inode)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Binds a socket, in place of one that nobody listens at any more.
fn bind_unix(path: &Path, mode: u32) -> Result<UnixListener> {
    if let Ok(metadata) = fs::symlink_metadata(path) {
        if !metadata.file_type().is_socket() {
            bail!("expected a socket or nothing, got another file");
        }
        if StdUnixStream::connect(path).is_ok() {
            bail!("another server is listening there");
        }
        fs::remove_file(path)?;
    }
    // bound under another name, so that nobody connects before it has its mode
    let folder = path.parent().context("expected a path with a folder")?;
    let name = path.file_name().context("expected a path with a name")?.to_string_lossy();
    let hidden = folder.join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&hidden);
    let socket = UnixListener::bind(&hidden)?;
    fs::set_permissions(&hidden, fs::Permissions::from_mode(mode))?;
    fs::rename(&hidden, path)?;
    Ok(socket)
}
