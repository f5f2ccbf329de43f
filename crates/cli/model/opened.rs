//! An open model, whose file others may change meanwhile.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use tamis_filter::{Error, ErrorKind, Filter};

use crate::model::rescue;

/// A model that is opened on first use, and again if its file was changed in place.
pub(crate) struct Model<Open> {
    open: Open,
    filter: Option<Filter>,
}

/// Number of attempts while the file is being written, and the first pause between them, which doubles each time.
const ATTEMPTS: u32 = 6;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl<Open: Fn() -> Result<Filter>> Model<Open> {
    pub(crate) fn new(open: Open) -> Self {
        Model { open, filter: None }
    }

    /// The result of `work` on a model that did not change meanwhile.
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

    /// The open model, unchecked: use [`ask`](Self::ask) for results that are printed.
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

/// Checks that the file of a model was not changed in place since it was opened.
pub(crate) fn check_unchanged(filter: &Filter) -> Result<()> {
    filter.check_unchanged()?;
    if rescue::lost_a_page() {
        return Err(LostPage.into());
    }
    Ok(())
}

/// The error of a mapped model with a lost page.
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

/// Whether an error may come from a file that is being written, and will soon be whole.
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
