"""What the benches share: programs run in turn and what they took, the machine in words, tables in Markdown, corpora.

The scripts put this folder on their path themselves, since each is started directly.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "target/release"
# GNU time, a small parent for what is measured: the kernel hands a parent's own peak down to its child.
TIME = shutil.which("time")
# What the libraries that programs are made of ask for how many threads to start.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
ANY_CODE = range(256)
LABELS = ("ham", "spam")
ONE = ["--threads", "1"]
# Counts alone, as the textbook's naive Bayes has them.
COUNTS = ["--likelihood", "multinomial", "--no-documents"]


@dataclass
class Usage:
    """Seconds and MiB; of a single command also its exit code and, if asked for, what it printed."""

    cpu: float
    wall: float
    peak: float = 0
    code: int = 0
    output: str = ""
    errors: str = ""

    @property
    def said(self):
        return self.output + self.errors


def in_sequence(usages):
    """What programs took that ran one after the other."""
    return Usage(sum(u.cpu for u in usages), sum(u.wall for u in usages), max(u.peak for u in usages))


@dataclass
class Command:
    """Arguments, the file on standard input, the exit codes that are no failure, and the threads it may use (not told to a
    command with an environment of its own)."""

    arguments: list
    stdin: str = os.devnull
    ok: tuple = (0,)
    threads: int = 1
    environment: dict = None

    def run(self, output=os.devnull, errors=os.devnull):
        """What it took; what it prints goes to two files."""
        arguments = [str(a) for a in self.arguments]
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        files = [
            (os.POSIX_SPAWN_OPEN, 0, str(self.stdin), os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), write, 0o644),
            (os.POSIX_SPAWN_OPEN, 2, str(errors), write, 0o644),
        ]
        environment = self.environment or os.environ | dict.fromkeys(THREADS, str(self.threads))
        start = time.perf_counter()
        # No fork: what the parent takes to start a child does not depend on its own size.
        child = os.posix_spawnp(arguments[0], arguments, environment, file_actions=files)
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        if code not in self.ok:
            said = Path(errors).read_text(errors="replace")[-500:]
            raise SystemExit(f"expected exit code {self.ok}, got {code}: {' '.join(arguments)[:500]}\n{said}".strip())
        return Usage(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, code)

    def run_for_peak(self, *files):
        """The same with a peak that can be below that of this process, for half a millisecond more."""
        if TIME is None:
            return self.run(*files)
        with tempfile.NamedTemporaryFile("r") as peak:
            under_time = [TIME, "-f", "%M", "-o", peak.name, *self.arguments]
            usage = replace(self, arguments=under_time).run(*files)
            return replace(usage, peak=int(peak.read().split()[-1]) / 1024)

    def said(self):
        """The same with what it prints."""
        with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
            usage = self.run_for_peak(output.name, errors.name)
            return replace(usage, output=output.read(), errors=errors.read())

    def json(self):
        return json.loads(self.said().output)


@dataclass
class Together:
    """Commands started at once: CPU and memory of all, until the last has ended."""

    commands: list

    def run_for_peak(self):
        start = time.perf_counter()
        with ThreadPoolExecutor(len(self.commands)) as pool:
            runs = list(pool.map(Command.run, self.commands))
        wall = time.perf_counter() - start
        return Usage(sum(run.cpu for run in runs), wall, sum(run.peak for run in runs))


@dataclass
class Program:
    """A row: commands that do the job one after the other, and what has to be done before, unmeasured."""

    name: str
    commands: list
    before: object = None
    most: int = 1000  # rounds, for what is slow
    runs: list = field(default_factory=list)

    def run(self):
        if self.before:
            self.before()
        self.runs.append(in_sequence([command.run_for_peak() for command in self.commands]))

    def median(self):
        return Usage(*(statistics.median(getattr(r, of) for r in self.runs) for of in ("cpu", "wall", "peak")))


@dataclass
class Parts:
    """A process that says itself what its parts took, as a file of JSON: each part that has a row goes there, the process
    to the row `whole`."""

    command: Command
    report: object
    rows: dict
    most: int = 1000
    said: dict = None

    def run(self):
        whole = self.command.run_for_peak()
        self.said = json.loads(Path(self.report).read_text())
        for part, row in self.rows.items():
            row.runs.append(whole if part == "whole" else Usage(*self.said[part], whole.peak))


def alternate(programs, rounds):
    """Every program once, then every program again: what disturbs the machine for a while disturbs all."""
    for number in range(rounds):
        for program in programs:
            if number < program.most:
                program.run()


def in_turn(tasks, rounds):
    """The same with functions: for each what it gave, round by round."""
    return list(zip(*([task() for task in tasks] for _ in range(rounds))))


def timed(task):
    """What a function gives, and what it took in this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    given = task()
    wall = time.perf_counter() - wall
    return given, Usage(time.process_time() - cpu, wall)


def table(head, rows, others="---:"):
    """Prints a Markdown table, each row as soon as it is there, and returns all; the other columns than the first are numbers."""
    print("| " + " | ".join(head) + " |")
    print("| --- |" + f" {others} |" * (len(head) - 1), flush=True)
    printed = []
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
        printed.append(row)
    print(flush=True)
    return printed


def plain_table(head, rows):
    """The same with all columns to the left."""
    return table(head, rows, "---")


def usage_table(programs):
    """Medians of programs, and their CPU and wall time by that of the first."""
    programs = [program for program in programs if program.runs]
    base = programs[0].median()
    rows = []
    for program in programs:
        u = program.median()
        ratios = f"{u.cpu / base.cpu:.2f}", f"{u.wall / base.wall:.2f}"
        rows.append((program.name, f"{u.cpu:.3f}", f"{u.wall:.3f}", f"{u.peak:.0f}", *ratios, len(program.runs)))
    table(["", "CPU s", "wall s", "peak MiB", "CPU ratio", "wall ratio", "runs"], rows)


def machine():
    """The machine in words."""
    with open("/proc/cpuinfo") as cpuinfo, open("/proc/meminfo") as meminfo:
        models = [line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")]
        gib = int(meminfo.readline().split()[1]) / 2**20
    load = os.getloadavg()[0]
    processor = models[0] if models else platform.machine()
    return f"{os.cpu_count()} x {processor}, {gib:.0f} GiB, Linux {platform.release()}, load {load:.1f} at the start"


def commit_and_machine():
    """The date, the commit and the machine in a few words."""
    commit = Command(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], ok=ANY_CODE).said().output.strip()
    return f"{datetime.date.today()}, {commit or 'no commit'}, {os.cpu_count()} processors, {platform.machine()}"


def parser(description, *paths):
    """A parser of the command line, first of paths that must be given."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in paths:
        made.add_argument(name, type=Path)
    return made


def rows_generator(program, rows, seed, **shape):
    """A command that prints generated rows (`cargo build --release --example generate_rows`)."""
    options = [part for name, value in shape.items() for part in (f"--{name}", value)]
    return Command([program, rows, "--seed", seed, *options])


def newsgroups(folder):
    """Texts and labels of the training or the test part of 20 Newsgroups."""
    paths = sorted(path for path in folder.glob("*/*") if path.is_file())
    return [path.read_bytes().decode("latin-1") for path in paths], [path.parent.name for path in paths]


def labelled_lines(path):
    """Texts and labels of lines LABEL TAB TEXT."""
    with open(path, encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [text for _, text in pairs], [label for label, _ in pairs]


def half_of_mail(folder, train):
    """The messages of a folder in one half, by the MD5 digest of the name: first digit 0 to 7 to train on."""
    return [path for path in sorted(folder.iterdir()) if (hashlib.md5(path.name.encode()).digest()[0] < 0x80) == train]


def labelled(folder):
    """The folders of mail as `tamis train` takes them."""
    return [f"{label}={folder / label}" for label in LABELS]
