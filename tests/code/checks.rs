//! `.ci/run` and `.ci/release` together call every script of `.ci` and run every ignored test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::root;

fn script(name: &str) -> String {
    fs::read_to_string(root().join(".ci").join(name)).unwrap()
}

/// The scripts that these call, themselves or through others. `.` reads a script as a part of another; `.ci/slowest`
/// names its runner by its own folder.
fn called(scripts: &[&str]) -> BTreeSet<String> {
    let mut called = BTreeSet::new();
    let mut next: Vec<String> = scripts.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = next.pop() {
        let code: String = script(&name)
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .collect::<Vec<_>>()
            .join("\n");
        let parts = code.split(".ci/").chain(code.split("$here/")).skip(1);
        let names = parts.map(|rest| rest.chars().take_while(char::is_ascii_alphabetic).collect::<String>());
        let scripts = names.filter(|name| root().join(".ci").join(name).is_file());
        if called.insert(name) {
            next.extend(scripts);
        }
    }
    called
}

#[test]
fn every_script_of_the_checks_is_called() {
    let all: BTreeSet<String> = fs::read_dir(root().join(".ci"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(called(&["run", "release"]), all);
    assert!(called(&["run"]).len() < all.len());
}

/// The ignored tests of a folder, each with the reason: those in a module `slow`, and the others.
fn ignored(folder: &Path, slow: &mut Vec<String>, minutes: &mut Vec<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("target") {
            ignored(&path, slow, minutes);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut is_in_slow = false;
            for line in fs::read_to_string(&path).unwrap().lines() {
                // what is in a module is indented
                is_in_slow = (is_in_slow && line != "}") || line == "mod slow {";
                if let Some(reason) = line.trim_start().strip_prefix("#[ignore") {
                    let all = if is_in_slow { &mut *slow } else { &mut *minutes };
                    all.push(format!("{}{reason}", path.display()));
                }
            }
        }
    }
}

#[test]
fn every_ignored_test_is_run() {
    let (mut slow, mut minutes) = (Vec::new(), Vec::new());
    for folder in ["crates", "tests", "benches"] {
        ignored(&root().join(folder), &mut slow, &mut minutes);
    }
    assert!(slow.len() > 5 && minutes.len() > 5, "{slow:?} {minutes:?}");
    slow.iter().for_each(|test| assert!(test.contains(" = \"slow: "), "expected its seconds: {test}"));
    minutes.iter().for_each(|test| assert!(!test.contains("slow: "), "expected a module `slow`: {test}"));
    // the one runs what the other leaves out
    let test = "cargo test --locked --tests -- --ignored";
    assert!(script("run").contains(&format!("{test} slow::")));
    assert!(script("release").contains(&format!("{test} --skip slow::")));
}
