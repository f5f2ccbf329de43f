"""Table k: the fit beside the linear learners that people use, from a file of lines each."""

import importlib.metadata
import importlib.util
import math
import random
import re
import sys

from measure import COUNTS, ONE, Command, Program, labelled_lines, newsgroups

# A class makes its own words this many times as frequent. The best learners then label one row in five wrongly.
TIMES = 7
FASTTEXT = """
import sys, fasttext
what, model, lines = sys.argv[1:4]
if what == "train":
    fasttext.train_supervised(input=lines, thread=1, verbose=0).save_model(model)
else:
    learned = fasttext.load_model(model)
    for line in open(lines, encoding="utf-8"):
        text = line.rstrip("\\n").partition(" ")[2]
        # what `predict` calls, which numpy 2 breaks
        print(*(f"{label[9:]}:{chance}" for chance, label in learned.f.predict(text + "\\n", -1, 0.0, "strict")))
"""


def version_of(package):
    return importlib.metadata.version(package) if importlib.util.find_spec(package.split("-")[0]) else None


class Learner:
    """`line` is a row as it reads it; `program` trains, `predict` yields the probabilities of each row."""

    def __init__(self, bench, name, labels):
        self.bench, self.path, self.numbers = bench, f"k {name}", {label: at + 1 for at, label in enumerate(labels)}

    def lines(self, rows, part):
        """A file of rows of label and text. Making it is not measured."""
        path = self.bench.path(f"{self.path} {part}.{self.package}")
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(self.line(label, " ".join(re.findall(r"\w+", text.lower()))) + "\n" for label, text in rows)
        return path


class VowpalWabbit(Learner):
    """Three passes of one-against-all logistic regression over 2^20 hashed words."""

    name = "Vowpal Wabbit, three passes"
    package = "vowpalwabbit"

    def line(self, label, text):
        return f"{self.numbers[label]} | {text}"

    def program(self, train):
        cache, model = (self.bench.path(f"{self.path}.{end}") for end in ("cache", "vwmodel"))
        options = ["--oaa", len(self.numbers), "-b", 20, "--loss_function", "logistic", "--passes", 3, "--probabilities"]
        command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *options, "--cache_file", cache, "-k", "-d", train, "-f", model]
        return Program(self.name, [Command(command)])

    def predict(self, test):
        model, out = self.bench.path(f"{self.path}.vwmodel"), self.bench.path(f"{self.path}.out")
        run = [sys.executable, "-m", "vowpalwabbit", "--quiet", "-t", "--probabilities", "-i", model, "-d", test, "-p", out]
        Command(run).run()
        labels = {str(number): label for label, number in self.numbers.items()}
        for line in out.read_text().splitlines():
            chances = (pair.split(":") for pair in line.split() if ":" in pair)
            yield {labels[number]: float(chance) for number, chance in chances}


class FastText(Learner):
    """fastText's supervised classifier with its defaults: five epochs, vectors of 100 numbers."""

    name = "fastText supervised, default"
    package = "fasttext-wheel"

    def line(self, label, text):
        return f"__label__{label} {text}"

    def command(self, what, lines):
        script = self.bench.path("learn_vectors.py")
        script.write_text(FASTTEXT)
        return Command([sys.executable, script, what, self.bench.path(f"{self.path}.bin"), lines])

    def program(self, train):
        return Program(self.name, [self.command("train", train)], most=2)

    def predict(self, test):
        for line in self.command("predict", test).said().output.splitlines():
            yield {label: float(chance) for label, chance in (pair.rsplit(":", 1) for pair in line.split())}


LEARNERS = [VowpalWabbit, FastText]


def measures(labels, answers):
    """Share of right answers and mean log loss in nats."""
    pairs = list(zip(labels, answers, strict=True))
    right = sum(max(chances, key=chances.get) == label for label, chances in pairs) / len(pairs)
    loss = sum(-math.log(min(1.0, max(chances.get(label, 0.0), 1e-15))) for label, chances in pairs) / len(pairs)
    return right, loss


def own_measures(bench, model, test):
    figures = Command([bench.tamis, "evaluate", "--json", "-m", model, *test]).json()
    return figures["accuracy"], figures["log_loss"]


def compare(bench, name, sources, rows):
    """Trains with tamis and with every learner that is here. `sources` are what tamis reads, `rows` the same labels and texts."""
    ways = {"as it is by default": [], "--correction off": ["--correction", "off"], "multinomial counts": COUNTS}
    programs, figures = [], {}
    for how, options in ways.items():
        command = bench.train_command(f"k {name} {how}.tamis", sources["train"], *ONE, *options)
        programs.append(Program(f"tamis, {how}", [command]))
    peers = []
    for learner in LEARNERS:
        if version_of(learner.package):
            peer = learner(bench, name, sorted({label for label, _ in rows["train"]}))
            peers.append((peer, peer.program(peer.lines(rows["train"], "train"))))
    bench.measure(programs + [program for _, program in peers])
    for how, program in zip(ways, programs):
        figures[program.name] = own_measures(bench, bench.path(f"k {name} {how}.tamis"), sources["test"])
    truth = [label for label, _ in rows["test"]]
    for peer, program in peers:
        figures[program.name] = measures(truth, peer.predict(peer.lines(rows["test"], "test")))
    for of, (right, loss) in figures.items():
        print(f"* {of}: accuracy {right:.4f}, log loss {loss:.4f}")
    print()
    default, off = programs[:2]
    bench.asks(f"{name}: CPU of default by --correction off", default.median().cpu / off.median().cpu, at_most=1.3)
    for peer, program in peers:
        most = {"vowpalwabbit": 0.6, "fasttext-wheel": 0.15}[peer.package]
        bench.asks(f"{name}: CPU of default by {peer.name}", default.median().cpu / program.median().cpu, at_most=most)


def pairs(texts, labels):
    return list(zip(labels, texts))


def linear_learners(bench):
    """k. The fit beside linear learners: rows of 60 words with four labels, and 20 Newsgroups; one thread, CPU"""
    for number in (bench.rows(100_000), bench.rows(1_000_000)):
        name = f"{number:,} rows"
        tables = {}
        for part, n in (("train", number), ("test", 20_000)):
            tables[part] = bench.path(f"k {number} {part}.tsv")
            bench.texts("English", 4, TIMES).write(tables[part], n, 60, part)
        print(f"{name}:\n")
        compare(bench, name, {part: [table] for part, table in tables.items()}, {p: pairs(*labelled_lines(t))[1:] for p, t in tables.items()})
        for table in tables.values():
            table.unlink()
    print("20 Newsgroups:\n")
    folders = {part: bench.newsgroups / part for part in ("train", "test")}
    rows = {part: pairs(*newsgroups(folder)) for part, folder in folders.items()}
    # learners that take one line after another want no order
    random.Random(0).shuffle(rows["train"])
    compare(bench, "20 Newsgroups", {part: [folder] for part, folder in folders.items()}, rows)
