//! The time that a client may take: between requests, for the head of one, and to read an answer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep as TokioSleep, sleep, sleep_until};

use crate::net::ByteStream;
use crate::settings::LimitSettings;

/// A stream that counts what it reads, and fails when the other end has read nothing for too long.
pub(super) struct TimedStream {
    stream: Box<dyn ByteStream>,
    n_read: Arc<AtomicU64>,
    idle: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<TokioSleep>>>,
}

impl TimedStream {
    /// The stream, and the timer for the head of each request.
    pub(super) fn new(stream: Box<dyn ByteStream>, limits: &LimitSettings) -> (Self, HeadTimer) {
        let n_read = Arc::<AtomicU64>::default();
        let timer = HeadTimer { n_read: n_read.clone(), command: limits.command };
        (TimedStream { stream, n_read, idle: limits.idle, stalled: None }, timer)
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.n_read.fetch_add((buffer.filled().len() - before) as u64, Relaxed);
        read
    }
}

impl AsyncWrite for TimedStream {
    /// Fails if it has waited for too long.
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let idle = self.idle;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(idle)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The timer of a connection. Hyper waits with it for the head of a request, and for nothing else: the deadline it asks
/// for is that of an idle connection, which is brought forward once the head has begun to arrive.
pub(super) struct HeadTimer {
    n_read: Arc<AtomicU64>,
    command: Duration,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeadSleep {
            sleep: Box::pin(sleep_until(deadline.into())),
            n_read: self.n_read.clone(),
            n_before: Some(self.n_read.load(Relaxed)),
            command: self.command,
        })
    }
}

struct HeadSleep {
    sleep: Pin<Box<TokioSleep>>,
    n_read: Arc<AtomicU64>,
    /// Bytes read before the head; `None` once it has begun.
    n_before: Option<u64>,
    command: Duration,
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.n_before.is_some_and(|before| before != self.n_read.load(Relaxed)) {
            self.n_before = None;
            let deadline = tokio::time::Instant::now() + self.command;
            if deadline < self.sleep.deadline() {
                self.sleep.as_mut().reset(deadline);
            }
        }
        self.sleep.as_mut().poll(cx)
    }
}
