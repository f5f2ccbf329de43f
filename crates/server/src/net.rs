//! Connections: the sockets they come from, who is at the other end, and limits of time.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use listenfd::ListenFd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::settings::address::Address;

/// A stream of bytes in both directions.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// An accepted connection.
pub(crate) struct Connection {
    /// The bytes.
    pub(crate) stream: Box<dyn ByteStream>,
    /// Who is at the other end.
    pub(crate) peer: Peer,
    /// Becomes true when the server is told to stop.
    pub(crate) stopping: Stopping,
}

/// Tells when the server is to stop: a receiver of `true`.
#[derive(Clone)]
pub(crate) struct Stopping(pub(crate) watch::Receiver<bool>);

impl Stopping {
    /// Waits until the server is told to stop.
    pub(crate) async fn wait(&mut self) {
        // without a sender the server is gone
        let _ = self.0.wait_for(|stopping| *stopping).await;
    }
}

impl Connection {
    /// Writes all bytes.
    ///
    /// # Errors
    /// Those of the stream; [`io::ErrorKind::TimedOut`] after `limit`.
    pub(crate) async fn write(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        in_time(limit, async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        })
        .await
    }
}

/// Work within a time.
///
/// # Errors
/// Those of the work; [`io::ErrorKind::TimedOut`] after `limit`.
pub(crate) async fn in_time<T, E: From<io::Error>>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
}

/// How long a client may go on sending after its answer.
const LINGER: Duration = Duration::from_secs(1);

/// Closes a connection so that the client can read the answer to a request that was refused before all of it had
/// arrived: a connection that is closed with bytes unread is reset, and the answer could be lost.
pub(crate) async fn linger(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let _ = stream.shutdown().await;
    let mut unread = [0; 4 << 10];
    let discard = async { while matches!(stream.read(&mut unread).await, Ok(1..)) {} };
    let _ = timeout(LINGER, discard).await;
}

/// The other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    /// A process on this machine, by its user's number.
    User(u32),
    /// An address.
    Address(SocketAddr),
    /// A process on this machine whose user is not known.
    Unknown,
}

impl Peer {
    /// Whether the peer is a process of the server's own user, of root, or of one of `allowed`: users by name or
    /// number.
    pub(crate) fn is_trusted(self, allowed: &[String]) -> bool {
        let Peer::User(uid) = self else { return false };
        uid == 0
            || uid == rustix::process::geteuid().as_raw()
            || allowed.iter().any(|name| name.parse() == Ok(uid) || uid_of(name) == Some(uid))
    }
}

/// The number of a user, from the system's list.
fn uid_of(name: &str) -> Option<u32> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() == Some(name) { fields.nth(1)?.parse().ok() } else { None }
    })
}

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
pub(crate) struct SystemdSockets {
    sockets: ListenFd,
    names: Vec<String>,
}

impl SystemdSockets {
    /// Those of this process.
    pub(crate) fn from_environment() -> Self {
        // before the crate below clears it
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        SystemdSockets { sockets: ListenFd::from_env(), names: names.split(':').map(str::to_owned).collect() }
    }

    fn take(&mut self, name: &str) -> anyhow::Result<Socket> {
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
    pub(crate) async fn bind(
        address: &Address,
        mode: u32,
        handed: &mut SystemdSockets,
    ) -> anyhow::Result<Self> {
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
    pub(crate) async fn accept(&self) -> io::Result<(Box<dyn ByteStream>, Peer)> {
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
fn bind_unix(path: &Path, mode: u32) -> anyhow::Result<UnixListener> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_of_known_users_are_trusted() {
        let own = rustix::process::geteuid().as_raw();
        assert!(Peer::User(own).is_trusted(&[]) && Peer::User(0).is_trusted(&[]));
        assert!(!Peer::User(own + 7_000).is_trusted(&["root".to_owned()]));
        assert!(Peer::User(own + 7_000).is_trusted(&[(own + 7_000).to_string()]));
        assert_eq!(uid_of("root"), Some(0));
        let loopback = SocketAddr::from(([127, 0, 0, 1], 80));
        assert!(!Peer::Address(loopback).is_trusted(&["0".to_owned()]) && !Peer::Unknown.is_trusted(&[]));
    }
}
