#!/usr/bin/env python3
"""How tamis reads small tables of label and text as people's programs write them.

    benches/sources/tables.py TAMIS [--tables N] [--seed N] [--folder FOLDER] [--by KEY] [--others] [--show N]
                              [--limits RIGHT TOLD SILENT]

dialects.py writes the tables, each with a dialect, a header and one trouble, and what was put in. Needs pandas, polars,
duckdb and zstandard of PyPI, and sqlite3. The dialects of a program that is missing are left out, which is said.

A table is
  right    each row has its label and text. Line ends, NUL and blanks at the ends of a cell do not count.
  part     what is read is right, and a message says that other rows are not read
  refused  nothing is read, and a message says why
  near     a missing label is read as a word such as NA, or labels and words are right, but not every quote or backslash
  told     something is read wrong, and a message says how the table was read or that rows are missing
  silent   something is read wrong or is missing, and no message says so; or `train` learns other labels than `label` shows
  fault    a crash, more than 20 seconds, or more than 500 MB

Prints how many are what, by dialect, trouble or header if asked for; --others adds pandas, duckdb and polars. --show adds N
tables that are not right, part or refused. FOLDER keeps the tables; if it has truth.jsonl, its tables are judged.
--limits takes per cent and exits with 1 if fewer are right or more are told or silent, or at a fault; with 3 if a program is
missing.
"""

import contextlib
import io
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import dialects
from measure import Command, parser, table

NOT_HERE, EXCEEDED = 3, 1
KINDS = ["right", "part", "refused", "near", "told", "silent", "fault"]
SECONDS, MIB = "20", 500
MISSING = {"na", "null", "\\n", "nan", "none"}
SPELLINGS = {True: {"true", "t", "1", "1.0", "wahr"}, False: {"false", "f", "0", "0.0", "falsch"}}
OF_VERDICT = ("path", "probability", "log_odds", "label")
ALL_ROWS = 10**9


class Fault(Exception):
    """The program crashed, or took too long or too much memory."""


def plain(cell):
    return cell.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip()


def equal(truth, cell):
    """Whether a cell holds what was put in, in any spelling of its type."""
    if truth in (None, "") or cell is None:
        return truth in (None, "") and cell in (None, "")
    if isinstance(truth, bool):
        return str(cell).lower() in SPELLINGS[truth]
    if isinstance(truth, str):
        return plain(str(cell)) == plain(truth)
    try:  # of a long number every digit counts
        return str(cell) == str(truth) or abs(truth) < 2**53 and float(str(cell).replace(",", ".")) == truth
    except ValueError:
        return False


def equal_label(truth, cell):
    """Labels may be trimmed, and nothing else."""
    return str(cell) in (truth, truth.strip()) if isinstance(truth, str) and truth else equal(truth, cell)


def is_missing(label):
    return str(label).lower() in MISSING


def equal_row(truth, row):
    return equal_label(truth[0], row[0]) and equal(truth[1], row[1])


def is_near(truth, row):
    missing = truth[0] is None and is_missing(row[0])
    words = [re.findall(r"\w+", plain(str(text or ""))) for text in (truth[1], row[1])]
    return missing and equal(truth[1], row[1]) or equal_label(truth[0], row[0]) and words[0] == words[1]


@dataclass
class Reading:
    """The rows that a program read, how many it refused, and whether messages say that, and how it took the table."""

    rows: list
    n_refused: int = 0
    says_refused: bool = False
    says_how: bool = False

    def judge(self, truth):
        rows = truth["rows"]
        if len(rows) == len(self.rows) and all(map(equal_row, rows, self.rows)):
            return "right"
        at, n_found = 0, 0
        for row in self.rows:
            place = next((n for n in range(at, len(rows)) if equal_row(rows[n], row)), None)
            at, n_found = (at, n_found) if place is None else (place + 1, n_found + 1)
        all_found, n_missing = n_found == len(self.rows), len(rows) - n_found
        if self.says_refused and self.n_refused and all_found and (not self.rows or n_missing <= self.n_refused):
            return "part" if self.rows else "refused"
        if self.says_how or self.says_refused and self.n_refused > truth["bad"]:
            return "told"
        return "near" if len(rows) == len(self.rows) and all(map(is_near, rows, self.rows)) else "silent"


class Tamis:
    """The program in a folder of its own, with a model to label with."""

    def __init__(self, program, work):
        self.program, self.work, self.model = program.resolve(), work, work / "model.tamis"
        (work / "model.csv").write_text("label,text\nham,red green\nspam,blue\n")
        self.run("train", "-m", self.model, work / "model.csv")

    def run(self, *arguments):
        """The exit code, what was printed, and messages."""
        output, errors = self.work / "output", self.work / "errors"
        limited = ["timeout", "--signal=KILL", SECONDS, self.program, *arguments]
        usage = Command(limited, ok=range(-64, 256)).run_for_peak(output, errors)
        if not 0 <= usage.code < 100 or usage.peak > MIB:
            raise Fault
        return usage.code, output.read_bytes().splitlines(), errors.read_text(encoding="utf-8", errors="replace")

    def judge(self, folder, truth):
        options = {f"--{name}-column": column for name, column in truth["options"].items() if name != "no_header"}
        source = [folder / truth["file"], *sum(options.items(), ()), *["--no-header"] * ("no_header" in truth["options"])]
        try:
            reading, errors = self.label(source, truth)
            kind = reading.judge(truth)
            if "without columns" in errors and self.is_one_document(source):
                return "silent"
            code, learned = self.train(source)
        except Fault:
            return "fault"
        if code == 3 and kind == "silent" and all(label is None for label, _ in reading.rows):
            return "refused"  # there are no labels
        # `label` shows NA as it stands; `train` may take it for missing
        known = [(None if is_missing(label) and spell(label) not in learned else label, text) for label, text in reading.rows]
        if code == 0 and kind == "near" and Reading(known).judge(truth) == "right":
            return "right"
        read = Counter(spell(label) for label, _ in known if label not in (None, ""))
        return "silent" if code == 0 and learned != read and kind in ("right", "near") else kind

    def label(self, source, truth):
        """What `label --keep` reads, and messages."""
        label = ["label", "-m", self.model, *source, "--format", "jsonl", "--keep"]
        code, output, errors = self.run(*label, "all")
        if "names that differ" in errors and truth["names"]:
            code, output, errors = self.run(*label, ",".join(truth["names"]))
        rows = list(map(json.loads, output))
        columns = columns_of(rows[0], truth["options"], errors) if rows else None
        rows = [[cell_of(row.get(column)) for column in columns] for row in rows]
        return Reading(rows, *refused(code, rows, errors)), errors

    def is_one_document(self, source):
        """Whether the file counts as a document as a whole."""
        code, output, errors = self.run("label", "-m", self.model, *source)
        return code == 0 and any(b".json," in line for line in output) and "expected" not in errors

    def train(self, source):
        """The exit code of `train`, and how many rows it learned of each label."""
        model, learned = self.work / "trained.tamis", Counter()
        options = ["--correction", "off", "--pieces", "off", "--ngrams", "1", "--replace", "--documents"]
        code, _, _ = self.run("train", "-m", model, *options, *source)
        for line in self.run("export", "-m", model, "--documents")[1] if code == 0 else ():
            if line.startswith(b'{"digest'):
                document = json.loads(line)
                learned[document["label"]] += document["copies"]
        return code, learned


def refused(code, rows, errors):
    """How many rows are refused, and whether messages say so and how the table was taken."""
    counted = re.search(r"([\d,]+) documents? could not be read", errors)
    n_refused = int(counted[1].replace(",", "")) if counted else len(re.findall(r"^tamis: .*:\d+: ", errors, re.M))
    n_refused += sum(map(int, re.findall(r"lines not read: (\d+)", errors)))
    says_how = re.search(r"is the label and column|the first row is a header|the only column is", errors)
    usual = r": (text|mail), 1 file$|^--keep: the rows have|^--keep: no row"
    says = any(not re.search(usual, line) for line in errors.splitlines())
    return ALL_ROWS if code == 3 and not rows else n_refused, says, bool(says_how)


def columns_of(row, options, errors):
    """The columns of label and text that tamis took: as told, by name, or as its message says."""
    names = [key for key in row if key not in OF_VERDICT and not key.startswith("tamis_")]
    names += [key.removeprefix("tamis_") for key in row if key.startswith("tamis_")]
    columns = [find(names, options.get(name, name)) for name in ("label", "text")]
    if columns[1] is None:
        taken = re.search(r"column (\d+) is the label and column (\d+) the text", errors)
        columns = list(taken.groups()) if taken else [None, "1"]
    return columns


def find(names, name):
    return next((n for n in names if n == name), None) or next((n for n in names if n.strip().lower() == name.lower()), None)


def cell_of(value):
    return value if value is None or isinstance(value, (str, bool, int, float)) else json.dumps(value)


def spell(label):
    """A label as a model names it."""
    return json.dumps(label) if isinstance(label, (bool, float)) else str(label)


def read_by(program, path, header):
    """The columns that another program reads by default, told only the separator of .tsv and whether there is a header."""
    kind = next(part for part in reversed(path.name.split(".")) if part not in ("gz", "zst"))
    in_json, tab = "json" in kind, {"sep": "\t"} if kind == "tsv" else {}
    if program == "pandas":
        pd = dialects.pd
        read = pd.read_json(path, lines=kind != "json") if in_json else pd.read_csv(path, header=header, **tab)
        return {str(name): [None if pd.isna(cell) else cell for cell in cells.tolist()] for name, cells in read.items()}
    if program == "polars" and in_json:
        return (dialects.pl.read_json if kind == "json" else dialects.pl.read_ndjson)(path).to_dict(as_series=False)
    if program == "polars":
        tab = {"separator": mark for mark in tab.values()}
        return dialects.pl.read_csv(path, has_header=header == 0, **tab).to_dict(as_series=False)
    source = f"read_json('{path}')" if in_json else f"read_csv('{path}'{'' if header == 0 else ', header=false'})"
    found = dialects.duckdb.sql(f"SELECT * FROM {source}")
    return dict(zip(found.columns, zip(*found.fetchall()) if len(found) else [()] * len(found.columns)))


def judge_other(program, folder, truth):
    """What another program makes of a table. Columns are found by name, or by place without a header. An error is a refusal."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            columns = read_by(program, folder / truth["file"], None if "no_header" in truth["options"] else 0)
            names = [find(columns, name) for name in truth["names"] or ()] or [list(columns)[place] for place in truth["place"]]
            return Reading(list(zip(*(columns[name] for name in names)))).judge(truth)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a panic of polars is not an Exception
        return "refused"


def judge_all(options, folder, work):
    """The kind of each table by reader."""
    with open(folder / "truth.jsonl", encoding="utf-8") as lines:
        truths = list(map(json.loads, lines))
    tamis, kinds = Tamis(options.tamis, work), {}
    kinds["tamis"] = [tamis.judge(folder, truth) for truth in truths]
    for program in sorted({"pandas", "duckdb", "polars"} - {*dialects.MISSING}) if options.others else ():
        kinds[program] = [judge_other(program, folder, truth) for truth in truths]
    return truths, kinds


def report(options, truths, kinds):
    """Prints the tables; returns whether tamis is within the limits."""
    shown = [(truth, kind) for truth, kind in zip(truths, kinds["tamis"]) if kind in KINDS[3:]]
    for truth, kind in shown[: options.show]:
        print(f"{kind}: {truth['file']}: {truth['dialect']}; {truth['trouble']}; {truth['header']}")
    for reader, of_reader in kinds.items():
        groups = defaultdict(Counter)
        for truth, kind in zip(truths, of_reader):
            groups[truth[options.by] if options.by else "all"][kind] += 1
        rows = ((name, n.total(), *(n[kind] for kind in KINDS)) for name, n in sorted(groups.items()))
        table([reader, "tables", *KINDS], rows)
    counts = Counter(kinds["tamis"])
    right, told, silent = (100 * counts[kind] / len(truths) for kind in ("right", "told", "silent"))
    print(f"tamis: {len(truths)} tables; {right:.1f} % right, {told:.1f} % told wrong, {silent:.1f} % silently wrong, "
          f"{counts['fault']} faults")
    limits = options.limits
    return limits is None or right >= limits[0] and told <= limits[1] and silent <= limits[2] and not counts["fault"]


def main():
    arguments = parser(__doc__, "tamis")
    arguments.add_argument("--tables", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--folder", type=Path)
    arguments.add_argument("--by", choices=("dialect", "trouble", "header"))
    arguments.add_argument("--others", action="store_true")
    arguments.add_argument("--show", type=int, default=0)
    arguments.add_argument("--limits", type=float, nargs=3, metavar=("RIGHT", "TOLD", "SILENT"))
    options = arguments.parse_args()
    if dialects.MISSING:
        print(f"skipped: dialects of {', '.join(dialects.MISSING)}, since not all that they need is here", file=sys.stderr)
    if dialects.MISSING and options.limits:
        return NOT_HERE
    with tempfile.TemporaryDirectory() as work:
        folder = (options.folder or Path(work, "tables")).resolve()
        if not (folder / "truth.jsonl").exists():
            made, refused = dialects.write_tables(folder, options.tables, options.seed)
            print(f"{made} tables; {refused} more that their programs do not write")
        within = report(options, *judge_all(options, folder, Path(work)))
    return 0 if within else EXCEEDED


if __name__ == "__main__":
    sys.exit(main())
