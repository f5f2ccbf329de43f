//! Lists of paths.

use std::ffi::OsString;

use anyhow::{Context, Result, bail};
use tamis_program::{Stream, shown_path};
use tamis_train::Kind;

use crate::args::ListArgs;
use crate::output::{from_text, path_of};

impl ListArgs {
    /// The paths given, followed by those in the list.
    pub(crate) fn add_to(&self, given: &[OsString]) -> Result<Vec<OsString>> {
        let mut paths = given.to_vec();
        let Some(list) = &self.files_from else { return Ok(paths) };
        if list.as_os_str() == "-" && paths.iter().any(|path| path == "-") {
            bail!("--files-from -: standard input is the list: expected no document on it");
        }
        let bytes = Stream::of(list)
            .and_then(|list| list.into_all(Kind::Text))
            .with_context(|| format!("--files-from {}", shown_path(&list)))?;
        let entries = bytes.split(|byte| *byte == if self.null { 0 } else { b'\n' });
        for entry in entries.filter(|entry| !entry.is_empty()) {
            paths.push(if self.null {
                path_of(entry.to_vec())
            } else {
                from_text(entry.strip_suffix(b"\r").unwrap_or(entry))?
            });
        }
        Ok(paths)
    }
}
