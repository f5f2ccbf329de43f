//! Sources: folders, standard input, archives.

mod compressed;
mod every_kind;
mod stdin;
pub mod trees;
