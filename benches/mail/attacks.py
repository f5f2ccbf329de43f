#!/usr/bin/env python3
"""What senders do to get spam past a filter that learns, and what people do with spam that must not cost them mail.

    benches/mail/attacks.py TAMIS CORPUS [--others DIR] [--words DIR] [--text FILE.tsv] [--spams N] [--only NAME,...]
                            [--model FILE] [--peers] [--short]
    benches/mail/attacks.py TAMIS --halves DIR...

CORPUS is a folder with `ham` and `spam`. A model is trained on the half of the messages whose names have an MD5 that begins
with 0 to 7 (or is given by --model). 300 spams of the other half are attacked, and 200 of its hams are changed as people
change mail, always the same ones in the same way (100 spams with --short). A sender knows the ham of the training half and the terms of the model.
--others names a corpus of other people, whose ham is then added too, --words a folder of any text files, whose words are the
dictionary, and --text a table of short messages, LABEL TAB TEXT, whose first 30 % are learned as text.

For each attack it prints per cent still spam / unsure / ham, and the natural log-odds that the spam has lost. --only takes the
attacks whose names begin so. --peers adds bogofilter, and scikit-learn's LinearSVC and LogisticRegression on tf-idf of words, as
far as they are installed; their probabilities have the thresholds of tamis's defaults. --short runs the attacks of BOUNDS and
exits with 1 if one is exceeded.

--halves trains on one half of each corpus and tests on the other, with all defaults.
"""

import html
import json
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import LABELS, ROOT, Command, half_of_mail, labelled_lines, parser, table
from senders import MARKUP, Ham, attacks, changes, decode, is_html, leaves, read, text_attacks

try:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC
except ImportError:
    make_pipeline = None

VERDICTS = ("spam", "unsure", "ham")
SPAM, HAM = 0.98, 0.4  # of peers: spam from this probability on, ham below that
# What --short tries on SpamAssassin's corpus: a verdict of an attack, and between which per cents it must be.
BOUNDS = [
    ("plain", "spam", 90, 100),
    ("padded: 2 kB of own ham behind", "ham", 0, 3),
    ("padded: 10 kB of own ham behind", "ham", 0, 3),
    ("padded: 10 kB of own ham ahead", "ham", 0, 3),
    ("attached: notes.txt of 10 kB", "ham", 0, 3),
    ("attached: message of 10 kB", "ham", 0, 3),
    ("woven", "ham", 0, 12),
    ("words: 200 best", "ham", 0, 8),
    ("words: 1000 of a dictionary", "ham", 0, 8),
    ("hidden: display none", "ham", 0, 1),
    ("hidden: comment", "ham", 0, 1),
    ("header: ten Received", "ham", 0, 1),
    ("header: ten best Received", "ham", 0, 1),
    ("header: all of these", "ham", 0, 3),
    ("letters: dotted", "ham", 0, 3),
    ("letters: accents", "ham", 0, 3),
    ("letters: backwards", "ham", 0, 6),
    ("harmless: plain", "spam", 0, 1),
    ("harmless: signature", "spam", 0, 1),
    ("harmless: disclaimer", "spam", 0, 1),
    ("harmless: quoted spam", "spam", 0, 3),
    ("harmless: spam reported inline", "spam", 0, 4),
    ("harmless: spam reported attached", "spam", 0, 4),
]


@dataclass
class Score:
    """An answer; peers have no log-odds."""

    verdict: str
    log_odds: float = math.nan

    @classmethod
    def of(cls, spam: float) -> "Score":
        return cls("spam" if spam >= SPAM else "ham" if spam < HAM else "unsure")


class Tamis:
    def __init__(self, program: Path, work: Path, kind: str, model: Path | None = None) -> None:
        self.program, self.model, self.kind = program, model or work / f"{kind}.tamis", kind
        self.is_trained = model is not None

    def train(self, folders: dict[str, Path]) -> None:
        if not self.is_trained:
            sources = [f"{label}={folder}" for label, folder in folders.items()]
            Command([self.program, "train", "-q", "--as", self.kind, "-m", self.model, *sources]).run()

    def score(self, folder: Path) -> list[Score]:
        command = [self.program, "label", "-q", "--as", self.kind, "-m", self.model, "--format", "jsonl", folder]
        rows = [json.loads(line) for line in Command(command).said().output.splitlines()]
        return [Score(row["label"], row["log_odds"]) for row in sorted(rows, key=lambda row: row["path"])]

    def weights_for_ham(self) -> dict[str, float]:
        """Of the terms of the model, in nats."""
        lines = Command([self.program, "export", "-q", "-m", self.model, "--format", "tsv"]).said().output.splitlines()
        column = lines[0].split("\t").index("weight_ham")
        rows = (line.split("\t") for line in lines[1:])
        return {row[0]: float(row[column]) for row in rows if row[column]}


class Bogofilter:
    name = "bogofilter"

    def __init__(self, work: Path) -> None:
        self.command = ["bogofilter", "-C", "-d", str(work)]

    def run(self, folder: Path, *options: str) -> str:
        paths = "".join(f"{path}\n" for path in sorted(folder.iterdir()))
        return subprocess.run([*self.command, *options, "-b"], input=paths, capture_output=True, text=True, check=False).stdout

    def train(self, folders: dict[str, Path]) -> None:
        for label, folder in folders.items():
            self.run(folder, "-s" if label == "spam" else "-n")

    def score(self, folder: Path) -> list[Score]:
        answers = re.findall(r"(?m) ([SHU]) \S+$", self.run(folder, "-T"))
        return [Score({"S": "spam", "H": "ham", "U": "unsure"}[answer]) for answer in answers]


class Words:
    """A learner of scikit-learn on words of the header and the text."""

    def __init__(self, learner, kind: str) -> None:
        self.name, self.kind = type(learner).__name__, kind
        if isinstance(learner, LinearSVC):
            learner = CalibratedClassifierCV(learner, ensemble=False)
        self.pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+"), learner)

    def texts(self, folder: Path):
        for path in sorted(folder.iterdir()):
            if self.kind == "text":
                yield path.read_text()
                continue
            message = read(path.read_bytes())
            fields = "\n".join(f"{name} {value}" for name, value in message.items())
            parts = [html.unescape(MARKUP.sub(" ", text)) if is_html(part) else text
                     for part in leaves(message) for text, _ in [decode(part)]]
            attached = [decode(part)[0] for part in message.walk() if part.get_content_disposition() == "attachment"
                        and part.get_content_maintype() == "text"]
            yield "\n".join([fields, *parts, *attached])

    def train(self, folders: dict[str, Path]) -> None:
        texts = {label: list(self.texts(folder)) for label, folder in folders.items()}
        labels = [label == "spam" for label, of in texts.items() for _ in of]
        self.pipeline.fit([text for of in texts.values() for text in of], labels)

    def score(self, folder: Path) -> list[Score]:
        return [Score.of(spam) for spam in self.pipeline.predict_proba(self.texts(folder))[:, 1]]


def peers(work: Path, kind: str) -> list:
    found: list = []
    if shutil.which("bogofilter"):
        (work / f"bogofilter-{kind}").mkdir()
        found.append(Bogofilter(work / f"bogofilter-{kind}"))
    if make_pipeline:
        found += [Words(LinearSVC(), kind), Words(LogisticRegression(C=100, max_iter=1000), kind)]
    missing = [*([] if shutil.which("bogofilter") else ["bogofilter"]), *([] if make_pipeline else ["scikit-learn"])]
    print("".join(f"{name} is not installed\n" for name in missing), end="")
    return found


@dataclass
class Bench:
    """Filters that learned the same, what the first said of documents before they were changed, and all rows."""

    filters: list
    work: Path
    wanted: Callable
    plain: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)

    def row(self, name: str, n: int, lost: float, shares: list[list[float]]) -> list:
        self.rows[name] = (n, lost, shares)
        first, *others = ("/".join(f"{share:.1f}" for share in of) for of in shares)
        return [name, n, first, f"{lost:+.2f}", *others]

    def measure(self, name: str, documents: dict[str, bytes]) -> list:
        folder = self.work / "attacked"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file, octets in documents.items():
            (folder / file).write_bytes(octets)
        scores = [filter.score(folder) for filter in self.filters]
        if not documents or any(len(of) != len(documents) for of in scores):
            sys.exit(f"{name}: {[len(of) for of in scores]} answers to {len(documents)} documents")
        after = dict(zip(sorted(documents), scores[0], strict=True))
        self.plain = self.plain or after
        lost = statistics.mean(self.plain[file].log_odds - score.log_odds for file, score in after.items())
        shares = [[100 * sum(score.verdict == verdict for score in of) / len(of) for verdict in VERDICTS] for of in scores]
        return self.row(name, len(documents), lost, shares)

    def mean(self, name: str, begin: str) -> list:
        """The mean of the rows whose names begin so."""
        n, lost, shares = zip(*(row for other, row in self.rows.items() if other.startswith(begin)), strict=True)
        return self.row(name, n[0], statistics.mean(lost), [[statistics.mean(of) for of in zip(*filter)] for filter in zip(*shares)])

    def attack(self, plain: str, documents: dict[str, bytes], attacks: dict) -> Iterator[list]:
        """Rows of documents as they are, then as each attack that is wanted changes them; some can be done to some only."""
        self.plain = {}
        yield self.measure(plain, documents)
        for name in filter(self.wanted, attacks):
            changed = {file: attacks[name](octets, random.Random(f"{name} {file}")) for file, octets in documents.items()}
            yield self.measure(name, {file: octets for file, octets in changed.items() if octets is not None})
        if sum(name.startswith("hidden") for name in filter(self.wanted, attacks)) > 1:
            yield self.mean("hidden, mean", "hidden: ")


def learned(tamis: Tamis, train: dict[str, Path], work: Path, options) -> Bench:
    bench = Bench([tamis, *(peers(work, tamis.kind) if options.peers else [])], work, options.wanted)
    for filter in bench.filters:
        filter.train(train)
    return bench


def sample(paths: list[Path], number: int) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in random.Random(1).sample(paths, min(number, len(paths)))}


def link(folder: Path, paths: list[Path]) -> Path:
    folder.mkdir(parents=True)
    for path in paths:
        (folder / path.name).symlink_to(path.resolve())
    return folder


def words_of(folder: Path) -> list[str]:
    texts = (path.read_text(encoding="latin-1").lower() for path in folder.rglob("*") if path.is_file())
    return sorted({word for text in texts for word in re.findall("[a-z]{2,}", text)})


def of_mail(options, work: Path) -> Bench:
    train, test = ({label: half_of_mail(options.corpus / label, half) for label in LABELS} for half in (True, False))
    folders = {label: link(work / "mail" / label, train[label]) for label in LABELS}
    bench = learned(Tamis(options.tamis, work, "mail", options.model), folders, work, options)
    own = Ham(train["ham"])
    others = Ham(sorted((options.others / "ham").iterdir())) if options.others else None
    sent = attacks(own, others, words_of(options.words), bench.filters[0].weights_for_ham())
    print_rows(bench, bench.attack("plain", sample(test["spam"], options.spams), sent))
    if any(map(options.wanted, kinds := changes(test["spam"]))):
        print_rows(bench, bench.attack("harmless: plain", sample(test["ham"], 200), kinds))
    return bench


def of_text(options, work: Path) -> Bench:
    texts, labels = labelled_lines(options.text)
    n_train = int(0.3 * len(texts))
    folders, spams = {label: work / "text" / label for label in LABELS}, {}
    for folder in folders.values():
        folder.mkdir(parents=True)
    for n, (text, label) in enumerate(zip(texts, labels, strict=True)):
        # after an empty line, so that bogofilter takes it for the body of a message
        octets = f"\n{text}\n".encode()
        if n < n_train:
            (folders[label] / f"{n:06}.txt").write_bytes(octets)
        elif label == "spam":
            spams[f"{n:06}.txt"] = octets
    bench = learned(Tamis(options.tamis, work, "text"), folders, work, options)
    print_rows(bench, bench.attack("text: plain", spams, text_attacks(words_of(options.words))))
    return bench


def print_rows(bench: Bench, rows: Iterator[list]) -> None:
    table(["", "documents", "spam/unsure/ham", "nats lost", *(peer.name for peer in bench.filters[1:])], rows)


def exceeded(rows: dict) -> list[str]:
    """The bounds that are broken."""
    shares = [(bound, rows[bound[0]][2][0][VERDICTS.index(bound[1])]) for bound in BOUNDS]
    return [f"{name}: {share:.1f} % {verdict}, not {least} to {most}" for (name, verdict, least, most), share in shares
            if not least <= share <= most]


def half(tamis: Path, corpus: Path, work: Path) -> tuple[list[int], float]:
    """Learns a half of a corpus and labels the other, with all defaults: the columns of the table, and the mean log loss."""
    filter = Tamis(tamis, work, "mail")
    filter.train({label: link(work / "train" / label, half_of_mail(corpus / label, True)) for label in LABELS})
    verdicts, losses = [], []
    for label, sign in zip(LABELS, (1, -1), strict=True):
        scores = filter.score(link(work / "test" / label, half_of_mail(corpus / label, False)))
        verdicts.append(Counter(score.verdict for score in scores))
        losses += [math.log1p(math.exp(min(700, sign * score.log_odds))) for score in scores]
    ham, spam = verdicts
    return [ham.total(), spam.total(), ham["spam"], spam.total() - spam["spam"], ham["unsure"]], statistics.mean(losses)


def halves(options) -> Iterator[list]:
    done = []
    for corpus in options.halves:
        with tempfile.TemporaryDirectory() as work:
            done.append(half(options.tamis, corpus, Path(work)))
        counts, loss = done[-1]
        yield [corpus.name, *counts, f"{loss:.4f}"]
    yield ["all", *map(sum, zip(*(counts for counts, _ in done), strict=True)), f"{statistics.mean(loss for _, loss in done):.4f}"]


def main() -> int:
    arguments = parser(__doc__, "tamis")
    arguments.add_argument("corpus", type=Path, nargs="?")
    arguments.add_argument("--others", type=Path)
    arguments.add_argument("--words", type=Path, default=ROOT / "corpora/topics")
    arguments.add_argument("--text", type=Path)
    arguments.add_argument("--spams", type=int)
    arguments.add_argument("--only", type=lambda names: tuple(names.split(",")), default=("",))
    arguments.add_argument("--model", type=Path)
    arguments.add_argument("--peers", action="store_true")
    arguments.add_argument("--short", action="store_true")
    arguments.add_argument("--halves", type=Path, nargs="+")
    options = arguments.parse_args()
    options.spams = options.spams or (100 if options.short else 300)
    options.wanted = lambda name: name in {bound[0] for bound in BOUNDS} if options.short else name.startswith(options.only)
    if options.halves:
        table(["", "ham", "spam", "ham lost", "spam uncaught", "ham unsure", "log loss"], halves(options))
        return 0
    with tempfile.TemporaryDirectory() as work:
        rows = of_mail(options, Path(work)).rows if options.corpus else {}
        rows |= of_text(options, Path(work)).rows if options.text else {}
    broken = exceeded(rows) if options.short else []
    print("".join(f"{line}\n" for line in broken), end="")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
