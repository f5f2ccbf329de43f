//! Labels many documents in one request: lines of JSON in, lines of JSON out, as they arrive.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep};

use crate::door::http::body::{check_encoding, next_chunk};
use crate::door::http::context::{Context, Shared};
use crate::door::http::lines::Lines;
use crate::door::http::own::{Asked, Posted, query};
use crate::door::http::refusal::Refusal;
use crate::door::http::verdict::Verdict;
use crate::models::failure::Failure;
use crate::record::metrics::Door;
use crate::service::admission::TooLong;
use crate::service::serving;

/// `POST /v1/label`
pub(super) async fn label(context: Shared, request: Request) -> Result<Response, Refusal> {
    let asked: Asked = query(request.uri())?;
    // so that a model that is missing is told by the status
    context.service.state(asked.of()?)?;
    let (parts, mut body) = request.into_parts();
    check_encoding(&parts.headers)?;
    let limits = &context.service.settings().limits;
    let first = next_chunk(&mut body, limits.idle()).await?;
    let deadline = Box::pin(sleep(limits.idle()));
    let labeller = Labeller { context: context.0.clone(), asked, lines: Lines::default(), n_lines: 0 };
    let labelled = Labelled { body: Some(body), first, labeller, deadline, must_yield: false };
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::new(labelled)).into_response())
}

/// A line to label.
#[derive(Deserialize)]
struct Line {
    id: Option<Value>,
    #[serde(flatten)]
    posted: Posted,
}

/// The answer to a line.
#[derive(Serialize)]
struct Answered<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(flatten)]
    verdict: Verdict<'a>,
}

/// The answer to a line that has no verdict.
#[derive(Serialize)]
struct Failed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    /// From 1.
    line: u64,
    error: String,
}

/// Answers lines.
struct Labeller {
    context: Arc<Context>,
    asked: Asked,
    lines: Lines,
    n_lines: u64,
}

impl Labeller {
    /// The answers to the lines that a chunk completes.
    fn feed(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut answers = Vec::new();
        let Labeller { context, asked, lines, n_lines } = self;
        let new = || context.service.incoming(TooLong::Refuse);
        lines.push(chunk, &new, |line| {
            *n_lines += 1;
            answer(context, asked, *n_lines, line, &mut answers);
        });
        answers
    }

    /// The answer to the last line, if it has no line feed.
    fn finish(&mut self) -> Vec<u8> {
        let mut answers = Vec::new();
        let Labeller { context, asked, lines, n_lines } = self;
        lines.finish(|line| answer(context, asked, *n_lines + 1, line, &mut answers));
        answers
    }

    /// Tells why the rest is not read.
    fn give_up(&self, error: &str) -> Vec<u8> {
        let mut answers = Vec::new();
        write(&Failed { id: None, line: self.n_lines + 1, error: error.to_owned() }, &mut answers);
        answers
    }
}

/// Writes the answer to a line, unless it is blank.
fn answer(
    context: &Context,
    asked: &Asked,
    number: u64,
    line: Option<Result<&[u8], Failure>>,
    answers: &mut Vec<u8>,
) {
    let Some(line) = line else { return };
    if line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
        return;
    }
    let parsed = line.map_err(|failure| {
        if failure == Failure::Busy {
            context.service.refused();
        }
        failure.to_string()
    });
    let parsed = parsed.and_then(|line| serde_json::from_slice(line).map_err(|error| error.to_string()));
    let line: Line = match parsed {
        Ok(line) => line,
        Err(error) => return write(&Failed { id: None, line: number, error }, answers),
    };
    let id = line.id.as_ref();
    let failed = |error: String| Failed { id, line: number, error };
    let of = match asked.of() {
        Ok(of) => of,
        // checked when the request began
        Err(refusal) => return write(&failed(format!("{refusal:?}")), answers),
    };
    let request =
        serving::Request { probabilities: asked.probabilities, ..serving::Request::new(Door::Http, of) };
    match line.posted.document().and_then(|document| context.service.score(&request, document)) {
        Ok(answer) => write(&Answered { id, verdict: Verdict::new(&answer, None) }, answers),
        Err(failure) => write(&failed(failure.to_string()), answers),
    }
}

fn write(answer: &impl Serialize, answers: &mut Vec<u8>) {
    // neither a Vec nor these types can fail
    let _ = serde_json::to_writer(&mut *answers, answer);
    answers.push(b'\n');
}

/// The body of the answer. It reads a chunk of the request only when the client has taken the answers to the one before.
struct Labelled {
    /// `None` at its end.
    body: Option<Body>,
    /// The chunk that was read before the answer began.
    first: Option<Bytes>,
    labeller: Labeller,
    /// When the next line has to be complete.
    deadline: Pin<Box<Sleep>>,
    /// Whether other connections get their turn before the next chunk.
    must_yield: bool,
}

impl Labelled {
    /// The answers to a chunk. A line has the time of a message; between lines the client may be idle.
    fn feed(&mut self, chunk: &[u8]) -> Vec<u8> {
        let (n_before, was_within) = (self.labeller.n_lines, self.labeller.lines.is_within());
        let answers = self.labeller.feed(chunk);
        let is_within = self.labeller.lines.is_within();
        if n_before != self.labeller.n_lines || is_within != was_within {
            let limits = &self.labeller.context.service.settings().limits;
            let time = if is_within { limits.message() } else { limits.idle() };
            self.deadline.as_mut().reset(Instant::now() + time);
        }
        answers
    }

    fn end(&mut self, answers: Vec<u8>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.body = None;
        Poll::Ready((!answers.is_empty()).then(|| Ok(Frame::data(answers.into()))))
    }
}

impl HttpBody for Labelled {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::take(&mut self.must_yield) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            let this = &mut *self;
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            let chunk = match this.first.take() {
                Some(first) => Some(first),
                None => match Pin::new(body).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
                    Poll::Ready(None) => {
                        let answers = this.labeller.finish();
                        return this.end(answers);
                    }
                    Poll::Ready(Some(Err(error))) => {
                        let answers = this.labeller.give_up(&format!("the body broke off: {error}"));
                        return this.end(answers);
                    }
                    Poll::Pending if this.deadline.as_mut().poll(cx).is_ready() => {
                        let answers = this.labeller.give_up("the line took too long to arrive");
                        return this.end(answers);
                    }
                    Poll::Pending => return Poll::Pending,
                },
            };
            let answers = this.feed(&chunk.unwrap_or_default());
            if !answers.is_empty() {
                this.must_yield = true;
                return Poll::Ready(Some(Ok(Frame::data(answers.into()))));
            }
        }
    }
}
