//! `tamis bogofilter`, and tamis called as bogofilter: takes bogofilter's options and configuration, answers in its
//! formats and with its exit statuses, and scores with a tamis model.

mod arguments;
mod config;
mod folder;
mod header;
mod keys;
mod layout;
mod mails;
mod numbers;
mod outcome;
mod query;
mod report;
mod settings;

pub(crate) mod run;
