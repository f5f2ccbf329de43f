//! Connections: the sockets they come from, who is at the other end, and limits of time.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use listenfd::ListenFd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::models::request::ModelId;
use crate::settings::ServerSettings;
use crate::settings::address::Address;
use crate::settings::user::{GroupId, MailServer, UserId, user_name};

/// A stream of bytes in both directions.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// An accepted connection.
pub(crate) struct Connection {
    /// The bytes.
    pub(crate) stream: Box<dyn ByteStream>,
    /// Who is at the other end.
    pub(crate) peer: Peer,
    /// Is cancelled when the server is told to stop.
    pub(crate) stopping: CancellationToken,
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
    /// Whether the peer is a process of the server's own user, of root, or of one of `allowed`.
    pub(crate) fn is_trusted(self, allowed: &[UserId]) -> bool {
        let Peer::User(uid) = self else { return false };
        uid == 0 || uid == rustix::process::geteuid().as_raw() || allowed.contains(&UserId(uid))
    }

    /// Whether the peer is a mail server of the settings, or one that may teach.
    pub(crate) fn is_mail_server(self, settings: &ServerSettings) -> bool {
        let servers = &settings.models.mail_servers;
        match self {
            Peer::User(uid) => {
                self.is_trusted(&settings.spamd.learn) || servers.contains(&MailServer::User(UserId(uid)))
            }
            Peer::Address(address) => servers.contains(&MailServer::Address(address.ip().to_canonical())),
            Peer::Unknown => false,
        }
    }

    /// Whether the peer may ask for a user's model: that user, or a mail server.
    pub(crate) fn may_ask(self, user: &str, settings: &ServerSettings) -> bool {
        let name = || if let Peer::User(uid) = self { user_name(uid) } else { None };
        self.is_mail_server(settings) || name().is_some_and(|name| name.eq_ignore_ascii_case(user))
    }

    /// The model that the peer asks for: the shared one if it may not ask for that of the user.
    pub(crate) fn permitted<'a>(self, model: ModelId<'a>, settings: &ServerSettings) -> ModelId<'a> {
        match model {
            ModelId::User(user) if settings.models.users.is_some() && !self.may_ask(user, settings) => {
                ModelId::Shared
            }
            model => model,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::User(uid) => write!(f, "user {uid}"),
            Peer::Address(address) => address.ip().to_canonical().fmt(f),
            Peer::Unknown => f.write_str("a process of this machine"),
        }
    }
}

/// What the file of a Unix socket is to be like.
#[derive(Clone, Copy)]
pub(crate) struct SocketFile {
    /// The permissions.
    pub(crate) mode: u32,
    pub(crate) owner: Option<UserId>,
    pub(crate) group: Option<GroupId>,
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
    /// Listens at an address.
    ///
    /// # Errors
    /// If the address is in use, is not this machine's, or may not be used.
    pub(crate) async fn bind(
        address: &Address,
        like: SocketFile,
        handed: &mut SystemdSockets,
    ) -> anyhow::Result<Self> {
        let mut file = None;
        let socket = match address {
            Address::Tcp(tcp) => {
                Socket::Tcp(TcpListener::bind(tcp).await.with_context(|| address.to_string())?)
            }
            Address::Unix(path) => {
                let socket = bind_unix(path, like).with_context(|| address.to_string())?;
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
fn bind_unix(path: &Path, like: SocketFile) -> anyhow::Result<UnixListener> {
    if let Ok(metadata) = fs::symlink_metadata(path) {
        ensure!(metadata.file_type().is_socket(), "expected a socket or nothing, got another file");
        ensure!(StdUnixStream::connect(path).is_err(), "another server is listening there");
        fs::remove_file(path)?;
    }
    // bound under another name, so that nobody connects before it has its mode
    let folder = path.parent().context("expected a path with a folder")?;
    let name = path.file_name().context("expected a path with a name")?.to_string_lossy();
    let hidden = folder.join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&hidden);
    let socket = UnixListener::bind(&hidden)?;
    let (owner, group) = (like.owner.map(|user| user.0), like.group.map(|group| group.0));
    if owner.is_some() || group.is_some() {
        chown(&hidden, owner, group).context("owner and group")?;
    }
    fs::set_permissions(&hidden, fs::Permissions::from_mode(like.mode))?;
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
        assert!(!Peer::User(own + 7_000).is_trusted(&[UserId(0)]));
        assert!(Peer::User(own + 7_000).is_trusted(&[UserId(own + 7_000)]));
        let loopback = SocketAddr::from(([127, 0, 0, 1], 80));
        assert!(!Peer::Address(loopback).is_trusted(&[UserId(0)]) && !Peer::Unknown.is_trusted(&[]));
    }

    #[test]
    fn a_users_model_is_for_the_user_and_for_mail_servers() {
        let mut settings = ServerSettings::default();
        let daemon = Peer::User(1);
        let name = user_name(1).unwrap();
        assert!(daemon.may_ask(&name, &settings) && !daemon.may_ask("boss", &settings));
        let loopback = Peer::Address(SocketAddr::from(([127, 0, 0, 1], 80)));
        assert!(!loopback.may_ask("boss", &settings) && !Peer::Unknown.may_ask("boss", &settings));
        let boss = ModelId::User("boss");
        assert_eq!(loopback.permitted(boss, &settings), boss);
        settings.models.users = Some("/users/%u.tamis".into());
        assert_eq!(loopback.permitted(boss, &settings), ModelId::Shared);
        let servers = [MailServer::User(UserId(1)), MailServer::Address([127, 0, 0, 1].into())];
        settings.models.mail_servers.extend(servers);
        assert!(daemon.may_ask("boss", &settings) && loopback.may_ask("boss", &settings));
        assert!(!Peer::User(7_000).may_ask("boss", &settings));
    }
}
