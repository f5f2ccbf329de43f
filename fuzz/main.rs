//! libFuzzer, over the target that the variable `TARGET` names.
#![no_main]

mod targets;

use std::sync::LazyLock;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    let found = targets::ALL.iter().find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("TARGET: expected one of fuzz/targets, got {name:?}")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| RUN(data));
