//! Sources: folders, standard input, archives.

pub mod compressed;
mod every_kind;
mod folders;
mod kinds;
mod stdin;
pub mod trees;
