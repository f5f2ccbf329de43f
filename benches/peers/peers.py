"""The peers: whether they are here, and the commands that make them do what tamis does."""

import shutil
import subprocess
import sys
from pathlib import Path

from measure import Command, Parts, Program

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
    with open(path, "w") as lines:
        for file in sorted(train.glob("*/*")):
            lines.write(f"__label__{file.parent.name} {' '.join(file.read_text('latin-1').split())}\n")
    return path


def build_linfa(folder):
    """The program that does with linfa what the script above does with scikit-learn, but for saving."""
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(LINFA_MANIFEST)
    (folder / "src/main.rs").write_text(LINFA)
    build = ["cargo", "build", "--quiet", "--release", "--target-dir", str(folder / "target")]
    subprocess.run(build, cwd=folder, check=True)
    return folder / "target/release/peer"


def list_of(folder, label, at):
    """A file of the paths below folder/label."""
    at.write_text("".join(f"{path}\n" for path in sorted((folder / label).iterdir())))
    return at


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


class Bogofilter:
    """bogofilter with one of its stores; a message list on standard input."""

    def __init__(self, store):
        self.name = f"bogofilter-{store}"

    def is_here(self):
        return shutil.which(self.name) is not None

    def version(self):
        return first_line([self.name, "-V"])

    def train(self, mail, folder):
        labels = ("ham", "spam")
        learn = [Command(self.learn(folder, label), list_of(mail, label, Path(f"{folder}.{label}"))) for label in labels]
        return Program(self.name, learn, before=lambda: fresh(folder))

    def learn(self, folder, label):
        return [self.name, "-d", folder, {"ham": "-n", "spam": "-s"}[label], "-b"]

    def label(self, mail, folder):
        every = Path(f"{folder}.test")
        every.write_text("".join(f"{path}\n" for path in sorted(mail.glob("*/*"))))
        return Program(self.name, [Command([self.name, "-d", folder, "-T", "-b"], every)])

    def score(self, folder):
        return [self.name, "-d", folder, "-T"]

    def learn_spam(self, folder):
        return [self.name, "-d", folder, "-s"]


class Spamprobe:
    """spamprobe, ten times slower than the others."""

    name = "spamprobe"
    rounds = 2

    def is_here(self):
        return shutil.which(self.name) is not None

    def version(self):
        return first_line([self.name, "-V"])

    def train(self, mail, folder):
        learn = [
            Command([self.name, "-c", "-d", folder, verb, *sorted((mail / label).iterdir())])
            for verb, label in (("good", "ham"), ("spam", "spam"))
        ]
        return Program(self.name, learn, before=lambda: fresh(folder), most=self.rounds)

    def label(self, mail, folder):
        label = [self.name, "-d", folder, "score", *sorted(mail.glob("*/*"))]
        return Program(self.name, [Command(label)], most=self.rounds)


class Dbacl:
    """dbacl: a file a category. Its exit code is the number of the category."""

    name = "dbacl"

    def is_here(self):
        return shutil.which(self.name) is not None

    def version(self):
        return first_line([self.name, "-V"])

    def train(self, mail, folder):
        learn = [
            Command([self.name, "-T", "email", "-l", folder / label, *sorted((mail / label).iterdir())])
            for label in ("ham", "spam")
        ]
        return Program(self.name, learn, before=lambda: fresh(folder))

    def label(self, mail, folder):
        categories = ["-c", folder / "ham", "-c", folder / "spam"]
        label = [self.name, "-T", "email", *categories, "-v", "-F", *sorted(mail.glob("*/*"))]
        return Program(self.name, [Command(label, ok=(0, 1, 2))])


def first_line(command):
    """What a program says of its version; None if it is not here."""
    if shutil.which(command[0]) is None:
        return None
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return ((run.stdout + run.stderr).strip().splitlines() or ["here"])[0]
