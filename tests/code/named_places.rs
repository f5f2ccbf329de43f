//! `ARCHITECTURE.md`, `CONTRIBUTING.md` and pages of `docs` say where things are: a file in backticks and, right after it, items of that
//! file. Paths begin at the root, or in a crate; `ROOM.rs` and `NAME.rs` stand for any.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use crate::support::root;

const CRATES: [&str; 13] = [
    "documents",
    "tokenizer",
    "model",
    "mail",
    "store",
    "filter",
    "train",
    "report",
    "program",
    "bogofilter",
    "server",
    "mailbox",
    "cli",
];

/// Where a path may lead: from the root, from a crate, from its sources.
fn places(path: &str) -> Vec<PathBuf> {
    let in_crates = CRATES.iter().flat_map(|name| {
        let folder = root().join("crates").join(name);
        [folder.join(path), folder.join("src").join(path)]
    });
    let places = [root().join(path)].into_iter().chain(in_crates);
    places.filter(|place| place.exists()).collect()
}

/// Whether code in backticks is a path, or what stands for any.
fn is_path(code: &str) -> bool {
    let is_place = |c: char| c.is_alphanumeric() || "/_-.".contains(c);
    !code.starts_with("..")
        && (code.contains('/') || code.ends_with(".rs") || code.ends_with(".md"))
        && code.chars().all(is_place)
}

/// The page as text and code in turn, text first; blocks of code are left out.
fn text_and_code(page: &str) -> Vec<String> {
    let prose: Vec<&str> = page.split("```").step_by(2).collect();
    prose.concat().split('`').map(str::to_owned).collect()
}

/// The words of a file's code, without comments.
fn words(source: &str) -> HashSet<&str> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

/// What is wrong with the paths and items that a page names; and how many there are of both.
fn check(page: &str) -> (Vec<String>, [usize; 2]) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (mut wrong, mut found, mut counts) = (Vec::new(), Vec::new(), [0, 0]);
    let parts = text_and_code(&text);
    for pair in parts.chunks(2) {
        let [before, code] = pair else { continue };
        // items follow their file, with nothing between but a comma or the crate it is in
        if !matches!(before.trim(), "" | "," | "(" | ")") {
            found.clear();
        }
        if is_path(code) {
            if code.ends_with("NAME.rs") || code.ends_with("ROOM.rs") {
                continue;
            }
            let places = places(code);
            counts[0] += 1;
            if places.is_empty() {
                wrong.push(format!("{page} names {code}, which is not there"));
            }
            if code.ends_with(".rs") {
                found = places;
            }
        } else if !found.is_empty() {
            counts[1] += 1;
            let sources = found.iter().map(|place| fs::read_to_string(place).unwrap());
            if !sources.into_iter().any(|source| code.split("::").all(|word| words(&source).contains(word))) {
                wrong.push(format!("{page}: no {code} in {found:?}"));
            }
        }
    }
    (wrong, counts)
}

#[test]
fn every_place_that_the_pages_name_is_there() {
    let mut wrong = Vec::new();
    for (page, least) in [
        ("ARCHITECTURE.md", [30, 20]),
        ("CONTRIBUTING.md", [30, 10]),
        ("docs/performance.md", [15, 0]),
        ("docs/theory.md", [40, 70]),
    ] {
        let (more, counts) = check(page);
        wrong.extend(more);
        assert!(counts[0] >= least[0] && counts[1] >= least[1], "{page}: {counts:?} paths and items");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
