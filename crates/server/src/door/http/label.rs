//! Labels many documents in one request: lines of JSON in, lines of JSON out, as they arrive.

use std::convert::Infallible;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request as HttpRequest;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};

use crate::door::http::access::{SharedContext, check_may_ask};
use crate::door::http::body::{check_encoding, chunk_within, next_chunk};
use crate::door::http::refusal::Refusal;
use crate::door::http::v1::{PostedDocument, ScoreQuery, parse_json, query};
use crate::models::request::ServiceError;
use crate::record::Door;
use crate::service::admission::{Incoming, TooLong};
use crate::service::answer::Answer;
use crate::service::{CurrentService, Request, Service};

/// Bytes of answers after which the client has to take them.
const ANSWERS: usize = 16 << 10;

/// Maximum bytes of an `id`.
const MOST_ID: usize = 1 << 10;

/// `POST /v1/label`
pub(super) async fn label(context: SharedContext, request: HttpRequest) -> Result<Response, Refusal> {
    let query: ScoreQuery = query(request.uri())?;
    check_may_ask(&context, request.headers(), query.model()?).await?;
    // so that a model that is missing is told by the status
    context.service.state(query.model()?)?;
    let (parts, body) = request.into_parts();
    check_encoding(&parts.headers)?;
    let mut body = body.into_data_stream();
    let idle = context.service.settings().limits.idle;
    let labeller = Labeller {
        chunk: chunk_within(idle, &mut body).await?.unwrap_or_default(),
        body: Some(body),
        service: context.current.clone(),
        query,
        partial: None,
        n_lines: 0,
        deadline: Instant::now() + idle,
    };
    let answers = unfold(labeller, |mut labeller| async {
        let answers = labeller.next().await?;
        Some((Ok::<_, Infallible>(answers), labeller))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(answers)).into_response())
}

/// The answer to a line: a verdict, or its number, from 1, and why there is none.
#[derive(Default, Serialize)]
struct LabelReply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(flatten)]
    verdict: Option<&'a Answer>,
}

/// Answers lines. It reads on only when the client has taken the answers to what was read before.
struct Labeller {
    service: CurrentService,
    query: ScoreQuery,
    /// `None` at its end.
    body: Option<BodyDataStream>,
    /// What was read of it and is not answered yet.
    chunk: Bytes,
    /// The beginning of the line that arrives.
    partial: Option<PartialLine>,
    n_lines: u64,
    /// When the next line has to be complete.
    deadline: Instant,
}

impl Labeller {
    /// The answers to the next lines; `None` if there are no more.
    async fn next(&mut self) -> Option<Vec<u8>> {
        // other connections get their turn
        yield_now().await;
        let mut answers = Vec::new();
        loop {
            while !self.chunk.is_empty() && answers.len() < ANSWERS {
                let end = self.chunk.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
                let line = self.chunk.split_to(end.unwrap_or(self.chunk.len()));
                self.feed(&line, &mut answers).await;
            }
            if !answers.is_empty() {
                return Some(answers);
            }
            let next = timeout_at(self.deadline, next_chunk(self.body.as_mut()?)).await;
            match next.unwrap_or_else(|_| Err("the line took too long to arrive".to_owned())) {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) => {
                    self.body = None;
                    // the last line may have no line feed
                    if let Some(line) = self.partial.take() {
                        answer(&self.service.get(), &self.query, self.n_lines + 1, line, &mut answers).await;
                    }
                }
                Err(error) => {
                    self.body = None;
                    let (line, error) = (Some(self.n_lines + 1), Some(&*error));
                    write(&LabelReply { line, error, ..LabelReply::default() }, &mut answers);
                }
            }
        }
    }

    /// Answers the line that a piece completes. A line has the time of a message; between lines the client may be idle.
    async fn feed(&mut self, piece: &[u8], answers: &mut Vec<u8>) {
        let (was_within, service) = (self.partial.is_some(), self.service.get());
        let is_complete = push(&mut self.partial, piece, || service.incoming(TooLong::Refuse));
        let is_within = self.partial.is_some();
        if is_complete {
            self.n_lines += 1;
            if let Some(line) = self.partial.take() {
                answer(&service, &self.query, self.n_lines, line, answers).await;
            }
        }
        if is_complete || is_within != was_within {
            let limits = &service.settings().limits;
            self.deadline = Instant::now() + if is_complete { limits.idle } else { limits.message };
        }
    }
}

/// Writes the answer to a line, unless it is blank.
async fn answer(
    service: &Service,
    query: &ScoreQuery,
    number: u64,
    line: PartialLine,
    answers: &mut Vec<u8>,
) {
    let line = line.as_ref().map(Incoming::bytes);
    if line.is_ok_and(|line| line.trim_ascii().is_empty()) {
        return;
    }
    // it was checked when the request began
    let Ok(model) = query.model() else { return };
    let parsed: Result<PostedDocument<'_>, _> = line.map_err(ToString::to_string).and_then(parse_json);
    let (id, verdict) = match parsed {
        Ok(PostedDocument { id: Some(id), .. }) if id.get().len() > MOST_ID => {
            (None, Err(format!("expected an id of at most {MOST_ID} bytes, got {}", id.get().len())))
        }
        Ok(posted) => {
            let request = Request { probabilities: query.probabilities, ..Request::new(Door::Http, model) };
            let answer = match posted.document() {
                Ok(document) => service.score(&request, document.with_vector(&posted.vector.0)).await,
                Err(failure) => Err(failure),
            };
            (posted.id, answer.map(|answer| answer.with_reasons(None)).map_err(|failure| failure.to_string()))
        }
        Err(error) => (None, Err(error)),
    };
    let reply = match &verdict {
        Ok(answer) => LabelReply { verdict: Some(answer), ..LabelReply::default() },
        Err(error) => LabelReply { line: Some(number), error: Some(error), ..LabelReply::default() },
    };
    write(&LabelReply { id, ..reply }, answers);
}

fn write(reply: &LabelReply<'_>, answers: &mut Vec<u8>) {
    // neither a Vec nor this type can fail
    let _ = serde_json::to_writer(&mut *answers, reply);
    answers.push(b'\n');
}

/// The beginning of a line, without its line feed, or why it cannot be kept: it is kept as far as a message may be long.
type PartialLine = Result<Incoming, ServiceError>;

/// Adds a piece, which has a line feed at most at its end; returns whether the line is complete then. An empty one stays
/// `None`.
fn push(partial: &mut Option<PartialLine>, piece: &[u8], new: impl FnOnce() -> Incoming) -> bool {
    let text = piece.strip_suffix(b"\n");
    let bytes = text.unwrap_or(piece);
    if !bytes.is_empty()
        && let Ok(line) = partial.get_or_insert_with(|| Ok(new()))
        && let Err(failure) = line.push(bytes)
    {
        *partial = Some(Err(failure));
    }
    text.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::service::admission::{Admission, TooLong};

    const LIMIT: usize = 9;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let admission = Admission::new(1 << 20, LIMIT, Arc::default());
        let mut partial = None;
        let mut found = Vec::new();
        let mut take = |line: Option<PartialLine>| {
            found.push(match line {
                Some(Ok(line)) => String::from_utf8(line.bytes().to_vec()).unwrap(),
                Some(Err(failure)) => format!("{failure:?}"),
                None => String::new(),
            });
        };
        for piece in chunks.iter().flat_map(|chunk| chunk.split_inclusive(|byte| *byte == b'\n')) {
            if push(&mut partial, piece, || admission.incoming(TooLong::Refuse)) {
                take(partial.take());
            }
        }
        take(partial.take());
        assert!(admission.in_flight() == 0);
        found
    }

    #[test]
    fn lines_are_the_same_wherever_the_body_is_cut() {
        for body in
            ["", "\n", "one\ntwo\r\n\nthree", "a\nlonger than nine\nb\n", "123456789\n1234567890\n\n\n"]
        {
            let body = body.as_bytes();
            let whole = split(&[body]);
            for first in 0..=body.len() {
                for second in first..=body.len() {
                    let chunks = [&body[..first], &body[first..second], &body[second..]];
                    assert_eq!(split(&chunks), whole, "{first} {second}");
                }
            }
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            assert_eq!(split(&bytes), whole);
        }
        assert_eq!(split(&[b"one\ntwo\r\n\nthree"]), ["one", "two\r", "", "three"]);
        assert_eq!(split(&[b"a\nlonger than nine\nb\n"]), ["a", "TooLarge(9)", "b", ""]);
    }
}
