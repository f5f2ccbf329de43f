//! The program's output, for people and for programs.

pub(crate) mod canvas;
pub(crate) mod comparison;
pub(crate) mod confusion;
pub(crate) mod expected;
pub(crate) mod facts;
pub(crate) mod fixed;
pub(crate) mod log;
pub(crate) mod manual;
pub(crate) mod page;
pub(crate) mod path_text;
pub(crate) mod pictures;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod usage;
pub(crate) mod verdict;
