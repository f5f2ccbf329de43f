//! Makes the table of characters, `characters.rs` in the folder of this build, from what the crates for segmentation and
//! normalization do with each character: it always fits their versions. And of the crate with lists of stop words,
//! `stop_words.rs`.

use std::path::PathBuf;
use std::{env, fs};

#[allow(dead_code)]
#[path = "src/characters/entry.rs"]
mod entry;
#[path = "src/characters/probe.rs"]
mod probe;
#[allow(dead_code)]
#[path = "src/characters/rules.rs"]
mod rules;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/characters");
    let table = probe::table();
    let entries: Vec<_> = table.entries.iter().flatten().map(|entry| entry.0).collect();
    let code = format!(
        "static BLOCKS: [u16; {}] = {:?};\nstatic ENTRIES: [u32; {}] = {entries:?};\nstatic STEADY: [u64; {}] = {:?};\n",
        table.blocks.len(),
        table.blocks,
        entries.len(),
        table.steady.len(),
        table.steady
    );
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).expect("cargo sets OUT_DIR");
    fs::write(folder.join("characters.rs"), code).expect("OUT_DIR can be written");
    fs::write(folder.join("stop_words.rs"), stop_words()).expect("OUT_DIR can be written");
}

/// The lists of stop words, each as one text of a line per word; words with an apostrophe also as printers set it.
fn stop_words() -> String {
    let words = |code: &str| {
        let words = stop_words::lookup(code).expect("an available language has a list");
        let curly =
            words.iter().filter(|word| word.contains('\'')).map(|word| word.replace('\'', "\u{2019}"));
        words.iter().map(|word| word.to_string()).chain(curly).collect::<Vec<_>>().join("\n")
    };
    let lists: Vec<_> = stop_words::available_languages().iter().map(|code| (code, words(code))).collect();
    format!("static LISTS: [(&str, &str); {}] = {lists:?};\n", lists.len())
}
