//! `tamis bogofilter`, and the program under the name of bogofilter: takes its options and configuration, answers in
//! its forms and with its exit statuses, and scores by a model of ours.

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
