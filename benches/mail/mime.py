#!/usr/bin/env python3
"""What tamis reads of malformed messages, beside what other mail readers show of them.

    benches/mail/mime.py TAMIS [PATH...] [--number N] [--seed N] [--keep FOLDER] [--show N] [--limits HOLES WHOLE SAME]
    benches/mail/mime.py TAMIS --verdicts [--mail FOLDER] [--texts N] [--seed N] [--keep FOLDER] [--limits OPENINGS HAM]

The judges are Python's email, GMime (libgmime-3.0-0), MIME-tools of Perl (libmime-tools-perl), and mailparser and postal-mime of
npm (NODE_PATH names their node_modules). It says which are not installed. With fewer than three it exits with 3.

The first form compares words: in the messages at each PATH, files of one message or folders of them, or in N generated ones
(2000) of all forms of forms.txt in turn. A judge shows the texts of parts that are text/plain or text/html and not attached. Each
of them is given to tamis as a message, so tamis finds the words on both sides, which have 3 to 24 letters, and reads the HTML on
both. A word is expected if more than half of the judges show it where it can be seen; tamis may take it for unseen, but has to
read it. A judge that finds bytes that it cannot decode has no say. A message is undecided if fewer than three judges have a say,
or if not more than half of them show what is expected, but for a twentieth of the words.

    hole    two judges or more show three words or more, and tamis reads less than half of those; also if undecided
    whole   no expected word is missed
    same    whole, and no word is read that half of the judges or more do not find anywhere, attached text included

The second form wraps N (20) spam texts in each form. tamis has learned them, from FOLDER/ham and FOLDER/spam (corpora/mail). A
form is an opening if two judges or more show most of the text in half of the messages, and not every verdict is spam. Then each
text is wrapped beside a text of ham, chosen so that the verdict on both in plain sight is not ham. A form counts as ham if half
of the verdicts or more are.

--keep leaves the messages in a folder. --show adds the N messages with most words missed. --limits exits with 1 if there are more
holes, a smaller share of whole or same messages, more openings, or more forms that are ham.
"""

import base64
import collections
import email
import email.policy
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from forms import read_forms
from measure import ANY_CODE, COUNTS, ROOT, Command, labelled, parser, plain_table, table

READERS = Path(__file__).with_name("readers")
JUDGES = {
    "Python's email": [sys.executable, READERS / "reader.py", "python"],
    "GMime": [sys.executable, READERS / "reader.py", "gmime"],
    "MIME-tools": ["perl", READERS / "reader.pl"],
    "mailparser": ["node", READERS / "reader.js", "mailparser"],
    "postal-mime": ["node", READERS / "reader.js", "postal-mime"],
}
NOT_HERE, EXCEEDED = 3, 1
PATIENCE, BATCH = 20, 100  # seconds for a message; messages in a model
SHOWN = "text/plain", "text/html"
WORD = re.compile(r"[^\W\d_]{3,24}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
# content alone; equal messages count under all their labels
TRAIN = ["train", "-q", "--as", "mail", "--content-only", *COUNTS, "--contradictions", "keep", "--threads", "1"]
HEADER = """From: Kim <kim@example.test>
To: lee@example.test
Subject: hello
Date: Mon, 2 Sep 2024 10:00:00 +0000
Message-ID: <{}@example.test>
"""


# ---- Judges

def installed():
    """The judges that start."""
    def starts(command):
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
        except OSError:
            return False

    here = [name for name, command in JUDGES.items() if starts(command)]
    for name in JUDGES:
        if name not in here:
            print(f"skipped: {name} is not here", file=sys.stderr)
    return here


def ask(command, paths):
    """The parts of each message as (type, is attached, text); None if the reader fails, crashes or takes too long."""
    process, answers = None, []
    for path in paths:
        if process is None:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            process.stdin.write(os.fsencode(path) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        timer.cancel()
        answers.append(json.loads(line) if line else None)
        if not line:
            process.kill()
            process.wait()
            process = None
    if process:
        process.communicate()
    return answers


def ask_all(judges, paths):
    """By judge, its answers."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(judges, pool.map(lambda name: ask(JUDGES[name], paths), judges)))


def is_shown(kind, attached):
    return kind in SHOWN and not attached


# ---- Words

@dataclass
class Words:
    """The words that tamis reads of a message, and which of them it takes for readable."""

    all: set
    seen: set


def learn(tamis, paths, strict):
    """The words of each message. A model has a label for each, whose terms are its words. What is not read as mail has none."""
    with tempfile.TemporaryDirectory() as work:
        model, exported, empty = Path(work, "model"), Path(work, "terms"), Path(work, "empty.eml")
        empty.write_text(f"{HEADER.format(0)}\n")
        sources = [f"{n}={path}" for n, path in enumerate([*paths, empty])]
        code = Command([tamis, *TRAIN, "-m", model, *sources], ok=(0,) if strict else ANY_CODE).run().code
        if code == 0:
            Command([tamis, "export", "-q", "-m", model]).run(output=exported)
            return read_terms(exported, len(sources))[:-1]
    half = len(paths) // 2
    return [Words(set(), set())] if half == 0 else learn(tamis, paths[:half], strict) + learn(tamis, paths[half:], strict)


def read_terms(exported, number):
    found = [Words(set(), set()) for _ in range(number)]
    with open(exported, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            unseen, term = re.match("(u:)?(.*)", line.get("term", ":"), re.DOTALL).groups()
            # links, headers and the like have a colon, signs of structure a tilde
            words = () if ":" in term or term.startswith("~") else WORD.findall(unicodedata.normalize("NFKC", term).lower())
            for label in line["counts"] if words else ():
                found[int(label)].all.update(words)
                found[int(label)].seen.update(() if unseen else words)
    return found


def words_of(tamis, paths, strict=False):
    batches = [paths[n : n + BATCH] for n in range(0, len(paths), BATCH)]
    with ThreadPoolExecutor(2) as pool:
        return [words for found in pool.map(lambda batch: learn(tamis, batch, strict), batches) for words in found]


def words_of_texts(tamis, texts):
    """The words of (type, text) by these, each as a message of its own."""
    texts, paths = sorted(texts), []
    with tempfile.TemporaryDirectory() as work:
        for n, (kind, text) in enumerate(texts):
            paths.append(Path(work, f"{n}.eml"))
            body = base64.encodebytes(text.encode("utf-8", "replace")).decode()
            fields = f"MIME-Version: 1.0\nContent-Type: {kind}; charset=utf-8\nContent-Transfer-Encoding: base64\n"
            paths[-1].write_text(f"{HEADER.format(n)}{fields}\n{body}")
        return dict(zip(texts, words_of(tamis, paths, strict=True)))


# ---- The comparison

@dataclass
class Message:
    """The words of a message: those that tamis reads, those that each judge finds anywhere, those that each with a say shows."""

    path: Path
    group: str
    read: set
    shown: dict = field(default_factory=dict)
    found: dict = field(default_factory=dict)

    def add(self, judge, parts, words):
        texts = [(is_shown(kind, attached), words[as_text(kind, text)]) for kind, attached, text in parts or () if text.strip()]
        self.found[judge] = set().union(*(words.all for _, words in texts))
        if parts is not None and not any("\ufffd" in text for _, _, text in parts):
            self.shown[judge] = set().union(*(words.seen for shown, words in texts if shown))

    def is_hole(self, judge=None):
        """Of tamis, or of a judge among the others."""
        shown = shared([words for name, words in self.shown.items() if name != judge], 2)
        read = self.found[judge] if judge else self.read
        return len(shown) >= 3 and 2 * len(shown & read) < len(shown)

    def compare(self, judge=None):
        """The words missed and those beyond the majority of the (other) judges, or None if these do not agree."""
        others = [name for name in self.shown if name != judge]
        most = len(others) // 2 + 1
        expected = shared([self.shown[name] for name in others], most)
        agreeing = sum(len(self.shown[name] ^ expected) <= max(1, len(expected) // 20) for name in others)
        if len(others) < 3 or agreeing < most:
            return None
        read = self.found[judge] if judge else self.read
        return expected - read, read - expected - shared([self.found[name] for name in others], most)


def shared(sets, number):
    """What is in that many sets."""
    counts = collections.Counter(word for words in sets for word in words)
    return {word for word, count in counts.items() if count >= number}


def as_text(kind, text):
    return (kind if kind == "text/html" else "text/plain", text)


def read_messages(options, judges, paths):
    """The messages at paths, a list of (path, group), with the words of all."""
    files = [path for path, _ in paths]
    answers = ask_all(judges, files)
    parts = [part for answer in answers.values() for parts in answer for part in parts or ()]
    texts = {as_text(kind, text) for kind, _, text in parts if text.strip()}
    words = words_of_texts(options.tamis, texts)
    messages = [Message(*pair, read.all) for pair, read in zip(paths, words_of(options.tamis, files))]
    for judge, answer in answers.items():
        for message, parts in zip(messages, answer):
            message.add(judge, parts, words)
    return messages


def row(name, messages, judge=None):
    """A line of the table: of the decided messages how many are same and whole, and the holes of all."""
    compared = [found for found in (message.compare(judge) for message in messages) if found]
    whole = [beyond for missed, beyond in compared if not missed]
    same, number = sum(not beyond for beyond in whole), max(1, len(compared))
    holes = sum(message.is_hole(judge) for message in messages)
    return name, len(compared), f"{same / number:.4f}", f"{len(whole) / number:.4f}", holes


def print_messages(messages, show):
    """Groups with holes or missed words, and the messages that miss most words."""
    groups, missing = collections.defaultdict(list), []
    for message in messages:
        missed, beyond = message.compare() or ((), ())
        groups[message.group].append((message.is_hole(), len(missed)))
        if missed:
            words = f"{' '.join(sorted(missed)[:8])}; beyond {' '.join(sorted(beyond)[:8])}"
            missing.append((len(missed), f"{message.path}: {words}"))
    rows = [(f"`{name}`", len(found), *map(sum, zip(*found))) for name, found in groups.items()]
    table(["", "messages", "holes", "words missed"], sorted((row for row in rows if row[2] or row[3]), key=lambda row: -row[2]))
    for number, line in sorted(missing, reverse=True)[:show]:
        print(f"{number} missed of {line}")


def compare(options, judges, folder):
    """Prints the tables; returns whether they are within the limits."""
    paths = [pair for path in options.paths for pair in files_of(path)] or generate(options, folder)
    messages = read_messages(options, judges, paths)
    print_messages(messages, options.show)
    rows = [row("tamis", messages), *(row(judge, messages, judge) for judge in judges)]
    table([f"{len(messages)} messages", "decided", "same", "whole", "holes"], rows)
    _, decided, same, whole, holes = rows[0]
    most, least_whole, least_same = options.limits or (len(messages), 0, 0)
    return decided > 0 and holes <= most and float(whole) >= least_whole and float(same) >= least_same


def files_of(path):
    """The files at a path, each with the folder below it as its group."""
    if path.is_file():
        return [(path, path.name)]
    files = [Path(parent, name) for parent, _, names in os.walk(path) for name in names]
    return sorted((file, file.relative_to(path).parts[0] if file.parent != path else path.name) for file in files)


# ---- Generated messages

def write(folder, form, number, seed, text, other):
    name = re.sub(r"\W+", "-", f"{form.kind} {form.line}")[:60].strip("-")
    path = folder / f"{name}-{number:05}.eml"
    chance = random.Random(f"{seed} {form.kind} {form.line} {number}")
    path.write_bytes(form.build(chance, HEADER.format(f"{seed}.{number}"), text, other))
    return path


def made_up(chance, number):
    """Words that no language has, eight a line."""
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) + chance.choice("nrstlm") for _ in range(number)]
    return "\n".join(" ".join(words[n : n + 8]) for n in range(0, number, 8))


def generate(options, folder):
    """Messages of all forms in turn, each with its form."""
    forms, paths = read_forms(), []
    for number in range(options.number):
        form, chance = forms[number % len(forms)], random.Random(f"{options.seed} {number}")
        texts = made_up(chance, chance.randint(16, 40)), made_up(chance, chance.randint(6, 16))
        paths.append((write(folder, form, number, options.seed, *texts), f"{form.kind}: {form.line}"))
    return paths


# ---- Verdicts

def prose(path):
    """The lines of a message of plain ASCII text, without quotes and tags; empty for other messages."""
    body = email.message_from_bytes(path.read_bytes(), policy=email.policy.default).get_body(("plain",))
    try:
        lines = body.get_content().splitlines() if body else []
    except (LookupError, ValueError):
        return ""
    lines = [" ".join(line.split()) for line in lines if not line.startswith(("From ", "--", ">")) and "<" not in line]
    lines = [line for line in lines if line]
    return "\n".join(lines) if "".join(lines).isascii() else ""


def texts_of(folder, fewest, most, seed):
    """The texts of a folder that have `fewest` to `most` words, in random order."""
    texts = [text for text in map(prose, sorted(folder.iterdir())) if fewest <= len(text.split()) <= most]
    random.Random(seed).shuffle(texts)
    return texts


def score(options, paths, model):
    """Verdict and log-odds of spam for each message. A file of several counts by its last."""
    found = {}
    for n in range(0, len(paths), 500):
        output = Command([options.tamis, "score", "-e", "--json", "-m", model, *paths[n : n + 500]], ok=ANY_CODE).said().output
        for document in map(json.loads, output.splitlines()):
            found[document["path"]] = document["label"], document["log_odds"]
    return [found.get(str(path), ("none", 0)) for path in paths]


def choose_pairs(options, model, folder):
    """Spam texts, each with the ham that hides it least; in plain sight alone they are spam, and beside their ham not ham."""
    alone, beside = read_forms()[:2]
    spam = texts_of(options.mail / "spam", 60, 300, options.seed)[: 3 * options.texts]
    ham = texts_of(options.mail / "ham", 20, 200, options.seed)[:20]
    single = score(options, [write(folder, alone, n, "alone", text, "") for n, text in enumerate(spam)], model)
    jobs = [(text, other) for text in spam for other in ham]
    both = score(options, [write(folder, beside, n, "beside", *job) for n, job in enumerate(jobs)], model)
    for n, (text, (verdict, _)) in enumerate(zip(spam, single)):
        best, other = max(zip(both[n * len(ham) :], ham), key=lambda scored: scored[0][1])
        if verdict == "spam" and best[0] != "ham":
            yield text, other


def shows(parts, text):
    """Whether a judge shows most of the words."""
    words = set(WORD.findall(text.lower()))
    shown = WORD.findall("\n".join(text for kind, attached, text in parts or () if is_shown(kind, attached)).lower())
    return len(words.intersection(shown)) >= 0.8 * len(words)


@dataclass
class Outcome:
    """What became of texts in a form: verdicts, log-odds lost, and the judges that can read half of the messages."""

    name: str
    verdicts: collections.Counter
    lost: list
    judges: list

    def cells(self):
        verdicts = [self.verdicts[name] for name in ("spam", "unsure", "ham")]
        return f"`{self.name}`", *verdicts, f"{statistics.median(self.lost):.1f}", ", ".join(self.judges)


def wrap(options, judges, folder, model, pairs):
    """The outcomes of the forms that two judges or more can read. The judges read eight messages of each."""
    forms, size, sample = read_forms(), len(pairs), pairs[:8]
    jobs = [(form, pair) for form in forms for pair in pairs]
    paths = [write(folder, form, n, options.seed, *pair) for n, (form, pair) in enumerate(jobs)]
    answers = ask_all(judges, [path for n in range(len(forms)) for path in paths[n * size :][: len(sample)]])
    scores = score(options, paths, model)
    for n, form in enumerate(forms):
        own = scores[n * size : (n + 1) * size]
        lost = [before - after for (_, before), (_, after) in zip(scores, own)]
        by = []
        for judge, found in answers.items():
            shown = sum(shows(parts, text) for parts, (text, _) in zip(found[n * len(sample) :], sample))
            by += [judge] if 2 * shown >= len(sample) else []
        if len(by) > 1:
            yield Outcome(f"{form.kind}: {form.line}", collections.Counter(verdict for verdict, _ in own), lost, by)


def print_outcomes(outcomes, what):
    """Prints them, the worst first, and returns how many they are."""
    print(f"{len(outcomes)} {what}:\n")
    worst = sorted(outcomes, key=lambda outcome: outcome.verdicts["spam"] - outcome.verdicts["ham"])
    plain_table(["form", "spam", "unsure", "ham", "log-odds lost", "shown by"], (outcome.cells() for outcome in worst))
    return len(outcomes)


def verdicts(options, judges, folder):
    """Prints the forms that take verdicts away; returns whether they are within the limits."""
    model = folder / "model.tamis"
    Command([options.tamis, "train", "-q", "-m", model, *labelled(options.mail)]).run()
    pairs = list(choose_pairs(options, model, folder))[: options.texts]
    alone = list(wrap(options, judges, folder, model, [(text, "Please see below.") for text, _ in pairs]))
    openings = [outcome for outcome in alone if outcome.verdicts["spam"] < len(pairs)]
    beside = list(wrap(options, judges, folder, model, pairs))
    passed = [outcome for outcome in beside if 2 * outcome.verdicts["ham"] >= len(pairs)]
    numbers = (
        print_outcomes(openings, f"of {len(alone)} forms are openings, by {len(pairs)} texts"),
        print_outcomes(passed, f"of {len(beside)} forms are ham beside a text of ham"),
    )
    return bool(pairs) and all(number <= most for number, most in zip(numbers, options.limits or numbers))


def main():
    arguments = parser(__doc__, "tamis")
    arguments.add_argument("paths", type=Path, nargs="*")
    arguments.add_argument("--number", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--verdicts", action="store_true")
    arguments.add_argument("--mail", type=Path, default=ROOT / "corpora/mail")
    arguments.add_argument("--texts", type=int, default=20)
    arguments.add_argument("--keep", type=Path)
    arguments.add_argument("--show", type=int, default=0)
    arguments.add_argument("--limits", type=float, nargs="+")
    options = arguments.parse_args()
    if options.limits and len(options.limits) != (2 if options.verdicts else 3):
        arguments.error("--limits takes HOLES WHOLE SAME, or OPENINGS HAM with --verdicts")
    judges = installed()
    if len(judges) < 3:
        print("skipped: fewer than three judges", file=sys.stderr)
        return NOT_HERE
    with tempfile.TemporaryDirectory() as work:
        folder = options.keep or Path(work)
        folder.mkdir(parents=True, exist_ok=True)
        within = (verdicts if options.verdicts else compare)(options, judges, folder)
    return 0 if within else EXCEEDED


if __name__ == "__main__":
    sys.exit(main())
