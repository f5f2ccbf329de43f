//! libFuzzer, over the target that the variable `TARGET` names.
#![no_main]

mod targets;

#[path = "targets/imap.rs"]
mod imap;
#[path = "targets/milter.rs"]
mod milter;
#[path = "targets/spamd.rs"]
mod spamd;

/// Targets of the server and of the mailbox agent, which `cargo test` runs with their own tests.
const OTHERS: &[targets::Target] = &[("imap", imap::run), ("milter", milter::run), ("spamd", spamd::run)];

use std::sync::LazyLock;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    let found = targets::ALL.iter().chain(OTHERS).find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("TARGET: expected one of fuzz/targets, got {name:?}")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| RUN(data));
