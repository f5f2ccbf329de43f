//! Mail: scored in a pipe, in every form and disguise, by the programs that deliver it.

pub mod attacks;
mod bogofilter;
mod bogofilter_peer;
mod charsets;
mod cut_off;
mod delivery;
mod dovecot;
mod evasion;
mod forwarded;
mod log;
mod names;
mod on_its_way;
pub mod recipes;
mod score;
mod verdicts;
