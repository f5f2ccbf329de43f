//! An accepted connection.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::net::peer::Peer;

/// A stream of bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An accepted connection.
pub(crate) struct Connection {
    /// The bytes.
    pub(crate) stream: Box<dyn Stream>,
    /// Who is at the other end.
    pub(crate) peer: Peer,
    /// Becomes true when the server is told to stop.
    pub(crate) stopping: Stopping,
}

/// Tells when the server is to stop.
#[derive(Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// A receiver of `true` at the stop.
    pub(crate) fn new(stopping: watch::Receiver<bool>) -> Self {
        Stopping(stopping)
    }

    /// Waits until the server is told to stop.
    pub(crate) async fn wait(&mut self) {
        // without a sender the server is gone
        let _ = self.0.wait_for(|stopping| *stopping).await;
    }
}

impl Connection {
    /// Reads some bytes to the end of `buffer`; 0 at the end of input.
    ///
    /// # Errors
    /// Those of the stream; [`io::ErrorKind::TimedOut`] after `limit`.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>, limit: Duration) -> io::Result<usize> {
        in_time(limit, self.stream.read_buf(buffer)).await
    }

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
pub(crate) async fn in_time<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
