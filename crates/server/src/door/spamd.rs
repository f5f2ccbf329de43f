//! spamd's protocol, 1.0 to 1.5, and the lines of Exim's rspamd variant, which have the same form. One request a
//! connection.
//!
//! The forms of the answers are those of spamd 4.0.1, byte for byte; its scale too: spam begins at 5.0.

pub(crate) mod reply;
pub mod request;

use std::io;

use tamis_train::Document;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::door::spamd::request::{MOST_HEAD, Method, SpamdRequest, head_end, message, parse};
use crate::models::request::{Feedback, ModelId, ServiceError};
use crate::net::{Connection, Peer, in_time, linger};
use crate::record::Door;
use crate::service::admission::{Incoming, TooLong};
use crate::service::{Request, Service};

/// Reasons in a report.
const REASONS: usize = 10;

/// Bytes read at a time.
const CHUNK: usize = 16 << 10;

/// Why there is no answer of the usual kind.
enum NoAnswer {
    /// The client went away, or said nothing.
    Gone,
    /// The answer says why.
    Refused(Vec<u8>),
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => NoAnswer::Refused(reply::LATE.to_vec()),
            _ => NoAnswer::Gone,
        }
    }
}

impl From<ServiceError> for NoAnswer {
    fn from(failure: ServiceError) -> Self {
        NoAnswer::Refused(reply::failed(&failure))
    }
}

/// Serves a connection: one request.
pub(crate) async fn serve(mut connection: Connection, service: &Service) {
    let (answer, is_refused) = match converse(&mut connection, service).await {
        Ok(answer) => (answer, false),
        Err(NoAnswer::Refused(answer)) => (answer, true),
        Err(NoAnswer::Gone) => return,
    };
    if connection.write(&answer, service.settings().limits.message).await.is_err() {
        return;
    }
    if is_refused {
        linger(&mut connection.stream).await;
    } else {
        let _ = connection.stream.shutdown().await;
    }
}

async fn converse(connection: &mut Connection, service: &Service) -> Result<Vec<u8>, NoAnswer> {
    let limits = &service.settings().limits;
    let mut buffer = Vec::with_capacity(CHUNK);
    // it has the bytes of the head first, then those of the message
    let mut incoming = service.incoming(TooLong::Cut);
    let stopping = connection.stopping.clone();
    let end = tokio::select! {
        head = in_time(limits.command, read_head(connection, &mut buffer, &mut incoming)) => head?,
        // nothing was begun
        () = stopping.cancelled(), if buffer.is_empty() => return Err(NoAnswer::Gone),
    };
    let request = parse(&buffer[..end]).map_err(|words| NoAnswer::Refused(reply::bad_line(&words)))?;
    match request.method {
        Method::Ping => return Ok(reply::PONG.to_vec()),
        Method::Skip => return Err(NoAnswer::Gone),
        Method::Tell => check_may_learn(connection.peer, service)?,
        _ => (),
    }
    if request.method.needs_whole() {
        incoming.too_long = TooLong::Refuse;
    }
    incoming.reserve(request.length.unwrap_or(0).min(CHUNK))?;
    incoming.push(&buffer[end..])?;
    in_time(limits.message, read_body(connection, &mut buffer, &mut incoming, request.length)).await?;
    let came = incoming.n_arrived();
    if let Some(length) = request.length.filter(|length| came != *length)
        && request.method.needs_whole()
    {
        let words = format!("(Content-Length mismatch: Expected {length} bytes, got {came} bytes)");
        return Err(NoAnswer::Refused(reply::bad_line(&words)));
    }
    let bytes = incoming.bytes();
    if request.method == Method::Tell {
        return tell(&request, service, connection.peer, message(bytes)).await;
    }
    let mut question = question(&request);
    question.model = connection.peer.permitted(question.model, service.settings());
    question.is_mail_server = connection.peer.is_mail_server(service.settings());
    let answer = service.score(&question, Document::Mail(message(bytes))).await?;
    Ok(reply::verdict(&request, &answer, bytes, service.settings().verdict.keep_headers))
}

/// Reads until the headers are whole; returns where they end.
async fn read_head(
    connection: &mut Connection,
    buffer: &mut Vec<u8>,
    incoming: &mut Incoming,
) -> Result<usize, NoAnswer> {
    loop {
        if connection.stream.read_buf(buffer).await? == 0 {
            if buffer.is_empty() {
                return Err(NoAnswer::Gone);
            }
            let words = String::from_utf8_lossy(&buffer[..buffer.len().min(100)]);
            return Err(NoAnswer::Refused(reply::bad_line(&words.replace(char::is_control, "?"))));
        }
        incoming.reserve(buffer.len())?;
        if let Some(end) = head_end(buffer) {
            return Ok(end);
        }
        if buffer.len() > MOST_HEAD {
            return Err(NoAnswer::Refused(reply::bad_line("(headers too long)")));
        }
    }
}

/// Reads the message until all has come that was announced, and no more, or the input ends. Exim's rspamd variant does
/// not close its side. If more has come, the announcement was wrong, as that of amavis may be; the end of input then ends
/// the message.
async fn read_body(
    connection: &mut Connection,
    buffer: &mut Vec<u8>,
    incoming: &mut Incoming,
    length: Option<usize>,
) -> Result<(), NoAnswer> {
    while length != Some(incoming.n_arrived()) {
        buffer.clear();
        buffer.reserve(CHUNK);
        if connection.stream.read_buf(buffer).await? == 0 {
            break;
        }
        incoming.push(buffer)?;
    }
    Ok(())
}

fn question(request: &SpamdRequest) -> Request<'_> {
    let model = request.user.as_deref().map_or(ModelId::Shared, ModelId::User);
    let has_report = matches!(request.method, Method::Report | Method::ReportIfSpam);
    let reasons = if has_report { REASONS } else { 0 };
    Request { queue_id: &request.queue_id, reasons, ..Request::new(Door::Spamd, model) }
}

/// # Errors
/// [`ServiceError::Denied`] if the peer may not teach.
fn check_may_learn(peer: Peer, service: &Service) -> Result<(), ServiceError> {
    let settings = &service.settings().spamd;
    let may = match peer {
        Peer::Address(_) => settings.learn_over_tcp,
        peer => peer.is_trusted(&settings.learn),
    };
    if may { Ok(()) } else { Err(ServiceError::Denied) }
}

/// Learns or forgets, and answers when that is on the disk.
async fn tell(
    request: &SpamdRequest,
    service: &Service,
    peer: Peer,
    message: &[u8],
) -> Result<Vec<u8>, NoAnswer> {
    let by = peer.to_string();
    let question = Request { by: &by, ..question(request) };
    let feedback = match (request.set, request.remove) {
        (true, _) => {
            let class = request.class.as_deref().unwrap_or_default();
            Feedback::Learn(service.label(question.model, class)?)
        }
        (_, true) => Feedback::Forget,
        // for others than this filter, such as a remote one
        _ => return Ok(reply::told(None)),
    };
    let outcome = service.correct(&question, feedback, Document::Mail(message)).await?;
    Ok(reply::told(Some(outcome)))
}
