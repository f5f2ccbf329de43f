//! The API of our own: one document a request.

use std::borrow::Cow;
use std::fmt;

use axum::Json;
use axum::extract::{Query, Request as HttpRequest};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;
use tamis_mail::{file_text, not_mail};
use tamis_train::Document;

use crate::door::http::access::{HttpContext, SharedContext, check_may_ask, check_may_learn};
use crate::door::http::body::read;
use crate::door::http::refusal::Refusal;
use crate::models::request::{Feedback, FeedbackOutcome, ModelId, ServiceError};
use crate::record::Door;
use crate::service::Request;
use crate::service::admission::{Incoming, TooLong};

/// Number of reasons that are told if the request names none, and at most.
pub(super) const REASONS: usize = 20;
const MOST_REASONS: usize = 10_000;

/// What a query says about a request.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScoreQuery {
    user: Option<String>,
    model: Option<String>,
    /// Whether to tell the probability of each label.
    pub(super) probabilities: bool,
    reasons: Option<usize>,
}

/// What a query says about a document to learn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LearnQuery {
    label: String,
    user: Option<String>,
    model: Option<String>,
}

impl ScoreQuery {
    /// The model that is query.
    ///
    /// # Errors
    /// If a user and a model are named.
    pub(super) fn model(&self) -> Result<ModelId<'_>, Refusal> {
        named(self.user.as_deref(), self.model.as_deref())
    }
}

/// The model of a user, one that is named, or the shared one.
fn named<'a>(user: Option<&'a str>, model: Option<&'a str>) -> Result<ModelId<'a>, Refusal> {
    match (user, model) {
        (None | Some(""), None) => Ok(ModelId::Shared),
        (Some(user), None) => Ok(ModelId::User(user)),
        (None, Some(model)) => Ok(ModelId::Named(model)),
        (Some(_), Some(_)) => Err(Refusal::unprocessable("expected user or model, got both")),
    }
}

/// The query of a request.
///
/// # Errors
/// If it has other keys, or values that cannot be.
pub(super) fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Refusal> {
    let parsed = Query::<T>::try_from_uri(uri);
    parsed.map(|Query(query)| query).map_err(|rejection| Refusal::unprocessable(rejection.body_text()))
}

/// A document that was posted: text, or a message, perhaps with a dense vector. What else JSON has is not kept.
#[derive(Default, Deserialize)]
pub(super) struct PostedDocument<'a> {
    /// Any JSON, as it was sent; the answer to one of many documents has it too.
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    text: Option<Cow<'a, str>>,
    mail: Option<String>,
    /// A message that is not in JSON.
    #[serde(skip)]
    raw: Option<&'a [u8]>,
    #[serde(default)]
    pub(super) vector: JsonVector,
}

/// A dense vector in JSON, an array of numbers; empty if there is none.
#[derive(Default)]
pub(super) struct JsonVector(pub(super) Vec<f32>);

/// Maximum numbers of a vector, as many as a model may have.
const MOST_NUMBERS: usize = 4_096;

impl<'de> Deserialize<'de> for JsonVector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(JsonVector::default())
    }
}

// a longer one takes no memory
impl<'de> Visitor<'de> for JsonVector {
    type Value = JsonVector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of at most {MOST_NUMBERS} numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut numbers: A) -> Result<JsonVector, A::Error> {
        while let Some(number) = numbers.next_element()? {
            if self.0.len() == MOST_NUMBERS {
                return Err(A::Error::invalid_length(MOST_NUMBERS + 1, &self));
            }
            self.0.push(number);
        }
        Ok(self)
    }
}

/// Reads a JSON object.
///
/// # Errors
/// If it is none, in few words, whatever was sent.
pub(super) fn parse_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    // the error for text in its place would repeat the text
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err("expected a JSON object".to_owned());
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

impl PostedDocument<'_> {
    /// The document without its vector.
    ///
    /// # Errors
    /// If there is neither text nor mail, or both.
    pub(super) fn document(&self) -> Result<Document<'_>, ServiceError> {
        match (&self.text, self.mail.as_ref().map(String::as_bytes).or(self.raw)) {
            (Some(text), None) => Ok(Document::Text(text)),
            (None, Some(mail)) => Ok(Document::Mail(mail)),
            _ => Err(ServiceError::Request("expected \"text\" or \"mail\"".to_owned())),
        }
    }
}

/// What the type of a body says about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Mail,
    Text,
    Json,
}

impl BodyKind {
    fn from_headers(headers: &HeaderMap) -> Result<Self, Refusal> {
        let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(BodyKind::Mail) };
        let name = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        match name.trim().to_ascii_lowercase().as_str() {
            "message/rfc822" | "application/octet-stream" => Ok(BodyKind::Mail),
            "text/plain" => Ok(BodyKind::Text),
            "application/json" => Ok(BodyKind::Json),
            name => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("expected Content-Type message/rfc822, text/plain or application/json, got {name:?}"),
            )),
        }
    }

    /// What a body of this type holds. A file that is no mail is read as text.
    fn parse(self, bytes: &[u8]) -> Result<PostedDocument<'_>, Refusal> {
        let text = match (self, not_mail(bytes)) {
            (BodyKind::Json, _) => return parse_json(bytes).map_err(Refusal::unprocessable),
            (BodyKind::Mail, None) => {
                return Ok(PostedDocument { raw: Some(bytes), ..PostedDocument::default() });
            }
            (BodyKind::Mail, Some(what)) => {
                file_text(bytes).map_err(|_| format!("expected mail, got {what}"))
            }
            (BodyKind::Text, _) => {
                let text = str::from_utf8(bytes).map(Cow::Borrowed);
                text.map_err(|error| format!("expected text in UTF-8: {error}"))
            }
        };
        let text = Some(text.map_err(Refusal::unprocessable)?);
        Ok(PostedDocument { text, ..PostedDocument::default() })
    }
}

/// Reads the document of a request. A message that is only scored may be cut. The bytes count as in flight until they are
/// dropped.
async fn read_document(
    context: &HttpContext,
    request: HttpRequest,
    too_long: TooLong,
) -> Result<(BodyKind, Incoming), Refusal> {
    let (parts, body) = request.into_parts();
    let kind = BodyKind::from_headers(&parts.headers)?;
    let too_long = if kind == BodyKind::Mail { too_long } else { TooLong::Refuse };
    Ok((kind, read(context, &parts.headers, body, too_long).await?))
}

/// `POST /v1/score` and `/v1/explain`. `usual` is the number of reasons if the query has none.
pub(super) async fn score(
    context: SharedContext,
    request: HttpRequest,
    usual: Option<usize>,
) -> Result<Response, Refusal> {
    let query: ScoreQuery = query(request.uri())?;
    let model = query.model()?;
    let n_reasons = query.reasons.or(usual).map(|n| n.min(MOST_REASONS));
    check_may_ask(&context, request.headers(), model).await?;
    let (kind, incoming) = read_document(&context, request, TooLong::Cut).await?;
    let posted = kind.parse(incoming.bytes())?;
    let request = Request {
        reasons: n_reasons.unwrap_or(0),
        probabilities: query.probabilities,
        ..Request::new(Door::Http, model)
    };
    let document = posted.document()?;
    let answer = context.service.score(&request, document.with_vector(&posted.vector.0)).await?;
    Ok(Json(answer.with_reasons(n_reasons)).into_response())
}

/// `POST /v1/learn`
pub(super) async fn learn(context: SharedContext, request: HttpRequest) -> Result<Response, Refusal> {
    check_may_learn(&context, request.headers()).await?;
    let LearnQuery { label, user, model } = query(request.uri())?;
    let model = named(user.as_deref(), model.as_deref())?;
    let outcome = correct(&context, request, model, Feedback::Learn(label.clone())).await?;
    let is_new = outcome == FeedbackOutcome::Learned;
    Ok(Json(json!({ "label": label, "learned": is_new })).into_response())
}

/// `POST /v1/forget`
pub(super) async fn forget(context: SharedContext, request: HttpRequest) -> Result<Response, Refusal> {
    check_may_learn(&context, request.headers()).await?;
    let query: ScoreQuery = query(request.uri())?;
    let model = query.model()?;
    match correct(&context, request, model, Feedback::Forget).await? {
        FeedbackOutcome::Unknown => Err(ServiceError::NotLearned.into()),
        _ => Ok(Json(json!({ "forgotten": true })).into_response()),
    }
}

async fn correct(
    context: &HttpContext,
    request: HttpRequest,
    model: ModelId<'_>,
    feedback: Feedback,
) -> Result<FeedbackOutcome, Refusal> {
    let (kind, incoming) = read_document(context, request, TooLong::Refuse).await?;
    let posted = kind.parse(incoming.bytes())?;
    let by = context.peer.to_string();
    let request = Request { by: &by, ..Request::new(Door::Http, model) };
    let document = posted.document()?;
    Ok(context.service.correct(&request, feedback, document.with_vector(&posted.vector.0)).await?)
}
