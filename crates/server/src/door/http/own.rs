//! The API of our own: one document a request.

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tamis_train::Document;

use crate::door::http::body::read;
use crate::door::http::context::{Context, Shared};
use crate::door::http::password::check_may_learn;
use crate::door::http::refusal::Refusal;
use crate::door::http::verdict::Verdict;
use crate::models::failure::Failure;
use crate::models::registry::Of;
use crate::models::waiting::{Change, Corrected};
use crate::record::metrics::Door;
use crate::service::admission::{Incoming, TooLong};
use crate::service::serving;

/// Number of reasons that are told if the request names none, and at most.
const REASONS: usize = 20;
const MOST_REASONS: usize = 10_000;

/// What a query says about a request.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Asked {
    user: Option<String>,
    model: Option<String>,
    /// Whether to tell the probability of each label.
    pub(super) probabilities: bool,
    reasons: Option<usize>,
}

/// What a query says about a document to learn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lesson {
    label: String,
    user: Option<String>,
    model: Option<String>,
}

/// What a query says about a document to forget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Forgotten {
    user: Option<String>,
    model: Option<String>,
}

impl Asked {
    /// The model that is asked.
    ///
    /// # Errors
    /// If a user and a model are named.
    pub(super) fn of(&self) -> Result<Of<'_>, Refusal> {
        of(self.user.as_deref(), self.model.as_deref())
    }
}

/// The model of a user, one that is named, or the shared one.
fn of<'a>(user: Option<&'a str>, model: Option<&'a str>) -> Result<Of<'a>, Refusal> {
    match (user, model) {
        (None | Some(""), None) => Ok(Of::Shared),
        (Some(user), None) => Ok(Of::User(user)),
        (None, Some(model)) => Ok(Of::Named(model)),
        (Some(_), Some(_)) => Err(Refusal::unprocessable("expected user or model, got both")),
    }
}

/// The query of a request.
///
/// # Errors
/// If it has other keys, or values that cannot be.
pub(super) fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Refusal> {
    let parsed = Query::<T>::try_from_uri(uri);
    parsed.map(|Query(asked)| asked).map_err(|rejection| Refusal::unprocessable(rejection.body_text()))
}

/// A document in JSON: text, or a message.
#[derive(Deserialize)]
pub(super) struct Posted {
    text: Option<String>,
    mail: Option<String>,
}

impl Posted {
    /// # Errors
    /// If there is neither text nor mail, or both.
    pub(super) fn document(&self) -> Result<Document<'_>, Failure> {
        match (&self.text, &self.mail) {
            (Some(text), None) => Ok(Document::Text(text)),
            (None, Some(mail)) => Ok(Document::Mail(mail.as_bytes())),
            _ => Err(Failure::Request("expected \"text\" or \"mail\"".to_owned())),
        }
    }
}

/// What the type of a body says about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Mail,
    Text,
    Json,
}

impl Type {
    fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(Type::Mail) };
        let name = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        match name.trim().to_ascii_lowercase().as_str() {
            "message/rfc822" | "application/octet-stream" => Ok(Type::Mail),
            "text/plain" => Ok(Type::Text),
            "application/json" => Ok(Type::Json),
            name => Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("expected Content-Type message/rfc822, text/plain or application/json, got {name:?}"),
            )),
        }
    }
}

/// A document that was posted. Its bytes count as in flight until it is dropped.
struct Received {
    incoming: Incoming,
    form: Form,
}

enum Form {
    Mail,
    Text,
    Json(Posted),
}

impl Received {
    /// Reads the document of a request. A message that is only scored may be cut.
    async fn read(context: &Context, request: Request, too_long: TooLong) -> Result<Self, Refusal> {
        let (parts, body): (_, Body) = request.into_parts();
        let form = Type::of(&parts.headers)?;
        let too_long = if form == Type::Mail { too_long } else { TooLong::Refuse };
        let incoming = read(context, &parts.headers, body, too_long).await?;
        let form = match form {
            Type::Mail => Form::Mail,
            Type::Text => Form::Text,
            Type::Json => {
                let posted = serde_json::from_slice(incoming.bytes());
                Form::Json(posted.map_err(|error| Refusal::unprocessable(error.to_string()))?)
            }
        };
        Ok(Received { incoming, form })
    }

    fn document(&self) -> Result<Document<'_>, Refusal> {
        match &self.form {
            Form::Mail => Ok(Document::Mail(self.incoming.bytes())),
            Form::Text => match std::str::from_utf8(self.incoming.bytes()) {
                Ok(text) => Ok(Document::Text(text)),
                Err(error) => Err(Refusal::unprocessable(format!("expected text in UTF-8: {error}"))),
            },
            Form::Json(posted) => Ok(posted.document()?),
        }
    }
}

/// `POST /v1/score`
pub(super) async fn score(context: Shared, request: Request) -> Result<Response, Refusal> {
    let asked: Asked = query(request.uri())?;
    let n_reasons = asked.reasons;
    answer(&context, request, asked, n_reasons).await
}

/// `POST /v1/explain`
pub(super) async fn explain(context: Shared, request: Request) -> Result<Response, Refusal> {
    let asked: Asked = query(request.uri())?;
    let n_reasons = asked.reasons.unwrap_or(REASONS);
    answer(&context, request, asked, Some(n_reasons)).await
}

async fn answer(
    context: &Context,
    request: Request,
    asked: Asked,
    n_reasons: Option<usize>,
) -> Result<Response, Refusal> {
    let of = asked.of()?;
    let n_reasons = n_reasons.map(|n| n.min(MOST_REASONS));
    let received = Received::read(context, request, TooLong::Cut).await?;
    let request = serving::Request {
        reasons: n_reasons.unwrap_or(0),
        probabilities: asked.probabilities,
        ..serving::Request::new(Door::Http, of)
    };
    let answer = context.service.score(&request, received.document()?)?;
    Ok(Json(Verdict::new(&answer, n_reasons)).into_response())
}

/// `POST /v1/learn`
pub(super) async fn learn(context: Shared, request: Request) -> Result<Response, Refusal> {
    check_may_learn(&context, request.headers()).await?;
    let Lesson { label, user, model } = query(request.uri())?;
    let of = of(user.as_deref(), model.as_deref())?;
    let corrected = correct(&context, request, of, Change::Learn(label.clone())).await?;
    let is_new = corrected == Corrected::Learned;
    Ok(Json(json!({ "label": label, "learned": is_new })).into_response())
}

/// `POST /v1/forget`
pub(super) async fn forget(context: Shared, request: Request) -> Result<Response, Refusal> {
    check_may_learn(&context, request.headers()).await?;
    let Forgotten { user, model } = query(request.uri())?;
    let of = of(user.as_deref(), model.as_deref())?;
    match correct(&context, request, of, Change::Forget).await? {
        Corrected::Unknown => Err(Failure::NotLearned.into()),
        _ => Ok(Json(json!({ "forgotten": true })).into_response()),
    }
}

async fn correct(
    context: &Context,
    request: Request,
    of: Of<'_>,
    change: Change,
) -> Result<Corrected, Refusal> {
    let received = Received::read(context, request, TooLong::Refuse).await?;
    let request = serving::Request::new(Door::Http, of);
    Ok(context.service.correct(&request, change, received.document()?).await?)
}
