//! What the server tells about its models and itself.

use tamis_train::Classes;

use crate::models::request::{ModelId, ServiceError};
use crate::service::Service;

/// What a model tells about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ModelState {
    /// Labels and the number of documents learned under each.
    pub documents: Vec<(String, u64)>,
    /// The label that means spam, if there is one.
    pub spam: Option<String>,
    /// Number of terms.
    pub terms: usize,
    /// Bytes of the file.
    pub bytes: usize,
    /// Bytes of its log.
    pub log_bytes: usize,
}

impl Service {
    /// The labels of a model, in order, with the number of documents of each, and its file's size in bytes.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn state(&self, model: ModelId<'_>) -> Result<ModelState, ServiceError> {
        let open = self.models.to_score(model)?.opened()?;
        let filter = open.filter();
        let information = filter.information();
        let labels = information.classes.iter().map(|(_, label)| label.to_owned());
        Ok(ModelState {
            documents: labels.zip(information.totals.iter().map(|totals| totals.documents)).collect(),
            spam: filter.spam().and_then(|spam| filter.classes().label(spam)).map(str::to_owned),
            terms: information.size.terms,
            bytes: information.file.bytes,
            log_bytes: information.file.log_bytes,
        })
    }

    /// The label that clients mean by `spam`, `ham` or a label of the model: in a spam filter, `spam` is the label that
    /// means spam, and `ham` the other one.
    ///
    /// # Errors
    /// If there is no such label, or the model cannot be opened.
    pub fn label(&self, model: ModelId<'_>, class: &str) -> Result<String, ServiceError> {
        let state = self.state(model)?;
        let labels = || state.documents.iter().map(|(label, _)| label);
        let others: Vec<_> = labels().filter(|label| Some(*label) != state.spam.as_ref()).collect();
        let label = match (class, &state.spam, &others[..]) {
            ("spam", Some(spam), _) => Some(spam),
            ("ham", Some(_), [ham]) => Some(*ham),
            _ => labels().find(|label| *label == class),
        };
        label.cloned().ok_or_else(|| {
            let known = Classes::new(labels().map(String::as_str)).unwrap_or_default();
            ServiceError::Request(format!("expected one of the labels {known}, got {class:?}"))
        })
    }

    /// The counters as OpenMetrics text.
    pub fn metrics_page(&self) -> String {
        let gauge = |name, help, value: usize| (name, help, value as f64);
        let mut gauges = vec![
            gauge("bytes_in_flight", "Bytes of messages in the server.", self.admission.in_flight()),
            gauge("waiting_to_learn", "Corrections that wait to be learned.", self.models.n_waiting()),
            gauge("user_models", "Users' models that are open.", self.models.open_users().len()),
        ];
        if let Some(outbox) = self.outbox() {
            gauges.push(gauge("fleet_waiting", "Records that wait to be sent to the fleet.", outbox.len()));
        }
        if let Ok(state) = self.state(ModelId::Shared) {
            let documents = state.documents.iter().map(|(_, n)| *n).sum::<u64>();
            gauges.push(gauge("model_documents", "Documents of the shared model.", documents as usize));
            gauges.push(gauge("model_terms", "Terms of the shared model.", state.terms));
            gauges.push(gauge("model_bytes", "Bytes of the shared model's file.", state.bytes));
            gauges.push(gauge("model_log_bytes", "Bytes of its log.", state.log_bytes));
        }
        let mut page = String::new();
        // writing to a String cannot fail
        let _ = self.metrics.write(&mut page, &gauges);
        page
    }
}
