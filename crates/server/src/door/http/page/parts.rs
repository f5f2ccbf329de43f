//! What forms send: a few fields, and messages.

use std::collections::HashMap;

use axum::extract::{DefaultBodyLimit, Form, FromRequest, Multipart, Request};
use serde::Deserialize;
use tokio::time::timeout;

use crate::door::http::access::HttpContext;
use crate::door::http::refusal::Refusal;
use crate::service::admission::{Incoming, TooLong};

/// The fields of a form or a query.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    /// A field; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |value| value)
    }
}

/// The fields of a small form.
///
/// # Errors
/// If it does not arrive, is too long, or is another form.
pub(super) async fn form_of(context: &HttpContext, request: Request) -> Result<Fields, Refusal> {
    let limit = context.service.settings().limits.command;
    let form = timeout(limit, Form::from_request(request, &())).await.map_err(|_| Refusal::too_slow())?;
    form.map(|Form(form)| form).map_err(|rejection| Refusal::new(rejection.status(), rejection.body_text()))
}

/// Maximum bytes of a field beside a message.
const MOST_FIELD: usize = 1_000;

/// A form with a message, or with a file of them. Its bytes count as in flight until it is dropped.
pub(super) struct Parts {
    pub(super) fields: Fields,
    pub(super) message: Incoming,
}

impl Parts {
    /// Reads a form whose fields `message` and `file` are at most `most` bytes together.
    ///
    /// # Errors
    /// If it does not arrive, is too long, or is no form.
    pub(super) async fn read(
        context: &HttpContext,
        mut request: Request,
        most: usize,
    ) -> Result<Self, Refusal> {
        DefaultBodyLimit::disable().apply(&mut request);
        let mut message = context.service.incoming(TooLong::Refuse);
        message.limit = most;
        let mut parts = Parts { fields: Fields::default(), message };
        let reading = timeout(context.service.settings().limits.message, parts.fill(request));
        reading.await.unwrap_or_else(|_| Err(Refusal::too_slow()))?;
        Ok(parts)
    }

    async fn fill(&mut self, request: Request) -> Result<(), Refusal> {
        let bad = |error: axum::extract::multipart::MultipartError| Refusal::bad_request(error.body_text());
        let mut form = Multipart::from_request(request, &())
            .await
            .map_err(|rejection| Refusal::bad_request(rejection.body_text()))?;
        while let Some(mut field) = form.next_field().await.map_err(bad)? {
            let name: String = field.name().unwrap_or_default().chars().take(20).collect();
            let is_message = name == "message" || name == "file";
            let mut value = Vec::new();
            while let Some(chunk) = field.chunk().await.map_err(bad)? {
                match is_message {
                    true => self.message.push(&chunk)?,
                    false if value.len() + chunk.len() > MOST_FIELD => {
                        return Err(Refusal::unprocessable(format!("{name}: expected a shorter field")));
                    }
                    false => value.extend_from_slice(&chunk),
                }
            }
            if !is_message && self.fields.0.len() < 10 {
                self.fields.0.insert(name, String::from_utf8_lossy(&value).into_owned());
            }
        }
        Ok(())
    }
}
