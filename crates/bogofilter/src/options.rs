//! bogofilter's options: names, command line, configuration files, settings.

pub(crate) mod arguments;
pub(crate) mod config;
pub(crate) mod settings;
pub(crate) mod table;
