//! The HTTP door: rspamd's API, an API of our own, and what watches the server. The page for people is a door of its own.

mod access;
mod body;
mod guesses;
mod label;
mod page;
mod refusal;
mod routes;
mod rspamd;
mod timed;
mod v1;

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::extract::Request;
use axum::response::IntoResponse;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;

use crate::door::http::access::HttpContext;
use crate::door::http::refusal::Refusal;
use crate::door::http::routes::ROUTER;
use crate::door::http::timed::TimedStream;
use crate::models::request::ServiceError;
use crate::net::{Connection, linger};
use crate::record::Door;
use crate::service::CurrentService;

/// The answer to a connection that is one too many.
pub(crate) const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/json\r\nContent-Length: 39\r\nConnection: close\r\n\r\n{\"error\":\"too busy; try again later\"}\r\n";

/// Maximum bytes of a request's head, and of what is read of a body at a time. Thousands of connections may have as much
/// each, which does not count as in flight.
const BUFFER: usize = 16 << 10;

/// Serves a connection of a door until it ends.
pub(crate) async fn serve(door: Door, connection: Connection, service: CurrentService) {
    let Connection { stream, peer, stopping } = connection;
    // its limits of time stay those that it began with
    let limits = service.get().settings().limits.clone();
    let (stream, timer) = TimedStream::new(stream, &limits);
    let router = if door == Door::Page { page::ROUTER.clone() } else { ROUTER.clone() };
    let router = TowerToHyperService::new(router);
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let context = Arc::new(HttpContext { service: service.get(), current: service.clone(), peer });
        request.extensions_mut().insert(context.clone());
        let answering = AssertUnwindSafe(router.call(request));
        Box::pin(async move {
            let Ok(answer) = answering.catch_unwind().await else {
                context.service.metrics.defects.fetch_add(1, Relaxed);
                return Ok(Refusal::from(ServiceError::Defect).into_response());
            };
            answer
        })
    });
    let mut builder = Builder::new();
    builder.timer(timer).header_read_timeout(limits.idle).max_buf_size(BUFFER).half_close(true);
    let mut serving = builder.serve_connection(TokioIo::new(stream), answer);
    let ended = tokio::select! {
        ended = poll_fn(|cx| serving.poll_without_shutdown(cx)) => ended,
        () = stopping.cancelled() => {
            std::pin::Pin::new(&mut serving).graceful_shutdown();
            poll_fn(|cx| serving.poll_without_shutdown(cx)).await
        }
    };
    if ended.is_ok() {
        linger(&mut serving.into_parts().io.into_inner()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_full_server_has_its_length() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}
