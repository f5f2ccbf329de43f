//! The documents that the benches work on: the project's own, so that anyone can run them.

use std::fs;
use std::path::Path;

/// A labelled document.
pub(crate) struct Labelled {
    /// The folder it lies in.
    pub(crate) label: String,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// Every document below `corpora/FOLDER`, whose folders are labels; `only` some of them, if any are named.
pub(crate) fn read(folder: &str, only: &[&str]) -> Vec<Labelled> {
    let mut documents = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora").join(folder);
    for label in sorted(&root) {
        let name = label.file_name().unwrap().to_string_lossy().into_owned();
        if only.is_empty() || only.contains(&name.as_str()) {
            for file in sorted(&label) {
                documents.push(Labelled { label: name.clone(), bytes: fs::read(file).unwrap() });
            }
        }
    }
    documents
}

fn sorted(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The text of the topic documents, one after the other.
pub(crate) fn topics_text() -> String {
    read("topics/train", &[]).iter().map(|d| String::from_utf8_lossy(&d.bytes).into_owned()).collect()
}
