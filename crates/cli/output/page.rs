//! Reports with pictures, for `--html`.

use std::path::Path;

use anyhow::{Context, Result};
use tamis_program::shown_path;
use tamis_report::Page;

/// Writes a page to a file.
pub(crate) fn write(path: &Path, page: &Page) -> Result<()> {
    std::fs::write(path, page.to_html()).with_context(|| shown_path(path))
}
