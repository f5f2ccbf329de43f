"""What the tables share: corpora, copies of them, models made once, the peers that are here, and what is asked of ratios."""

import csv
import hashlib
import importlib.util
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from generate import TIMES, Texts
from measure import Command, alternate, table, usage_table
from peers import Bogofilter, Dbacl, Spamprobe

LABELS = ("ham", "spam")
# Counts alone, as the textbook's naive Bayes has them.
COUNTS = ["--likelihood", "multinomial", "--no-documents"]
ONE = ["--threads", "1"]


class Bench:
    """What all tables need: corpora, copies of them, models made once, the peers that are here."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        # As installed: what a linker has written lies in small pieces in the page cache, from which starting takes longer.
        self.tamis = shutil.copy2(Path(options.tamis).resolve(), work / "tamis")
        self.newsgroups = options.corpora / "20newsgroups-bydate"
        self.peers = [Bogofilter("bdb"), Bogofilter("sqlite"), Spamprobe(), Dbacl()]
        self.filters = [peer for peer in self.peers if peer.is_here()]
        self.bogofilters = [peer for peer in self.filters if isinstance(peer, Bogofilter)]
        self.has_sklearn = importlib.util.find_spec("sklearn") is not None
        self.has_fasttext = shutil.which("fasttext") is not None
        self.train, self.test = self.copy_mail(True), self.copy_mail(False)
        self.made, self.asked, self.lexicon = {}, [], (None, None)

    def copy_mail(self, train, copies=1, change=None):
        """One half of SpamAssassin, by the MD5 digest of the name (first digit 0-7 to train on), as real copies. In the
        c-th of several, `change(bytes, c)`. The folder that has ham/ and spam/."""
        folder = Path(tempfile.mkdtemp(dir=self.work))
        for label in LABELS:
            (folder / label).mkdir()
            for path in sorted((self.options.corpora / "spamassassin" / label).iterdir()):
                if (hashlib.md5(path.name.encode()).digest()[0] < 0x80) == train:
                    raw = path.read_bytes()
                    for c in range(copies):
                        name = f"{c}-{path.name}" if copies > 1 else path.name
                        (folder / label / name).write_bytes(change(raw, c) if change else raw)
        return folder

    def path(self, name):
        return self.work / name

    def once(self, name, make):
        """What `make` gives, made when it is first asked for."""
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def train_command(self, model, sources, *more):
        return Command([self.tamis, "train", "-m", self.path(model), *more, *sources])

    def label_command(self, model, sources, *more):
        return Command([self.tamis, "label", "-m", model, *more, *sources])

    def model(self, name, *sources, more=()):
        """A model trained once, not measured."""

        def make():
            self.train_command(name, sources, *more).run()
            return self.path(name)

        return self.once(name, make)

    def spam_model(self):
        return self.model("spam.tamis", *labelled(self.train))

    def mails(self):
        """The generated mails, or None if there is no generator."""
        if self.options.mails:
            return self.options.mails
        if not self.options.generator.exists():
            return None

        def make():
            Command([self.options.generator, self.path("mails"), "--terms", "1000000", "--seed", "1"]).run()
            return self.path("mails")

        return self.once("mails", make)

    def trained(self, peer, folder, name):
        """The folder of a peer's word list, trained once."""

        def make():
            peer.train(folder, self.path(name)).run()
            return self.path(name)

        return self.once(name, make)

    def texts(self, language, classes, times=TIMES):
        """Generated text. The one made last is kept: a lexicon is large."""
        key = language, classes, times
        if self.lexicon[0] != key:
            self.lexicon = key, Texts(language, classes, times=times)
        return self.lexicon[1]

    def asks(self, what, ratio, at_least=None, at_most=None):
        """A ratio that is asked to reach something, for the table at the end."""
        reached = ratio >= at_least if at_most is None else ratio <= at_most
        reach = f">= {at_least}" if at_most is None else f"<= {at_most}"
        self.asked.append((what, reach, f"{ratio:.2f}", "" if reached else "no"))

    def print_asked(self):
        print("## What ratios should reach\n")
        table(["", "reach", "is", "reached"], self.asked)

    def times_as_long(self, what, tamis, peer, at_least):
        """The CPU of the peer by that of tamis, in words; kept for the table at the end if something is asked of it."""
        ratio = peer.median().cpu / tamis.median().cpu
        if at_least:
            self.asks(what, ratio, at_least=at_least)
        return f"{ratio:.2f}"

    def measure(self, programs, rows=None):
        """Runs programs and prints their rows, which are the programs themselves unless they have several."""
        alternate(programs, self.options.repeat)
        usage_table(rows or programs)

    def rows(self, number):
        return number // 10 if self.options.quick else number

    def labels(self, command):
        """The labels that `tamis label` gives, in order."""
        out = subprocess.run([str(a) for a in command.arguments], check=True, capture_output=True, text=True).stdout
        return [row["label"] for row in csv.DictReader(out.splitlines())]

    def information(self, model, terms=0):
        arguments = [self.tamis, "inspect", "--json", "--terms", str(terms), "-m", str(model)]
        return json.loads(subprocess.run(arguments, check=True, capture_output=True).stdout)


def labelled(folder):
    return [f"{label}={folder / label}" for label in LABELS]
