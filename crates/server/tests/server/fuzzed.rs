//! What fuzzing has found worth keeping, once more (see `fuzz/README.md`).

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/targets/milter.rs"]
pub mod milter;
#[path = "../../../../fuzz/targets/spamd.rs"]
pub mod spamd;

#[test]
fn every_input_kept_from_fuzzing_still_holds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let page = fs::read_to_string(fuzz.join("README.md")).unwrap();
    for (name, run) in [("milter", milter::run as fn(&[u8])), ("spamd", spamd::run)] {
        assert!(page.contains(&format!("| `{name}` |")), "{name}: expected in fuzz/README.md");
        let inputs: Vec<_> =
            fs::read_dir(fuzz.join("corpus").join(name)).unwrap().map(Result::unwrap).collect();
        assert!(inputs.len() >= 10, "{name}: {} inputs", inputs.len());
        for input in inputs {
            eprintln!("{}", input.path().display()); // shown if the input makes it panic
            run(&fs::read(input.path()).unwrap());
        }
    }
}
