"""Running programs in turn, and what they took: CPU (user and system), wall time and peak memory of the process."""

import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

# GNU time, a small parent for what is measured: the kernel hands a parent's own peak down to its child.
TIME = shutil.which("time")
# What the libraries that programs are made of ask for how many threads to start.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass
class Usage:
    """Seconds and MiB."""

    cpu: float
    wall: float
    peak: float


@dataclass
class Command:
    """Arguments, the file on standard input, the exit codes that are no failure, and the threads it may use."""

    arguments: list
    stdin: str = "/dev/null"
    ok: tuple = (0,)
    threads: int = 1

    def run(self):
        arguments = [str(a) for a in self.arguments]
        files = [
            (os.POSIX_SPAWN_OPEN, 0, str(self.stdin), os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
        ]
        environment = os.environ | dict.fromkeys(THREADS, str(self.threads))
        start = time.perf_counter()
        # No fork: what the parent takes to start a child does not depend on its own size.
        child = os.posix_spawnp(arguments[0], arguments, environment, file_actions=files)
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        if code not in self.ok:
            raise SystemExit(f"expected exit code {self.ok}, got {code}: {' '.join(arguments)[:500]}")
        return Usage(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)

    def run_for_peak(self):
        """The same with a peak that can be below that of this process, for half a millisecond more."""
        if TIME is None:
            return self.run()
        with tempfile.NamedTemporaryFile("r") as peak:
            under_time = [TIME, "-f", "%M", "-o", peak.name, *self.arguments]
            usage = replace(self, arguments=under_time).run()
            return replace(usage, peak=int(peak.read().split()[-1]) / 1024)


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
        runs = [command.run_for_peak() for command in self.commands]
        total = Usage(sum(r.cpu for r in runs), sum(r.wall for r in runs), max(r.peak for r in runs))
        self.runs.append(total)

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
        with open(self.report) as report:
            self.said = json.load(report)
        for part, row in self.rows.items():
            row.runs.append(whole if part == "whole" else Usage(*self.said[part], whole.peak))


def alternate(programs, rounds):
    """Every program once, then every program again: what disturbs the machine for a while disturbs all."""
    for number in range(rounds):
        for program in programs:
            if number < program.most:
                program.run()


def table(head, rows):
    """Prints a Markdown table, numbers to the right."""
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " ---: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


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
