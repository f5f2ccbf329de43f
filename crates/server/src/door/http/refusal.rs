//! Answers to requests that were not served.

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::models::request::ServiceError;

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

impl From<ServiceError> for Refusal {
    fn from(failure: ServiceError) -> Self {
        let status = match failure {
            ServiceError::Busy | ServiceError::NoModel(_) | ServiceError::Model(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            ServiceError::UnknownModel(_) | ServiceError::NotLearned => StatusCode::NOT_FOUND,
            ServiceError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            ServiceError::Denied => StatusCode::FORBIDDEN,
            ServiceError::Request(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ServiceError::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal { may_retry: failure == ServiceError::Busy, ..Refusal::new(status, failure.to_string()) }
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
