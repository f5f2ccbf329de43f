"""Small tables of label and text as people's programs write them, and what was put into them.

pandas, polars, duckdb, Python's csv and sqlite3 write their own tables. What R, Excel, LibreOffice, Google Sheets, MySQL,
PostgreSQL and Spark write is imitated from their documentation. dialects.toml lists what each program is told.
"""

import csv
import gzip
import importlib
import io
import json
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


pd, pl, duckdb, zstandard = map(library, ("pandas", "polars", "duckdb", "zstandard"))
NEEDED = {"pandas": pd, "datasets": pd, "to_json": pd, "zstandard": pd and zstandard, "polars": pl}
NEEDED |= {"duckdb": pd and duckdb, "sqlite3": shutil.which("sqlite3")}
MISSING = [program for program, found in NEEDED.items() if not found]
DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CONTENT, LABELS = DATA["content"], DATA["labels"]
DIALECTS = {
    f"{program} {name}": {"file": "csv", **dialects["all"], **how}
    for program, dialects in DATA["programs"].items() if program not in MISSING
    for name, how in dialects.items() if name != "all"
}  # fmt: skip


def insert(lines, at, *new):
    return lines[:at] + list(new) + lines[at:]


def change_structure(lines, first, mark):
    """The lines of a file by trouble, from those written, the place of the first row and the delimiter."""
    middle = first + (len(lines) - first) // 2
    return {
        "short row": insert(lines, middle, "alone"),
        "long row": insert(lines, middle, mark.join(["ham"] * 9)),
        "blank lines": insert(insert(lines, middle, ""), first + 1, ""),
        "blank first": ["", *lines],
        "blank last": [*lines, "", "", ""],
        "comment first": ["# exported 2024-05-01", *lines],
        "comment last": [*lines, f"# {len(lines)} rows"],
        "title first": ["Report of May", "", *lines],
        "delimiter last": [line + mark for line in lines],
        "blank after delimiter": [line.replace(mark, mark + " ") for line in lines],
        "no last line end": lines,
    }


STRUCTURE = list(change_structure([], 0, ","))
IN_JSON_LINES = ("blank lines", "blank last", "no last line end")
TWICE = ("other names twice", "name of the text twice")
TROUBLES = list(dict.fromkeys([*CONTENT, *LABELS, *STRUCTURE, *TWICE, *DATA["rows"]]))


class CannotWrite(ValueError):
    """The program has no such table."""


@dataclass
class Table:
    """Names or None, rows of strings, numbers, truth values and None, and the columns of label and text."""

    names: list
    rows: list
    label: int
    text: int

    def columns(self):
        """Names that differ, each with the cells of its column."""
        columns = list(zip(*self.rows)) or [()] * len(self.names or "ab")
        names = self.names or [f"c{n}" for n in range(len(columns))]
        if "" in names or len({name.lower() for name in names}) < len(names):
            raise CannotWrite("names are empty or equal")
        return dict(zip(names, columns))

    def objects(self):
        """Objects of JSON, without columns that have no name."""
        if not self.names or len(set(self.names) - {""}) < len([name for name in self.names if name]):
            raise CannotWrite("names are equal")
        return [{name: cell for name, cell in zip(self.names, row) if name} for row in self.rows]

    def frame(self):
        columns = list(zip(*self.rows)) or [()] * len(self.names or "ab")
        numbers = [values and all(type(v) in (int, float) for v in values) for values in columns]
        frame = pd.DataFrame({n: pd.Series(v, dtype=None if numbers[n] else object) for n, v in enumerate(columns)})
        return frame.set_axis(self.names, axis=1) if self.names else frame


def text_of(trouble, words, rng, n):
    """A sentence, or a text with a trouble made of it. The number of the row keeps texts apart."""
    rest = [*rng.choices(DATA["words"].split(), k=rng.randint(2, 7)), f"r{n}", rng.choice(words)]
    first, rest = rng.choice(words), " ".join(rest)
    content = CONTENT.get(trouble if n == 0 or rng.random() < 0.6 else "plain", CONTENT["plain"])
    if isinstance(content, list):
        return rng.choice(content)
    once = content.format(first, rest, long="")
    return once * ({"70 kB": 70_000, "1 MB": 1_000_000}[trouble] // len(once)) if "{long}" in content else once


def fill(trouble, header, words, rng):
    """A table with this trouble."""
    names, label, text, _ = header
    names, rows = names.split(",") if names else None, []
    classes = LABELS.get(trouble, rng.choice(DATA["classes"]))
    for n in range(DATA["rows"].get(trouble, rng.choice([3, 5, 8, 12, 12, 30, 60]))):
        row = [{"id": n + 1, "score": n / 4}.get(name) for name in names or "ab"]
        row[label], row[text] = rng.choice(classes or [f"kind{n}"]), text_of(trouble, words, rng, n)
        rows.append(row)
    if trouble == "label missing":
        rows[len(rows) // 2][label] = None
    if trouble in TWICE and names:
        more = ["x", "x"] if trouble == TWICE[0] else [names[text]]
        names, rows = names + more, [row + ["other"] * len(more) for row in rows]
    return Table(names, rows, label, text)


def pandas(table, **how):
    return table.frame().to_csv(**{"index": False, "header": bool(table.names), **how})


def pandas_json(table, **how):
    table.objects()
    return table.frame()[[name for name in table.names if name]].to_json(**how)


def polars(table, **how):
    frame = pl.DataFrame([pl.Series(name, values, strict=False) for name, values in table.columns().items()])
    return frame.write_csv(include_header=bool(table.names), **how)


def duck(table, form):
    frame = table.frame().set_axis(list(table.columns()), axis=1)
    header = "" if "json" in form else f", HEADER {bool(table.names)}"
    with tempfile.NamedTemporaryFile() as file:
        duckdb.from_df(frame).query("t", f"COPY t TO '{file.name}' (FORMAT {form}{header})")
        return Path(file.name).read_bytes().decode()


def python(table, **how):
    written = io.StringIO(newline="")
    csv.writer(written, **how).writerows([table.names] * bool(table.names) + table.rows)
    return written.getvalue()


def sqlite(table, mode):
    names = [f'"{name}"' for name in table.columns()]
    if any("\0" in str(row[table.text]) for row in table.rows):
        raise CannotWrite("a text ends at NUL")
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(f"{folder}/base")
        base.execute(f"CREATE TABLE t ({', '.join(names)})")
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", table.rows)
        base.commit()
        base.close()
        header = "-header" if table.names else "-noheader"
        return subprocess.check_output(["sqlite3", header, mode, f"{folder}/base", "SELECT * FROM t"]).decode()


ESCAPES = {
    "doubled": {'"': '""'},
    "R": {'"': '\\"'},
    "backslash": {'"': '\\"', "\\": "\\\\"},
    "enclosed": {'"': '\\"', "\\": "\\\\", "\0": "\\0"},
    "codes": {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"},
}


def imitated(table, sep=",", end="\n", quoted="where needed", escape="doubled", null="", true="True", false="False",
             decimal=".", header=True, row_names=None, before="", last_end=True, empty_columns=0):  # fmt: skip
    """Cells and delimiters. Row names have a column of their own, for which the header has an empty name or no name."""
    escapes = str.maketrans(ESCAPES[escape])

    def cell(value):
        if value is None or isinstance(value, bool):
            return {None: null, True: true, False: false}[value]
        plain = str(value).replace(".", decimal) if isinstance(value, float) else str(value)
        needed = any(mark in plain for mark in (sep, '"', "\n", "\r")) or quoted == "if empty" and value == ""
        if quoted == "never" or not (needed or quoted == "all" or quoted == "strings" and isinstance(value, str)):
            return plain.translate(escapes) if escape == "codes" else plain
        return f'"{plain.translate(escapes)}"'

    names = [table.names + [""] * empty_columns] if table.names and header else []
    rows = [row + [None] * empty_columns for row in table.rows]
    if row_names:
        names = [[""] * (row_names == "named") + row for row in names]
        rows = [[str(n), *row] for n, row in enumerate(rows, 1)]
    lines = [sep.join(map(cell, row)) for row in names + rows]
    return before + end.join(lines) + (end if last_end and lines else "")


def json_lines(table, end="\n", array=False, nested=False, nulls=True, **how):
    rows = table.objects()
    if nested:  # in another order, with objects that have the same names
        meta = {"n": None, "meta": {"source": [1, {"label": "x", "text": "y"}]}}
        rows = [{**meta, **dict(reversed(row.items()))} for row in rows]
    if not nulls:
        rows = [{name: cell for name, cell in row.items() if cell is not None} for row in rows]
    return json.dumps(rows, **how) if array else "".join(json.dumps(row, **how) + end for row in rows)


def flatten(cell):
    return re.sub("\r\n|[\r\n\t]", " ", cell) if isinstance(cell, str) else cell


def change_lines(written, trouble, has_header):
    """The file with a trouble of its structure."""
    end = next((end for end in ("\r\n", "\n", "\r") if end in written), "\n")
    lines = written.removesuffix(end).split(end)
    first = has_header + written.startswith("sep=")
    if len(lines) < 3:
        raise CannotWrite("too few lines to change")
    # cells are plain, so a mark other than a blank is the delimiter
    mark = next((mark for mark in ";\t|," if mark in lines[first]), " ")
    if trouble == "blank after delimiter" and mark == " ":
        raise CannotWrite("blanks in texts would be doubled")
    lines = change_structure(lines, first, mark)[trouble]
    return end.join(lines) + ("" if trouble == "no last line end" else end)


def build(dialect, trouble, header, rng):
    """A table in a dialect as bytes, and its truth."""
    how = dict(DIALECTS[dialect])
    file, writer, encoding, flat = (how.pop(key, None) for key in ("file", "writer", "encoding", "flat"))
    may_change = file in ("csv", "tsv") or file in ("jsonl", "ndjson") and trouble in IN_JSON_LINES
    if trouble in STRUCTURE and not may_change:
        raise CannotWrite("no lines to change")
    table = fill(trouble, header, DATA["foreign"].get(encoding, DATA["words"].split()), rng)
    if flat:
        table.rows = [list(map(flatten, row)) for row in table.rows]
    written, has_header = globals()[writer](table, **how), bool(table.names and how.get("header", True))
    if trouble in STRUCTURE:
        written = change_lines(written, trouble, has_header)
    data = written.encode(encoding or "utf-8")
    if file.endswith(("gz", "zst")):
        data = gzip.compress(data, mtime=0) if file.endswith("gz") else zstandard.ZstdCompressor().compress(data)
    place = [column + bool(how.get("index") or how.get("row_names")) for column in (table.label, table.text)]
    names = [table.names[table.label], table.names[table.text]] if has_header else None
    options = {}
    if header[3] or table.names and not has_header:
        label, text = names or (str(column + 1) for column in place)
        options = {"label": label, "text": text} | ({} if names else {"no_header": True})
    return data, {
        "file": file, "dialect": dialect, "trouble": trouble, "header": header[0] or "none", "options": options,
        "names": names, "place": place, "bad": int(trouble in DATA["unreadable"]),
        "rows": [[row[table.label], row[table.text]] for row in table.rows],
    }  # fmt: skip


def write_tables(folder, n_tables, seed):
    """Writes tables and truth.jsonl. Returns how many tables there are, and how many their programs refuse to write."""
    rng = random.Random(seed)
    pairs = [(dialect, trouble) for dialect in DIALECTS for trouble in TROUBLES if trouble not in DATA["heavy"]]
    rng.shuffle(pairs)
    n_heavy = min(len(DIALECTS), max(1, n_tables // 125))
    pairs = [(dialect, trouble) for trouble in DATA["heavy"] for dialect in rng.sample(list(DIALECTS), n_heavy)] + pairs
    n_made = n_refused = 0
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "truth.jsonl", "w", encoding="utf-8") as truths:
        for dialect, trouble in pairs:
            if n_made == n_tables:
                break
            (header,) = rng.choices(DATA["headers"]["of"], DATA["headers"]["share"])
            if "json" in DIALECTS[dialect]["file"] and not header[0]:
                header = DATA["headers"]["of"][0]
            try:
                data, truth = build(dialect, trouble, header, random.Random(f"{seed} {dialect} {trouble}"))
            except (ValueError, csv.Error) as error:
                n_refused += not isinstance(error, CannotWrite)
                continue
            truth["file"] = f"{n_made:05}.{truth['file']}"
            (folder / truth["file"]).write_bytes(data)
            truths.write(json.dumps(truth) + "\n")
            n_made += 1
    return n_made, n_refused
