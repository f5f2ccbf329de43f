//! What fuzzing has found worth keeping, once more (see `fuzz/README.md`).

use crate::support::root;

#[path = "../../fuzz/targets/mod.rs"]
mod targets;

#[test]
fn every_input_kept_from_fuzzing_still_holds() {
    let page = std::fs::read_to_string(root().join("fuzz/README.md")).unwrap();
    for (name, run) in targets::ALL {
        assert!(page.contains(&format!("| `{name}` |")), "{name}: expected in fuzz/README.md");
        let folder = root().join("fuzz/corpus").join(name);
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(files.len() >= 10, "{name}: {} inputs", files.len());
        for file in files {
            eprintln!("{}", file.display()); // shown if the input makes it panic
            run(&std::fs::read(file).unwrap());
        }
    }
}
