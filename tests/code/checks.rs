//! `.ci/run` and `.ci/release` together call every script of `.ci` and run every ignored test. Every file of Rust is compiled.

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

/// Visits the files of Rust in a folder, each with what it says.
fn for_each_file(folder: &Path, visit: &mut dyn FnMut(&Path, &str)) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("target") {
            for_each_file(&path, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

/// The ignored tests of a file, each with the reason: those in a module `slow`, and the others.
fn ignored(path: &Path, code: &str, slow: &mut Vec<String>, minutes: &mut Vec<String>) {
    let mut is_in_slow = false;
    for line in code.lines() {
        // what is in a module is indented
        is_in_slow = (is_in_slow && line != "}") || line == "mod slow {";
        if let Some(reason) = line.trim_start().strip_prefix("#[ignore") {
            let all = if is_in_slow { &mut *slow } else { &mut *minutes };
            all.push(format!("{}{reason}", path.display()));
        }
    }
}

/// A file that no module declares is neither compiled nor tested.
#[test]
fn every_file_of_rust_is_compiled() {
    let (mut declared, mut found) = (BTreeSet::new(), BTreeSet::new());
    for folder in ["crates", "python/src", "tests", "benches"] {
        for_each_file(&root().join(folder), &mut |path, code| {
            let (folder, stem) = (path.parent().unwrap(), path.file_stem().unwrap());
            let is_root = ["lib", "main", "build", "mod"].iter().any(|root| stem == *root);
            let is_target = ["tests", "benches", "examples"].iter().any(|targets| folder.ends_with(targets));
            let is_target = is_target && !path.components().any(|part| part.as_os_str() == "src");
            let mut place = None;
            for line in code.lines().map(str::trim_start) {
                let path_of = line.strip_prefix("#[path = \"").and_then(|rest| rest.split_once('"'));
                let name = line.strip_suffix(';').and_then(|line| line.split_once("mod "));
                if let Some((name, _)) = path_of {
                    place = Some(folder.join(name));
                } else if let Some((_, name)) = name {
                    // the modules of a root are beside it
                    let beside = (is_root || is_target).then(|| folder.join(name));
                    let within = place.take().unwrap_or(path.with_extension("").join(name));
                    declared.extend(beside.into_iter().chain([within]).map(|file| file.with_extension("rs")));
                }
            }
            if !is_root && !is_target {
                found.insert(path.to_owned());
            }
        });
    }
    assert!(found.len() > 500, "{}", found.len());
    let orphans: Vec<_> = found.difference(&declared).collect();
    assert!(orphans.is_empty(), "expected a module that declares each, got none for {orphans:?}");
}

#[test]
fn every_ignored_test_is_run() {
    let (mut slow, mut minutes) = (Vec::new(), Vec::new());
    for folder in ["crates", "tests", "benches"] {
        for_each_file(&root().join(folder), &mut |path, code| ignored(path, code, &mut slow, &mut minutes));
    }
    assert!(slow.len() > 5 && minutes.len() > 5, "{slow:?} {minutes:?}");
    slow.iter().for_each(|test| assert!(test.contains(" = \"slow: "), "expected its seconds: {test}"));
    minutes.iter().for_each(|test| assert!(!test.contains("slow: "), "expected a module `slow`: {test}"));
    // the one runs what the other leaves out
    let test = "cargo test --locked --tests -- --ignored";
    assert!(script("run").contains(&format!("{test} slow::")));
    assert!(script("release").contains(&format!("{test} --skip slow::")));
}
