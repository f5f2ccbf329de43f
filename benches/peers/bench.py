"""What the tables share: corpora, copies of them, models made once, the peers that are here, and what is asked of ratios."""

import csv
import importlib.util
import shutil
import tempfile
from pathlib import Path

from generate import TIMES, Texts
from measure import LABELS, Command, alternate, half_of_mail, labelled, table, usage_table
from peers import Bogofilter, Dbacl, Spamprobe


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
        self.made, self.asked, self.lexicon = set(), [], (None, None)

    def copy_mail(self, train, copies=1, change=None):
        """A folder of one half of SpamAssassin as real copies, ham/ and spam/. In the c-th of several, `change(bytes, c)`."""
        folder = Path(tempfile.mkdtemp(dir=self.work))
        for label in LABELS:
            (folder / label).mkdir()
            for path in half_of_mail(self.options.corpora / "spamassassin" / label, train):
                raw = path.read_bytes()
                for c in range(copies):
                    name = f"{c}-{path.name}" if copies > 1 else path.name
                    (folder / label / name).write_bytes(change(raw, c) if change else raw)
        return folder

    def path(self, name):
        return self.work / name

    def once(self, name, make):
        """The path of what `make` makes there, unmeasured, when it is first asked for."""
        if name not in self.made:
            make(self.path(name))
            self.made.add(name)
        return self.path(name)

    def train_command(self, model, sources, *more):
        return Command([self.tamis, "train", "-m", self.path(model), *more, *sources])

    def label_command(self, model, sources, *more):
        return Command([self.tamis, "label", "-m", model, *more, *sources])

    def model(self, name, *sources, more=()):
        return self.once(name, lambda _: self.train_command(name, sources, *more).run())

    def spam_model(self):
        return self.model("spam.tamis", *labelled(self.train))

    def generated(self, name, terms, seed):
        """A folder of generated mails, or None if there is no generator."""
        if self.options.generator.exists():
            command = [self.options.generator, self.path(name), "--terms", terms, "--seed", seed]
            return self.once(name, lambda _: Command(command).run())

    def mails(self):
        return self.options.mails or self.generated("mails", 1_000_000, 1)

    def trained_folders(self):
        """Folders of mail by what is said of them, each with a model of it."""
        folders = {"train half": (self.train, self.spam_model())}
        if mails := self.mails():
            folders["1,000,000 terms"] = mails, self.model("million.tamis", mails, more=["--as", "mail"])
        return folders

    def trained(self, peer, folder, name):
        """The folder of a peer's word list."""
        return self.once(name, lambda path: peer.train(folder, path).run())

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
        return [row["label"] for row in csv.DictReader(command.said().output.splitlines())]

    def information(self, model, terms=0):
        return Command([self.tamis, "inspect", "--json", "--terms", terms, "-m", model]).json()
