//! What follows learning one by one.

use anyhow::Result;
use tamis_filter::Learner;

use crate::output::numbers::counted;
use crate::output::shown::note;

/// Retrains a model that has learned much since the last time, if its file was just rewritten.
pub(crate) fn retrain_if_due(learner: &mut Learner) -> Result<()> {
    if learner.filter().information().log_bytes == 0 && learner.wants_retraining() {
        learner.retrain()?;
        note!("retrained on {}", counted(learner.filter().information().documents as u64, "document"));
    }
    Ok(())
}
