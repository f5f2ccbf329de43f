#!/usr/bin/env python3
"""tamis against the programs that people use instead, in one go.

    benches/peers/run.py CORPORA > RESULT.md

CORPORA holds `20newsgroups-bydate` and `spamassassin` (corpora/README.md tells how to get them). README.md beside this file
tells how to get the peers, what each table means and what is unfair in it. Needs nothing but Python; a peer that is not here
has no row.
"""

import datetime
import importlib.metadata
import re
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Bench
from learners import LEARNERS, linear_learners, version_of
from measure import BUILT, LABELS, ONE, TIME, Command, Program, Together, alternate, labelled, machine, parser, table
from rows import scripts, short_rows
from topics import labelled_topics, saved

# What the model file has of every document without its terms, see ARCHITECTURE.md.
DOCUMENT_BYTES = 58


def mail_label(bench):
    """b1. Mail: labelling the test half of SpamAssassin, models made before"""
    tamis = bench.label_command(bench.spam_model(), [bench.test], *ONE)
    programs = [Program("tamis label", [tamis])]
    for peer in bench.filters:
        programs.append(peer.label(bench.test, bench.trained(peer, bench.train, peer.name)))
    bench.measure(programs)
    ask_of_mail(bench, "label mails", programs, {"bogofilter-bdb": 5, "bogofilter-sqlite": 8})


def mail_train(bench):
    """b2. Mail: learning the train half of SpamAssassin, from nothing"""
    sources = labelled(bench.train)
    programs = [
        Program("tamis, counts (--correction off)", [bench.train_command("b1", sources, *ONE, "--correction", "off")]),
        Program("tamis, as it is by default", [bench.train_command("b2", sources, *ONE)]),
    ]
    programs += [peer.train(bench.train, bench.path(f"b-{peer.name}")) for peer in bench.filters]
    bench.measure(programs)
    ask_of_mail(bench, "train mails without correction", programs, {"bogofilter-bdb": 3.2, "bogofilter-sqlite": 4.5})


def ask_of_mail(bench, what, programs, reach):
    for peer in programs:
        if peer.name in reach:
            bench.times_as_long(f"{what}, {peer.name}", programs[0], peer, reach[peer.name])


def learned_since(bench, size, folder, model, asked):
    """Copies of a model and of the peers' word lists after the other messages of the test half were learned too, thirty a process."""
    copy = shutil.copy(model, bench.path(f"since {size}.tamis"))
    lists = {peer.name: bench.path(f"c {size} {peer.name}") for peer in bench.bogofilters}
    for peer in bench.bogofilters:
        shutil.copytree(bench.trained(peer, folder, f"{peer.name} {size}"), lists[peer.name])
    for label in LABELS:
        messages = [path for path in sorted((bench.test / label).iterdir()) if path not in asked]
        for at in range(0, len(messages), 30):
            Command([bench.tamis, "learn", label, "--no-retrain", "-m", copy, *messages[at : at + 30]]).run()
        for peer in bench.bogofilters:
            peer.learn(messages, lists[peer.name], label).run()
    return copy, lists


def one_message(bench):
    """c. One message in a fresh process: milliseconds, wall"""
    paths = [sorted((bench.test / label).iterdir()) for label in LABELS]
    messages = [p for of_label in paths for p in of_label[:: len(of_label) // 25][:25]]
    sets, models = bench.trained_folders(), {}
    for size, (folder, model) in sets.items():
        lists = {peer.name: bench.trained(peer, folder, f"{peer.name} {size}") for peer in bench.bogofilters}
        models[size] = model, lists
        models[f"{size}, and what was learned since"] = learned_since(bench, size, folder, model, set(messages))
    starts = {("/bin/true", ""): lambda path: Command(["/bin/true"], path)}
    for size, (model, lists) in models.items():
        score = [bench.tamis, "score", "-m", model]
        starts["tamis score", size] = lambda path, a=score: Command(a, path, ok=(0, 1, 2))
        for peer in bench.bogofilters:
            ask = peer.score(lists[peer.name])
            starts[peer.name, size] = lambda path, a=ask: Command(a, path, ok=(0, 1, 2))
    runs = {key: [] for key in starts}
    for number in range(bench.options.messages):
        for key, start in starts.items():
            runs[key].append(start(messages[number % len(messages)]).run())
    walls = {key: [1e3 * run.wall for run in of] for key, of in runs.items()}
    over = {key: median(of) - median(walls["/bin/true", ""]) for key, of in walls.items()}
    rows = []
    for (name, size), of in walls.items():
        ratios = [median(of) / median(walls["tamis score", size]), over[name, size] / over["tamis score", size]] if size else []
        cpu = 1e3 * median(run.cpu for run in runs[name, size])
        figures = median(of), quantiles(of, n=20)[-1], cpu, over[name, size], *ratios
        rows.append((name, size, *(f"{figure:.2f}" for figure in figures), *[""] * (2 - len(ratios))))
    table(["", "model", "wall", "95 % below", "CPU", "wall over /bin/true", "ratio of wall", "of wall over"], rows)
    print(f"{len(messages)} messages in turn, {bench.options.messages} runs each\n")
    for size in models:
        if ("bogofilter-sqlite", size) in walls:
            ratio = median(walls["tamis score", size]) / median(walls["bogofilter-sqlite", size])
            reach = 0.4 if size.startswith("train half") else 0.56
            bench.asks(f"one message by a fresh process, bogofilter-sqlite, {size}", ratio, at_most=reach)
    if len(sets) == 2:
        small, large = (over["tamis score", size] for size in sets)
        print(f"tamis with the large model takes {large - small:+.2f} ms over the small one\n")


def learning(bench):
    """g. Learning one message, by a fresh process each: milliseconds, wall"""
    of_test = [path for label in LABELS for path in sorted((bench.test / label).iterdir())]
    of_test = of_test[:: max(1, len(of_test) // bench.options.messages)][: bench.options.messages]
    others = {"1,000,000 terms": other_mails(bench)}
    runs = {}
    for size, (folder, model) in bench.trained_folders().items():
        copy = shutil.copy(model, bench.path(f"g {size}.tamis"))
        learn = {"tamis learn": [bench.tamis, "learn", "spam", "--no-retrain", "-m", copy]}
        for peer in bench.bogofilters:
            words = bench.path(f"g {peer.name} {size}")
            shutil.copytree(bench.trained(peer, folder, f"{peer.name} {size}"), words)
            learn[f"{peer.name} -s"] = peer.learn_spam(words)
        runs |= {(name, size): [] for name in learn}
        for path in others.get(size) or of_test:
            for name, arguments in learn.items():
                runs[name, size].append(Command(arguments, path).run())
    rows, figures = [], {}
    for (name, size), of in runs.items():
        walls = sorted(1e3 * run.wall for run in of)
        # the largest but one in a hundred, in a thousand
        figures[name, size] = median(walls), *(walls[-1 - len(walls) // n] for n in (100, 1000))
        ratio = figures[name, size][0] / figures["tamis learn", size][0]
        shown = *figures[name, size], walls[-1], 1e3 * median(run.cpu for run in of)
        rows.append((name, size, len(of), *(f"{ms:.2f}" for ms in shown), f"{ratio:.2f}"))
    table(["", "model", "messages", "wall", "99 % below", "99.9 % below", "most", "CPU", "ratio of wall"], rows)
    print("Different messages, each waited for until it is on the disk\n")
    size, peer = "1,000,000 terms", "bogofilter-sqlite -s"
    if (peer, size) in figures:
        ratios = (own / other for own, other in zip(figures["tamis learn", size], figures[peer, size]))
        for what, ratio, reach in zip(("median", "99 %", "99.9 %"), ratios, (0.35, 0.7, 1)):
            bench.asks(f"learn one message, {what}, bogofilter-sqlite, {size}", ratio, at_most=reach)


def other_mails(bench):
    """Some 5,000 generated mails that no model of table c knows, or None if there is no generator."""
    if folder := bench.generated("other mails", 250_000, 2):
        mails = sorted(folder.glob("*/*"), key=lambda path: (path.name, path.parent.name))
        return mails[: 5000 * bench.options.messages // 300]


def threads(bench):
    """d. Two threads against one"""
    train, mail = bench.newsgroups / "train", labelled(bench.train)
    topics_model = bench.model("topics.tamis", train)
    jobs = {
        "train 20 Newsgroups": lambda name: bench.train_command(name, [train]),
        "label 20 Newsgroups": lambda _: bench.label_command(topics_model, [bench.newsgroups / "test"]),
        "train SpamAssassin": lambda name: bench.train_command(name, mail),
        "label SpamAssassin": lambda _: bench.label_command(bench.spam_model(), [bench.test]),
    }
    triples = []
    for name, job in jobs.items():
        one, two = ([*job(f"d{n}").arguments, "--threads", n] for n in (1, 2))
        other = [*job("d other").arguments, "--threads", 1]
        ways = [Command(one)], [Command(two, threads=2)], [Together([Command(one), Command(other)])]
        triples.append([Program(name, way) for way in ways])
    alternate([program for triple in triples for program in triple], bench.options.repeat)
    rows = []
    for triple in triples:
        one, two, both = (program.median() for program in triple)
        ratios = [f"{one.wall / two.wall:.2f}", f"{2 * one.wall / both.wall:.2f}"]
        if triple[0].name.startswith("train"):
            bench.asks(f"two threads, {triple[0].name}", one.wall / two.wall, at_least=1.8)
        rows.append((triple[0].name, f"{one.wall:.3f}", f"{two.wall:.3f}", *ratios, f"{one.cpu:.3f}", f"{two.cpu:.3f}"))
    head = ["", "wall s, 1 thread", "2 threads", "times faster", "two processes", "CPU s, 1 thread", "2 threads"]
    table(head, rows)


def add_word(raw, copy):
    """One word more in the subject: a part that every reader of mail reads."""
    word = b"Subject: copy" + bytes([ord("a") + copy])
    head, end, body = raw.partition(b"\n\n")
    changed, found = re.subn(rb"(?mi)^Subject:", lambda _: word, head, count=1)
    if not found:
        first, _, rest = head.partition(b"\n")
        changed = b"\n".join([first, word, rest])
    return changed + end + body


def memory(bench):
    """e. Peak memory of train --no-documents --correction off --repeat, one thread"""
    folders = {
        "train half": bench.train,
        "ten copies, other names": bench.copy_mail(True, 10),
        "ten copies, a word changed": bench.copy_mail(True, 10, add_word),
    }
    # equal mail counts once by default: here each copy counts
    options = [*ONE, "--no-documents", "--correction", "off", "--repeat"]
    programs = [
        Program(name, [bench.train_command(f"e {name}", labelled(folder), *options)])
        for name, folder in folders.items()
    ]
    bench.measure(programs)
    for name in folders:
        about = bench.information(bench.path(f"e {name}"))
        print(f"* {name}: {about['remembered']['documents']:,} different documents, {about['terms']:,} terms")
    print()


def size(bench):
    """f. Bytes of the model file a term (--no-documents)"""
    sources = {"train half": labelled(bench.train)}
    if mails := bench.mails():
        sources["1,000,000 terms"] = [mails]
    rows = []
    for name, of in sources.items():
        for how, more in (("counts", ["--correction", "off"]), ("default", [])):
            model = bench.model(f"f {name} {how}", *of, more=["--as", "mail", "--no-documents", *more])
            n = bench.information(model)["terms"]
            about = bench.information(model, terms=n)
            texts = {term["term"] for of_class in about["classes"] for term in of_class["strongest_terms"]}
            text = sum(len(t.encode()) for t in texts)
            documents = DOCUMENT_BYTES * about["remembered"]["documents"]
            rest = about["bytes"] - documents
            figures = n, about["bytes"], documents, text
            rows.append((name, how, *(f"{x:,}" for x in figures), f"{rest / n:.1f}", f"{(rest - text) / n:.1f}"))
    head = ["model", "", "terms", "bytes", "of documents", "of text", "bytes a term", "without text"]
    table(head, rows)


TABLES = {
    "a": [saved], "b": [mail_label, mail_train], "c": [one_message], "d": [threads], "e": [memory], "f": [size],
    "g": [learning], "h": [labelled_topics], "i": [scripts], "j": [short_rows], "k": [linear_learners],
}


def print_head(bench):
    version = Command([bench.tamis, "--version"]).said().output.strip()
    print(f"{datetime.date.today()}, {machine()}")
    print(f"benches/peers/run.py CORPORA, medians of {bench.options.repeat} rounds\n")
    print(f"* {version}\n* Python {sys.version.split()[0]}")
    here = {peer.name: peer.version() for peer in bench.peers}
    here["scikit-learn"] = importlib.metadata.version("scikit-learn") if bench.has_sklearn else None
    here["fastText"] = "here, tells no version" if bench.has_fasttext else None
    here |= {learner.name: version_of(learner.package) for learner in LEARNERS}
    here["linfa"] = "0.8" if bench.options.linfa else None
    here["generated mails"] = bench.options.mails or bench.options.generator.exists() and bench.options.generator
    here["GNU time"] = TIME
    for name, found in here.items():
        print(f"* {name}: {found or 'not here'}")
    print(flush=True)


def main():
    arguments = parser(__doc__.split("\n")[0])
    arguments.add_argument("corpora", type=Path, help="holds 20newsgroups-bydate and spamassassin")
    arguments.add_argument("--tamis", default=BUILT / "tamis", help="the program to measure")
    built = BUILT / "examples/generate_mail"
    arguments.add_argument("--generator", type=Path, default=built, help="cargo build --release --example generate_mail")
    arguments.add_argument("--mails", type=Path, help="a folder that the generator has filled; else it is run")
    arguments.add_argument("--repeat", type=int, default=5, help="rounds [default: 5]")
    arguments.add_argument("--messages", type=int, default=300, help="runs of table c [default: 300]")
    arguments.add_argument("--only", default=",".join(TABLES), help="tables to make: a,b")
    arguments.add_argument("--quick", action="store_true", help="one round, a tenth of the rows and runs: does it work?")
    arguments.add_argument("--linfa", action="store_true", help="build linfa from the registry, for table a")
    arguments.add_argument("--work", help="where to make a folder for copies and models, about 1 GB [default: the usual]")
    options = arguments.parse_args()
    if options.quick:
        options.repeat, options.messages = 1, options.messages // 10
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        bench = Bench(options, Path(work))
        print_head(bench)
        for name in options.only.split(","):
            for make in TABLES[name]:
                print(f"## {make.__doc__}\n", flush=True)
                make(bench)
        bench.print_asked()


if __name__ == "__main__":
    main()
