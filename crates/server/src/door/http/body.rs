//! Bodies of requests, as they arrive.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use futures_util::TryStreamExt;
use tokio::time::timeout;

use crate::door::http::access::HttpContext;
use crate::door::http::refusal::Refusal;
use crate::models::request::ServiceError;
use crate::service::admission::{Incoming, TooLong};

/// Reads a body. Its bytes count as in flight as they arrive, whatever length the client announced.
///
/// # Errors
/// If it is too long, takes too long, or too much is in flight.
pub(super) async fn read(
    context: &HttpContext,
    headers: &HeaderMap,
    body: Body,
    too_long: TooLong,
) -> Result<Incoming, Refusal> {
    check_encoding(headers)?;
    let limits = &context.service.settings().limits;
    // reading what is only thrown away has a limit too
    let most = match too_long {
        TooLong::Refuse => limits.message_bytes,
        TooLong::Cut => limits.bytes_in_flight,
    };
    let mut incoming = context.service.incoming(too_long);
    let filled = timeout(limits.message, async {
        let mut is_too_long = body.size_hint().lower() > most as u64;
        let mut body = body.into_data_stream();
        while !is_too_long {
            let Some(chunk) = chunk_within(limits.idle, &mut body).await? else { return Ok(()) };
            incoming.push(&chunk)?;
            is_too_long = incoming.n_arrived() > most;
        }
        Err(ServiceError::TooLarge(most).into())
    });
    filled.await.unwrap_or_else(|_| Err(Refusal::too_slow()))?;
    Ok(incoming)
}

/// Checks that a body is not compressed.
///
/// # Errors
/// If it is.
pub(super) fn check_encoding(headers: &HeaderMap) -> Result<(), Refusal> {
    // rspamc -z names it Compression
    let encoding = headers.get(CONTENT_ENCODING).or_else(|| headers.get("compression"));
    match encoding.filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        Some(encoding) => Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("expected a body that is not compressed, got {encoding:?}"),
        )),
        None => Ok(()),
    }
}

/// The next bytes of a body; `None` at its end.
///
/// # Errors
/// If none arrive for `idle`, or the body breaks off.
pub(super) async fn chunk_within(
    idle: Duration,
    body: &mut BodyDataStream,
) -> Result<Option<Bytes>, Refusal> {
    let chunk = timeout(idle, next_chunk(body)).await.map_err(|_| Refusal::too_slow())?;
    chunk.map_err(Refusal::bad_request)
}

/// The next bytes of a body; `None` at its end.
///
/// # Errors
/// If the body breaks off.
pub(super) async fn next_chunk(body: &mut BodyDataStream) -> Result<Option<Bytes>, String> {
    body.try_next().await.map_err(|error| format!("the body broke off: {error}"))
}
