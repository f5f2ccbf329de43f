//! Documents to learn and to test on, as the corpora lay them out. Each reader checks how many there are.

use std::path::{Path, PathBuf};

use tamis_train::{Document, Kind};

/// A document and its label.
#[derive(Clone)]
pub struct Labelled {
    pub label: String,
    /// A message; of text UTF-8.
    pub raw: Vec<u8>,
}

impl Labelled {
    pub fn document(&self, kind: Kind) -> Document<'_> {
        match kind {
            Kind::Mail => Document::Mail(&self.raw),
            Kind::Text | Kind::Table => Document::Text(self.text()),
        }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.raw).unwrap()
    }
}

pub struct Corpus {
    pub kind: Kind,
    pub train: Vec<Labelled>,
    pub test: Vec<Labelled>,
}

impl Corpus {
    fn checked(kind: Kind, train: Vec<Labelled>, test: Vec<Labelled>, expected: [usize; 2]) -> Corpus {
        assert_eq!([train.len(), test.len()], expected, "documents to learn and to test on");
        Corpus { kind, train, test }
    }

    /// `train/LABEL/*` and `test/LABEL/*`, text.
    pub fn folders(path: &Path, expected: [usize; 2]) -> Corpus {
        let [train, test] = ["train", "test"].map(|part| read_folders(&path.join(part)));
        Corpus::checked(Kind::Text, train, test, expected)
    }

    /// `train.tsv` and `test.tsv`, a label and a text a line.
    pub fn tables(path: &Path, expected: [usize; 2]) -> Corpus {
        let [train, test] = ["train.tsv", "test.tsv"].map(|part| read_table(&path.join(part)));
        Corpus::checked(Kind::Text, train, test, expected)
    }

    /// `train.jsonl` and `test.jsonl`, an object with `label` and `text` a line.
    pub fn lines(path: &Path) -> Corpus {
        let [train, test] = ["train.jsonl", "test.jsonl"].map(|part| {
            let lines = std::fs::read_to_string(path.join(part)).unwrap();
            let document = |line: &str| {
                let row: serde_json::Value = serde_json::from_str(line).unwrap();
                let [label, text] = ["label", "text"].map(|name| row[name].as_str().unwrap().to_owned());
                Labelled { label, raw: text.into_bytes() }
            };
            lines.lines().map(document).collect()
        });
        Corpus { kind: Kind::Text, train, test }
    }

    /// The first documents of one table to learn, the rest to test on.
    pub fn first(path: &Path, expected: [usize; 2]) -> Corpus {
        let mut train = read_table(path);
        let test = train.split_off(expected[0].min(train.len()));
        Corpus::checked(Kind::Text, train, test, expected)
    }

    /// One table, split by the MD5 digest of the text, so that equal texts are on one side.
    pub fn halves(path: &Path) -> Corpus {
        let (train, test) = read_table(path).into_iter().partition(|d| md5::compute(&d.raw).0[0] < 0x80);
        Corpus { kind: Kind::Text, train, test }
    }

    /// Mail in `ham/` and `spam/`, in the order of the MD5 digests of the files' names, the lower half to learn.
    pub fn mail(path: &Path, expected: [usize; 2]) -> Corpus {
        let mut mails = Vec::new();
        for label in ["ham", "spam"] {
            for path in sorted(&path.join(label)) {
                let digest = md5::compute(path.file_name().unwrap().as_encoded_bytes()).0;
                let raw = std::fs::read(path).unwrap();
                mails.push((digest, Labelled { label: label.to_owned(), raw }));
            }
        }
        mails.sort_by_key(|(digest, _)| *digest);
        let test = mails.split_off(mails.partition_point(|(digest, _)| digest[0] < 0x80));
        let [train, test] =
            [mails, test].map(|half| half.into_iter().map(|(_, mail)| mail).collect::<Vec<_>>());
        Corpus::checked(Kind::Mail, train, test, expected)
    }

    /// The same with other texts.
    pub fn map(&self, change: fn(&str) -> String) -> Corpus {
        let changed = |d: &Labelled| Labelled { label: d.label.clone(), raw: change(d.text()).into_bytes() };
        let [train, test] = [&self.train, &self.test].map(|half| half.iter().map(changed).collect());
        Corpus { kind: self.kind, train, test }
    }

    pub fn all(&self) -> impl Iterator<Item = &Labelled> {
        self.train.iter().chain(&self.test)
    }
}

fn read_folders(path: &Path) -> Vec<Labelled> {
    let mut documents = Vec::new();
    for folder in sorted(path) {
        let label = folder.file_name().unwrap().to_str().unwrap().to_owned();
        for file in sorted(&folder) {
            let bytes = std::fs::read(file).unwrap();
            let raw = tamis_mail::decode_text(&bytes, None).into_owned().into_bytes();
            documents.push(Labelled { label: label.clone(), raw });
        }
    }
    documents
}

/// What lies in a folder, in an order that no file system decides.
pub fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read_table(path: &Path) -> Vec<Labelled> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| line.split_once('\t').unwrap());
    rows.map(|(label, text)| Labelled { label: label.to_owned(), raw: text.as_bytes().to_vec() }).collect()
}

/// A post without its header block, quoted lines and what attributes them, and signature: what scikit-learn's
/// `remove=("headers", "footers", "quotes")` leaves.
pub fn stripped(post: &str) -> String {
    const ATTRIBUTIONS: [&str; 5] = ["writes in", "writes:", "wrote:", "says:", "said:"];
    let body = post.split_once("\n\n").map_or(post, |(_, body)| body);
    let quotes = |line: &&str| {
        ATTRIBUTIONS.iter().any(|words| line.contains(words))
            || ["In article", "Quoted from", "|", ">"].iter().any(|start| line.starts_with(start))
    };
    let kept: Vec<_> = body.split('\n').filter(|line| !quotes(line)).collect();
    let kept = kept.join("\n");
    let lines: Vec<_> = kept.trim().split('\n').collect();
    let signature = lines.iter().rposition(|line| line.trim().trim_matches('-').is_empty());
    match signature.filter(|line| *line > 0) {
        Some(line) => lines[..line].join("\n"),
        None => kept,
    }
}
