//! The server as its clients see it: each test starts `tamisd` in a folder of its own.
#![allow(clippy::unwrap_used, clippy::print_stderr, unreachable_pub)]

#[path = "server/http_client.rs"]
mod http_client;
#[path = "server/support.rs"]
mod support;

#[path = "server/attacks.rs"]
mod attacks;
#[path = "server/fuzzed.rs"]
mod fuzzed;
#[path = "server/http.rs"]
mod http;
#[path = "server/life.rs"]
mod life;
#[path = "server/milter.rs"]
mod milter;
#[path = "server/page.rs"]
mod page;
#[path = "server/rules.rs"]
mod rules;
#[path = "server/spamd.rs"]
mod spamd;
