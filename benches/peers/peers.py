"""The peers: whether they are here, and the commands that make them do what tamis does."""

import shutil
import subprocess
import sys
from pathlib import Path

from measure import ANY_CODE, LABELS, Command, Parts, Program, newsgroups

# The full vocabulary as the dense matrix that linfa wants would not fit into memory.
LINFA_WORDS = 20000

SKLEARN = Path(__file__).parent / "scikit.py"

LINFA_MANIFEST = """
[package]
name = "peer"
version = "0.0.0"
edition = "2021"
[dependencies]
linfa = "0.8"
linfa-bayes = "0.8"
linfa-preprocessing = "0.8"
ndarray = "0.16"
[workspace]
"""

LINFA = """
use linfa::prelude::*;
use linfa_bayes::MultinomialNb;
use linfa_preprocessing::CountVectorizer;
use ndarray::Array1;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (mut texts, mut labels) = (Vec::new(), Vec::new());
    for folder in std::fs::read_dir(&arguments[1]).unwrap() {
        let folder = folder.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            texts.push(bytes.iter().map(|&byte| char::from(byte)).collect::<String>());
            labels.push(folder.file_name().into_string().unwrap());
        }
    }
    let texts = Array1::from(texts);
    let limit = Some(arguments[2].parse().unwrap());
    let vectorizer = CountVectorizer::params().max_features(limit).fit(&texts).unwrap();
    let counts = vectorizer.transform(&texts).unwrap().to_dense().mapv(|n| n as f64);
    let model = MultinomialNb::params().fit(&Dataset::new(counts, Array1::from(labels))).unwrap();
    std::hint::black_box((vectorizer, model));
}
"""


def sklearn(report, job, *arguments, rows, most=1000):
    """A job done by scikit.py, whose parts are rows."""
    return Parts(Command([sys.executable, SKLEARN, report, job, *arguments]), report, rows, most)


def fasttext_lines(train, path):
    """Documents as fastText reads them, a line each. Making them is not measured."""
    path.write_text("".join(f"__label__{label} {' '.join(text.split())}\n" for text, label in zip(*newsgroups(train))))
    return path


def build_linfa(folder):
    """The program that does with linfa what the script above does with scikit-learn, but for saving."""
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(LINFA_MANIFEST)
    (folder / "src/main.rs").write_text(LINFA)
    build = ["cargo", "build", "--quiet", "--release", "--target-dir", str(folder / "target")]
    subprocess.run(build, cwd=folder, check=True)
    return folder / "target/release/peer"


def list_of(paths, at):
    """A file of paths, one a line."""
    at.write_text("".join(f"{path}\n" for path in paths))
    return at


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


class Peer:
    """A filter of mail, which has its word lists in a folder."""

    most = 1000  # rounds

    def train(self, mail, folder):
        learn = [self.learn(sorted((mail / label).iterdir()), folder, label) for label in LABELS]
        return Program(self.name, learn, before=lambda: fresh(folder), most=self.most)

    def label(self, mail, folder):
        return Program(self.name, [self.labels(sorted(mail.glob("*/*")), folder)], most=self.most)

    def is_here(self):
        return shutil.which(self.name) is not None

    def version(self):
        """What it says of its version; None if it is not here."""
        if not self.is_here():
            return None
        said = Command([self.name, "-V"], ok=ANY_CODE).said().said
        return (said.strip().splitlines() or ["here"])[0]


class Bogofilter(Peer):
    """bogofilter with one of its stores; a message list on standard input."""

    def __init__(self, store):
        self.name = f"bogofilter-{store}"

    def learn(self, paths, folder, label):
        what = {"ham": "-n", "spam": "-s"}[label]
        return Command([self.name, "-d", folder, what, "-b"], list_of(paths, Path(f"{folder}.{label}")))

    def labels(self, paths, folder):
        return Command([self.name, "-d", folder, "-T", "-b"], list_of(paths, Path(f"{folder}.test")))

    def score(self, folder):
        return [self.name, "-d", folder, "-T"]

    def learn_spam(self, folder):
        return [self.name, "-d", folder, "-s"]


class Spamprobe(Peer):
    """spamprobe, ten times slower than the others."""

    name = "spamprobe"
    most = 2

    def learn(self, paths, folder, label):
        return Command([self.name, "-c", "-d", folder, {"ham": "good", "spam": "spam"}[label], *paths])

    def labels(self, paths, folder):
        return Command([self.name, "-d", folder, "score", *paths])


class Dbacl(Peer):
    """dbacl: a file a category. Its exit code is the number of the category."""

    name = "dbacl"

    def learn(self, paths, folder, label):
        return Command([self.name, "-T", "email", "-l", folder / label, *paths])

    def labels(self, paths, folder):
        categories = ["-c", folder / "ham", "-c", folder / "spam"]
        return Command([self.name, "-T", "email", *categories, "-v", "-F", *paths], ok=(0, 1, 2))
