//! Answers to requests that were not served.

use std::time::Duration;

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::models::request::ServiceError;

/// Why a request was not served: a status and a text, which becomes `{"error": TEXT}`.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) error: String,
    /// Seconds until it may be tried again.
    retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Refusal { status, error: error.into(), retry_after: None }
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

    pub(super) fn too_many_guesses(wait: Duration) -> Self {
        let error = "too many wrong passwords from this address; try again later";
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, error);
        Refusal { retry_after: Some(wait.as_secs() + 1), ..refusal }
    }

    pub(super) fn too_slow() -> Self {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")
    }
}

impl From<ServiceError> for Refusal {
    fn from(failure: ServiceError) -> Self {
        let status = match failure {
            _ if failure.is_temporary() => StatusCode::SERVICE_UNAVAILABLE,
            ServiceError::UnknownModel(_) | ServiceError::NotLearned => StatusCode::NOT_FOUND,
            ServiceError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            ServiceError::Denied => StatusCode::FORBIDDEN,
            ServiceError::Request(_) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal {
            retry_after: (failure == ServiceError::Busy).then_some(1),
            ..Refusal::new(status, failure.to_string())
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.error }))).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            // not Basic: a browser would then send the password with requests that other pages make
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tamisd\""));
        }
        response
    }
}
