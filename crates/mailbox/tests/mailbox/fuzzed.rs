//! What fuzzing has found worth keeping, once more (see `fuzz/README.md`).

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../../fuzz/targets/imap.rs"]
pub mod imap;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/imap")
}

#[test]
fn every_input_kept_from_fuzzing_still_holds() {
    let page = fs::read_to_string(corpus().join("../../README.md")).unwrap();
    assert!(page.contains("| `imap` |"), "expected in fuzz/README.md");
    let inputs: Vec<_> = fs::read_dir(corpus()).unwrap().map(Result::unwrap).collect();
    assert!(inputs.len() >= 10, "{} inputs", inputs.len());
    for input in inputs {
        eprintln!("{}", input.path().display()); // shown if the input makes it panic
        imap::run(&fs::read(input.path()).unwrap());
    }
}
