//! Answers to requests that were not served.

use axum::http::StatusCode;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use axum::{Json, http::HeaderValue};
use serde_json::json;

use crate::models::failure::Failure;

/// Why a request was not served: a status and a text, which becomes `{"error": TEXT}`.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
    /// Whether to try again in a second.
    may_retry: bool,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Refusal { status, error: error.into(), may_retry: false }
    }

    pub(super) fn bad_request(error: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn unprocessable(error: impl Into<String>) -> Self {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    pub(super) fn forbidden(error: impl Into<String>) -> Self {
        Refusal::new(StatusCode::FORBIDDEN, error)
    }

    pub(super) fn too_slow() -> Self {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let status = match failure {
            Failure::Busy | Failure::NoModel(_) | Failure::Model(_) => StatusCode::SERVICE_UNAVAILABLE,
            Failure::UnknownModel(_) | Failure::NotLearned => StatusCode::NOT_FOUND,
            Failure::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::Denied => StatusCode::FORBIDDEN,
            Failure::Request(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal { may_retry: failure == Failure::Busy, ..Refusal::new(status, failure.to_string()) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.error }))).into_response();
        let headers = response.headers_mut();
        if self.may_retry {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            // not Basic: a browser would then send the password with requests that other pages make
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tamisd\""));
        }
        response
    }
}
