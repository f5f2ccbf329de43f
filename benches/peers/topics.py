"""Tables of 20 Newsgroups."""

from measure import COUNTS, ONE, Command, Program
from peers import LINFA_WORDS, build_linfa, fasttext_lines, sklearn


def saved(bench):
    """a. Topics: 20 Newsgroups from files to a saved model"""
    train = bench.newsgroups / "train"
    counts = Program("tamis, multinomial counts", [bench.train_command("a1.tamis", [train], *ONE, *COUNTS)])
    default = Program("tamis, as it is by default", [bench.train_command("a2.tamis", [train], *ONE)])
    programs, rows = [counts, default], [counts, default]
    names = {"counts": "CountVectorizer, MultinomialNB", "tfidf": "TfidfVectorizer, LinearSVC"}
    whole = {pipeline: Program(f"scikit-learn, {name}, whole process", []) for pipeline, name in names.items()}
    imports = Program("scikit-learn, its imports alone", [])
    if bench.has_sklearn:
        for pipeline, row in whole.items():
            # imports are told once
            parts = {"whole": row} | ({"imports": imports} if pipeline == "counts" else {})
            job = "save", pipeline, train, bench.path("a.pickle")
            programs.append(sklearn(bench.path("a.json"), *job, rows=parts))
            rows += parts.values()
    if bench.has_fasttext:
        lines = fasttext_lines(train, bench.path("a.txt"))
        learn = ["fasttext", "supervised", "-input", lines, "-output", bench.path("a.fasttext"), "-thread", "1"]
        programs.append(Program("fastText supervised, default", [Command(learn)], most=2))
        rows.append(programs[-1])
    if bench.options.linfa:
        command = Command([build_linfa(bench.path("linfa")), train, LINFA_WORDS])
        programs.append(Program(f"linfa, {LINFA_WORDS:,} words, not saved", [command], most=3))
        rows.append(programs[-1])
    bench.measure(programs, rows)
    if bench.has_sklearn:
        all_of_it, first = whole["counts"].median().cpu, imports.median().cpu
        ratio = (all_of_it - first) / counts.median().cpu
        print(f"scikit-learn's counts without imports: {all_of_it - first:.3f} s CPU, {ratio:.2f} times tamis's\n")
        what = "20 Newsgroups, whole process"
        bench.times_as_long(f"{what}: counts, CountVectorizer + MultinomialNB", counts, whole["counts"], 15)
        bench.times_as_long(f"{what}: default, TfidfVectorizer + LinearSVC", default, whole["tfidf"], 3)


def labelled_topics(bench):
    """h. Labelling the test half of 20 Newsgroups: tamis from files, scikit-learn from texts in memory"""
    train, test = bench.newsgroups / "train", bench.newsgroups / "test"
    pairs = []
    for how, options, pipeline, name in [
        ("all defaults", [], "tfidf", "TfidfVectorizer, LinearSVC"),
        ("multinomial", COUNTS, "counts", "CountVectorizer, MultinomialNB"),
    ]:
        model = bench.model(f"h {how}.tamis", train, more=options)
        tamis = Program(f"tamis label, {how}, whole process", [bench.label_command(model, [test], *ONE)])
        peer = Program(f"scikit-learn, {name}, predict alone", [])
        job = sklearn(bench.path("h.json"), "folders", pipeline, train, test, rows={"label": peer})
        pairs.append((how, tamis, peer, job))
    jobs = [(tamis, job) if bench.has_sklearn else (tamis,) for _, tamis, _, job in pairs]
    bench.measure([program for pair in jobs for program in pair], [row for pair in pairs for row in pair[1:3]])
    for how, tamis, peer, _ in pairs:
        if peer.runs:
            ratio = bench.times_as_long(f"label 20 Newsgroups, {how}", tamis, peer, 6)
            print(f"* {how}: scikit-learn takes {ratio} times the CPU")
    print()
