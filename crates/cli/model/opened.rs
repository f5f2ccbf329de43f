//! A model in use, whose file others may write to meanwhile.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use tamis_filter::{Error, ErrorKind, Filter};

use crate::model::rescue;

/// A model that is opened when it is asked, and again if its file was changed in place.
pub(crate) struct Model<Open> {
    open: Open,
    filter: Option<Filter>,
}

/// How often an answer is looked for while the file is being written, and how long one sleeps before the next time;
/// twice as long each time.
const ATTEMPTS: u32 = 6;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl<Open: Fn() -> Result<Filter>> Model<Open> {
    pub(crate) fn new(open: Open) -> Self {
        Model { open, filter: None }
    }

    /// What `work` makes of the model, which stayed the same all the while.
    pub(crate) fn ask<T>(&mut self, mut work: impl FnMut(&Filter) -> Result<T>) -> Result<T> {
        let mut attempt = 0;
        loop {
            let outcome = self.filter().and_then(|filter| {
                let answer = work(filter)?;
                check_unchanged(filter).map(|()| answer)
            });
            attempt += 1;
            match outcome {
                Err(error) if may_pass(&error) => {
                    self.filter = None;
                    if attempt == ATTEMPTS {
                        return Err(error);
                    }
                    sleep(POLL_INTERVAL * (1 << (attempt - 1)));
                }
                outcome => return outcome,
            }
        }
    }

    /// The model, as it stands; answers that are given away are asked for.
    pub(crate) fn filter(&mut self) -> Result<&Filter> {
        match &mut self.filter {
            Some(filter) => Ok(filter),
            none => {
                rescue::lost_a_page();
                Ok(none.insert((self.open)()?))
            }
        }
    }
}

/// Makes sure that the file of a model was not changed in place since it was opened.
pub(crate) fn check_unchanged(filter: &Filter) -> Result<()> {
    filter.check_unchanged()?;
    if rescue::lost_a_page() {
        return Err(LostPage.into());
    }
    Ok(())
}

/// Of a mapped model something was lost.
#[derive(Debug)]
struct LostPage;

impl std::error::Error for LostPage {}

impl fmt::Display for LostPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a part of the model could not be read: its file was truncated while in use, or the disk fails",
        )
    }
}

/// Whether an error may come from a file that is just being written, and soon is whole again.
fn may_pass(error: &anyhow::Error) -> bool {
    error.is::<LostPage>()
        || matches!(
            error.downcast_ref().map(Error::kind),
            Some(
                ErrorKind::Changed { .. }
                    | ErrorKind::Checksum { .. }
                    | ErrorKind::Inconsistent { .. }
                    | ErrorKind::Length { .. }
                    | ErrorKind::NotAModel { .. }
            )
        )
}
