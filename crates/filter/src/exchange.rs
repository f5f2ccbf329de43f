//! Export and import: models as JSON lines, and bogofilter's word lists.

pub(crate) mod bogofilter;
pub(crate) mod draft;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod lines;
