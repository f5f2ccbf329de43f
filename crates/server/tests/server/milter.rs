//! Tests of milter: a scripted MTA, then miltertest and Postfix.

#[path = "milter/mta.rs"]
pub mod mta;
#[path = "milter/peers.rs"]
mod peers;
#[path = "milter/protocol.rs"]
mod protocol;
#[path = "milter/verdicts.rs"]
mod verdicts;
