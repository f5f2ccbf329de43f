//! Steps after learning documents one by one.

use anyhow::Result;
use tamis_train::Learner;

use crate::model::opened::check_unchanged;
use crate::output::shown::note;
use tamis_report::counted;

/// Writes what was learned, and prints a note if the model was retrained.
pub fn commit(learner: &mut Learner) -> Result<()> {
    check_unchanged(learner.filter())?;
    if learner.commit()? {
        note!("retrained on {}", counted(learner.filter().information().size.documents as u64, "document"));
    }
    Ok(())
}
