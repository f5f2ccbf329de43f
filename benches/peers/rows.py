"""Tables of rows of generated text: many scripts, many short rows."""

from generate import LANGUAGES
from measure import COUNTS, ONE, Program, alternate, labelled_lines, table
from peers import sklearn

# How scikit-learn is to take a language apart, if not into words as by default: "pairs" of characters where words have no
# space between them, "marks" in words, which are shreds without.
PIPELINES = {"Thai": ["pairs"], "Japanese": ["pairs"], "Chinese": ["pairs"], "Hindi": ["marks", "counts"]}
# What training and labelling should reach.
REACH = {"English": 8, "Russian": 6, "Arabic": 6, "Hindi": 6, "Chinese": 6}
PARTS = "train", "label"


class Rows:
    """Training and labelling of tables with the same classes: tamis's whole process, scikit-learn's texts in memory."""

    def __init__(self, bench, name, train, test, options, pipelines):
        self.bench, self.train_table, self.test_table = bench, train, test
        model = bench.path(f"{name}.tamis")
        self.train = Program("train", [bench.train_command(model.name, [train], *ONE, *options)])
        self.label = Program("label", [bench.label_command(model, [test], *ONE)])
        self.peers = {}
        for pipeline in pipelines if bench.has_sklearn else ():
            rows = {part: Program(part, []) for part in PARTS}
            report = bench.path(f"{name} {pipeline}.json")
            self.peers[pipeline] = sklearn(report, "rows", pipeline, train, test, rows=rows, most=3)

    def programs(self):
        return [self.train, self.label, *self.peers.values()]

    def right(self):
        """The share of documents that tamis labels rightly."""
        labels = labelled_lines(self.test_table)[1][1:]
        given = self.bench.labels(self.label.commands[0])
        return sum(a == b for a, b in zip(given, labels, strict=True)) / len(labels)


def table_of(bench, language, classes, part, number, words):
    """A table of generated text, made when it is first asked for."""
    name = f"{language} {classes} {part} {number} {words}.tsv"
    return bench.once(name, lambda path: bench.texts(language, classes).write(path, number, words, part))


def scripts(bench):
    """i. Scripts: rows of 200 words, two classes, counts of tamis and of scikit-learn, one thread, CPU"""
    number = bench.rows(20_000)
    of_language = {}
    for language in LANGUAGES:
        train, test = (table_of(bench, language, 2, part, number, 200) for part in ("train", "test"))
        of_language[language] = Rows(bench, f"i {language}", train, test, COUNTS, PIPELINES.get(language, ["counts"]))
    alternate([program for of in of_language.values() for program in of.programs()], bench.options.repeat)
    lines = []
    for language, of in of_language.items():
        megabytes = of.test_table.stat().st_size / 1e6
        bytes_a_word = 1e6 * megabytes / number / 200
        own = [f"{bytes_a_word:.1f}", f"{of.train.median().cpu:.3f}", f"{of.label.median().cpu:.3f}"]
        own += [f"{megabytes / program.median().cpu:.0f}" for program in (of.train, of.label)]
        right = f"{100 * of.right():.2f}"
        if not of.peers:
            lines.append((language, *own, "", "", "", "", "", right, ""))
        for at, (pipeline, peer) in enumerate(of.peers.items()):
            ratios = []
            for part, program in (("train", of.train), ("label", of.label)):
                reach = REACH.get(language) if at == 0 else None
                what = f"rows of 200 words, {language}, {part} multinomial"
                ratios.append(bench.times_as_long(what, program, peer.rows[part], reach))
            theirs = [f"{peer.rows[part].median().cpu:.3f}" for part in PARTS]
            lines.append((language, *own, pipeline, *theirs, *ratios, right, f"{100 * peer.said['right']:.2f}"))
    head = ["", "bytes a word", "train s", "label s", "train MB/s", "label MB/s", "scikit-learn", "train s", "label s"]
    table([*head, "train ratio", "label ratio", "right %", "scikit-learn's"], lines)
    print(f"{number:,} rows to learn and {number:,} others to label\n")


def short_rows(bench):
    """j. Short rows: 60 words, four classes, one thread, CPU"""
    number = bench.rows(100_000)
    train, test = (table_of(bench, "English", 4, part, number, 60) for part in ("train", "test"))
    counts = Rows(bench, "j counts", train, test, COUNTS, ["counts"])
    default = Rows(bench, "j default", train, test, [], [])
    large = table_of(bench, "English", 4, "train", 10 * number, 60)
    many = Program(f"tamis train, default, {10 * number:,} rows", [bench.train_command("j many.tamis", [large], *ONE)])
    rows = []
    for name, of in (("multinomial", counts), ("default", default)):
        of.train.name, of.label.name = f"tamis train, {name}, {number:,} rows", f"tamis label, {name}, {number:,} rows"
        rows += of.train, of.label
    rows.append(many)
    programs = [*counts.programs(), *default.programs(), many]
    for of in counts.peers.values():
        of.rows["train"].name, of.rows["label"].name = (f"scikit-learn {part}, texts in memory" for part in PARTS)
        rows += of.rows.values()
    many.most = 3
    bench.measure(programs, rows)
    print(f"right: {100 * counts.right():.2f} % multinomial, {100 * default.right():.2f} % default")
    for of in counts.peers.values():
        print(f"scikit-learn: {100 * of.said['right']:.2f} %\n")
        rows = f"{number:,} rows of 60 words, 4 classes"
        for how, program in (("default", default.label), ("multinomial", counts.label)):
            ratio = bench.times_as_long(f"{rows}: label, {how}", program, of.rows["label"], 12)
            print(f"* label, {how}: scikit-learn takes {ratio} times the CPU")
        ratio = bench.times_as_long(f"{rows}: train multinomial", counts.train, of.rows["train"], 12)
        print(f"* train multinomial: scikit-learn takes {ratio} times the CPU")
    print()
    growth = many.median().cpu / default.train.median().cpu / 10
    megabytes = many.median().peak * 2**20 / 1e6
    print(f"{10 * number:,} rows take {growth:.2f} times ten times the CPU of {number:,}, and {megabytes:.0f} MB\n")
    bench.asks(f"{10 * number:,} rows, default: MB of train", megabytes, at_most=700)
    bench.asks(f"{10 * number:,} rows, default: CPU of train by ten times that of {number:,}", growth, at_most=1.1)
