//! `docs/theory.md` says where each formula lives: a file in backticks and, right after it, items of that file.
//! The file is under `crates/model/src`, or where its path begins with `crates` or `tests` under the root.

use std::collections::HashSet;
use std::fs;

use crate::support::root;

/// The page as text and code in turn, text first; blocks of formulas are left out.
pub fn text_and_code(page: &str) -> Vec<String> {
    let prose: Vec<&str> = page.split("```").step_by(2).collect();
    prose.concat().split('`').map(str::to_owned).collect()
}

/// Each file that the page names, with the items named after it with nothing but a comma between.
fn references(parts: &[String]) -> Vec<(&str, Vec<&str>)> {
    let mut references: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut open = false;
    for pair in parts.chunks_exact(2).zip(parts.iter().skip(2).step_by(2)) {
        let ([_, code], after) = pair else { continue };
        if code.ends_with(".rs") {
            references.push((code, Vec::new()));
            open = true;
        } else if let Some((_, items)) = references.last_mut().filter(|_| open) {
            items.push(code);
        }
        open &= matches!(after.trim(), "" | ",");
    }
    references
}

/// The words of a file's code, comments left out.
pub fn words(source: &str) -> HashSet<&str> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

#[test]
fn every_file_and_item_it_names_is_there() {
    let page = fs::read_to_string(root().join("docs/theory.md")).unwrap();
    let parts = text_and_code(&page);
    assert!(parts.iter().step_by(2).all(|text| !text.contains(".rs")), "a file without backticks");
    let references = references(&parts);
    assert_eq!(references.len(), page.matches(".rs`").count());
    let n_items: usize = references.iter().map(|(_, items)| items.len()).sum();
    assert!(references.len() > 40 && n_items > 70, "{} files, {n_items} items", references.len());
    for (path, items) in references {
        let rooted = path.starts_with("crates/") || path.starts_with("tests/");
        let folder = root().join(if rooted { "" } else { "crates/model/src" });
        let source = fs::read_to_string(folder.join(path));
        let source = source.unwrap_or_else(|error| panic!("the page names {path}: {error}"));
        let words = words(&source);
        for item in items {
            assert!(item.split("::").all(|word| words.contains(word)), "no {item} in {path}");
        }
    }
}

#[test]
fn references_are_read_as_they_are_meant() {
    let page = "`x.rs` `A::b`, `c` and `d`; `y.rs`; `e`\n```text\n`z.rs`\n```\n`y.rs`\n`f`.";
    let expected = [("x.rs", vec!["A::b", "c"]), ("y.rs", vec![]), ("y.rs", vec!["f"])];
    assert_eq!(references(&text_and_code(page)), expected);
    assert_eq!(words("let a_b = C(d); // e\n/// f"), HashSet::from(["let", "a_b", "", "C", "d", "e"]));
}
