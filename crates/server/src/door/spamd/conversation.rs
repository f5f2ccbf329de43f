//! A connection from its first byte to its answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tamis_train::Document;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::door::spamd::reply;
use crate::door::spamd::request::{MOST_HEAD, Method, Request, head_end, message, parse};
use crate::models::failure::Failure;
use crate::models::registry::Of;
use crate::models::waiting::Change;
use crate::net::connection::{Connection, in_time};
use crate::net::peer::Peer;
use crate::record::metrics::Door;
use crate::service::admission::{Incoming, TooLong};
use crate::service::serving::{Request as Question, Service};

/// Reasons in a report.
const REASONS: usize = 10;

/// Bytes read at a time.
const CHUNK: usize = 16 << 10;

/// How long, and how many bytes, a client may go on sending after its answer, so that it reads it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 4 << 20;

/// Why there is no answer of the usual kind.
enum Ended {
    /// The client went away, or said nothing.
    Gone,
    /// The answer says why.
    Refused(Vec<u8>),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Ended::Refused(reply::late()),
            _ => Ended::Gone,
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Ended::Refused(reply::failed(&failure))
    }
}

/// Serves a connection: one request.
pub(crate) async fn serve(mut connection: Connection, service: Arc<Service>) {
    let limit = service.settings().limits.message();
    match converse(&mut connection, &service).await {
        Ok(answer) => {
            if connection.write(&answer, limit).await.is_ok() {
                let _ = connection.stream.shutdown().await;
            }
        }
        Err(Ended::Refused(answer)) => {
            if connection.write(&answer, limit).await.is_ok() {
                let _ = connection.stream.shutdown().await;
                let _ = in_time(LINGER, discard(&mut connection)).await;
            }
        }
        Err(Ended::Gone) => (),
    }
}

/// Reads what still comes. A connection that is closed with bytes unread is reset, and the answer could be lost.
async fn discard(connection: &mut Connection) -> io::Result<()> {
    let (mut buffer, mut all) = (vec![0; CHUNK], 0);
    while all < LINGER_BYTES {
        match connection.stream.read(&mut buffer).await? {
            0 => break,
            n => all += n,
        }
    }
    Ok(())
}

async fn converse(connection: &mut Connection, service: &Service) -> Result<Vec<u8>, Ended> {
    let limits = &service.settings().limits;
    let mut buffer = Vec::with_capacity(CHUNK);
    let mut stopping = connection.stopping.clone();
    let end = tokio::select! {
        head = in_time(limits.command(), read_head(connection, &mut buffer)) => head?,
        // nothing was begun
        () = stopping.wait(), if buffer.is_empty() => return Err(Ended::Gone),
    };
    let end = end?;
    let request = parse(&buffer[..end]).map_err(|words| Ended::Refused(reply::bad_line(&words)))?;
    match request.method {
        Method::Ping => return Ok(reply::PONG.to_vec()),
        Method::Skip => return Err(Ended::Gone),
        Method::Tell => check_may_learn(connection.peer, service)?,
        _ => (),
    }
    let too_long = if request.method.needs_whole() { TooLong::Refuse } else { TooLong::Cut };
    let mut body = Body { incoming: service.incoming(too_long), length: request.length, came: 0 };
    body.incoming.reserve(request.length.unwrap_or(0).min(CHUNK))?;
    body.push(&buffer[end..])?;
    in_time(limits.message(), read_body(connection, &mut buffer, &mut body)).await??;
    if let Some(length) = request.length.filter(|length| body.came != *length)
        && request.method.needs_whole()
    {
        let words = format!("(Content-Length mismatch: Expected {length} bytes, got {} bytes)", body.came);
        return Err(Ended::Refused(reply::bad_line(&words)));
    }
    if request.method == Method::Tell {
        return tell(&request, service, message(body.incoming.bytes())).await;
    }
    let bytes = body.incoming.bytes();
    let answer = service.score(&question(&request), Document::Mail(message(bytes)))?;
    Ok(reply::verdict(&request, &answer, bytes, service.settings().verdict.keep_headers))
}

/// Reads until the headers are whole; returns where they end.
async fn read_head(connection: &mut Connection, buffer: &mut Vec<u8>) -> io::Result<Result<usize, Ended>> {
    loop {
        if connection.stream.read_buf(buffer).await? == 0 {
            let words =
                String::from_utf8_lossy(&buffer[..buffer.len().min(100)]).replace(char::is_control, "?");
            let is_silent = buffer.is_empty();
            return Ok(Err(if is_silent { Ended::Gone } else { Ended::Refused(reply::bad_line(&words)) }));
        }
        if let Some(end) = head_end(buffer) {
            return Ok(Ok(end));
        }
        if buffer.len() > MOST_HEAD {
            return Ok(Err(Ended::Refused(reply::bad_line("(headers too long)"))));
        }
    }
}

/// A message as it arrives.
struct Body {
    incoming: Incoming,
    /// The bytes that were announced.
    length: Option<usize>,
    /// The bytes that came, those that were not kept too.
    came: usize,
}

impl Body {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.came += bytes.len();
        self.incoming.push(bytes)
    }

    /// Whether all has come that was announced, and no more. Exim's rspamd variant does not close its side. If more has
    /// come, the announcement was wrong, as that of amavis may be; the end of input then ends the message.
    fn is_whole(&self) -> bool {
        self.length == Some(self.came)
    }
}

/// Reads the message until it is whole or the input ends.
async fn read_body(
    connection: &mut Connection,
    buffer: &mut Vec<u8>,
    body: &mut Body,
) -> io::Result<Result<(), Failure>> {
    while !body.is_whole() {
        buffer.clear();
        buffer.reserve(CHUNK);
        if connection.stream.read_buf(buffer).await? == 0 {
            break;
        }
        if let Err(failure) = body.push(buffer) {
            return Ok(Err(failure));
        }
    }
    Ok(Ok(()))
}

fn question(request: &Request) -> Question<'_> {
    let of = request.user.as_deref().map_or(Of::Shared, Of::User);
    let mut question = Question::new(Door::Spamd, of);
    question.queue_id = &request.queue_id;
    if matches!(request.method, Method::Report | Method::ReportIfSpam) {
        question.reasons = REASONS;
    }
    question
}

/// # Errors
/// [`Failure::Denied`] if the peer may not teach.
fn check_may_learn(peer: Peer, service: &Service) -> Result<(), Failure> {
    let settings = &service.settings().spamd;
    let may = match peer {
        Peer::Address(_) => settings.learn_over_tcp,
        peer => peer.is_trusted(&settings.learn),
    };
    if may { Ok(()) } else { Err(Failure::Denied) }
}

/// Learns or forgets, and answers when that is on the disk.
async fn tell(request: &Request, service: &Service, message: &[u8]) -> Result<Vec<u8>, Ended> {
    let question = question(request);
    let change = match (request.set, request.remove) {
        (true, _) => {
            let class = request.class.as_deref().unwrap_or_default();
            Change::Learn(service.label(question.of, class)?)
        }
        (_, true) => Change::Forget,
        // for others than this filter, such as a remote one
        _ => return Ok(reply::told(None)),
    };
    let corrected = service.correct(&question, change, Document::Mail(message)).await?;
    Ok(reply::told(Some(corrected)))
}
