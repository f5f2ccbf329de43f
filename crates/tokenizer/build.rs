//! Makes the table of characters, `characters.rs` in the folder of this build, from what the crates for segmentation and
//! normalization do with each character: it always fits their versions.

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
        "static BLOCKS: [u16; {}] = {:?};\nstatic ENTRIES: [u32; {}] = {entries:?};\n",
        table.blocks.len(),
        table.blocks,
        entries.len()
    );
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).expect("cargo sets OUT_DIR");
    fs::write(folder.join("characters.rs"), code).expect("OUT_DIR can be written");
}
