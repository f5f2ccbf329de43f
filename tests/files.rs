//! Model files: their permissions and locks, and the page that describes them.

mod format_page;
mod on_disk;
