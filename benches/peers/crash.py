#!/usr/bin/env python3
"""Learning one message a process, and killing the process: what of the messages that were acknowledged is lost?

    benches/peers/crash.py [--kills 200] [--tamis target/release/tamis] > RESULT.md

Every program first learns 200 generated messages. Of those that follow every other one is killed (SIGKILL), by turns at any
time and, with strace, on entering one of the calls by which it changes files, as a run that was not killed made them. What a
writer of tamis was at then is counted by phase, and none may be missed. A message is acknowledged if its process ended with 0.
Words that no other message has tell what is there afterwards. A program that fails without being killed, or takes more than ten
seconds (some never end), is not asked further. Killed are processes, not the machine: what was written but not synced is not
lost here.
"""

import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import BUILT, Command, machine, parser, table

# Within strace, or it is not the program that is stopped.
PATIENT = ["timeout", "-s", "KILL", "10"]
CALLS = "write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,/^rename,/^unlink"
OWN_WORDS = 30
PHASES = ("record", "segment", "merge", "slot", "file anew")


def words(number):
    """The words that only this message has: 4 to 8 letters each."""
    digits = (f"{number:04}{i:02}" for i in range(OWN_WORDS))
    return ["".join("bcdfghjklm"[int(d)] for d in word) for word in digits]


def message(number):
    shared = random.Random(number).choices([f"{a}or{b}ed" for a in "bcdfghjklmnprst" for b in "bcdfghjklmnprst"], k=100)
    return f"From: a@example.org\nSubject: number\n\n{' '.join(shared + words(number))}\n".encode()


class Tamis:
    def __init__(self, program, folder):
        self.name, self.model = "tamis", folder / "model.tamis"
        self.program, self.learn = program, [program, "learn", "spam", "-m", str(self.model), "--log-limit", "4000"]

    def segments(self):
        """How many there are, and what file they are in."""
        told = Command([self.program, "inspect", "--json", "--terms", "0", "-m", self.model]).json()
        return told["segments"], self.model.stat().st_ino

    def phase(self, path, syncs, merges):
        """What a call on a file is part of, after so many syncs of the model."""
        if path.endswith(".tmp"):
            return "file anew"
        if Path(path).name != self.model.name:
            return None
        return ("record", "merge" if merges else "segment", "slot")[min(syncs, 2)]

    def is_readable(self):
        return subprocess.run([self.program, "verify", "-m", self.model], capture_output=True).returncode == 0

    def there(self, numbers):
        """The share of each message that is there."""
        shares = []
        for number in numbers:
            again = subprocess.run(self.learn, input=message(number), capture_output=True).stdout
            shares.append(float(b"1 already known" in again))
        return shares


class Bogofilter:
    def __init__(self, store, folder):
        self.name, self.folder = f"bogofilter-{store}", folder
        self.util, self.learn = f"bogoutil-{store}", [f"bogofilter-{store}", "-d", str(folder), "-s"]

    def dump(self):
        """What it still says, and whether that is all."""
        command = [*PATIENT, self.util, "-d", self.folder / "wordlist.db"]
        return subprocess.run(command, capture_output=True)

    def is_readable(self):
        return self.dump().returncode == 0

    def there(self, numbers):
        lines = self.dump().stdout.decode("utf-8", "replace").splitlines()
        known = {fields[0] for fields in map(str.split, lines) if len(fields) == 4 and fields[1] != "0"}
        return [sum(word in known for word in words(number)) / OWN_WORDS for number in numbers]


def run(command, number, kill_after=None):
    """Whether it ended with 0, and how long it took."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if kill_after is not None:
        child.stdin.write(message(number))
        child.stdin.close()
        time.sleep(kill_after)
        child.kill()
        child.wait()
    else:
        child.communicate(message(number))
    return child.returncode == 0, time.perf_counter() - start


def calls_of(program, folder, number):
    """The calls by which learning a message changes files, each with its number among those of its name, and its phase."""
    # the run must not change what the next one finds
    before = folder.with_name("before")
    shutil.copytree(folder, before)
    is_tamis = isinstance(program, Tamis)
    segments, file = program.segments() if is_tamis else (0, 0)
    trace, seen, calls, syncs = folder.with_name("trace"), {}, [], 0
    run(["strace", "-f", "-y", "-qq", "-o", str(trace), "-e", f"trace={CALLS}", *PATIENT, *program.learn], number)
    after, same = program.segments() if is_tamis else (0, 0)
    merges = file == same and 0 < after <= segments
    for name, path in re.findall(r'^\d+ +(\w+)\((?:\d+<|[^"\n]*")?([^>"\n]*)', trace.read_text(), re.M):
        seen[name] = seen.get(name, 0) + 1
        phase = program.phase(path, syncs, merges) if is_tamis else None
        calls.append((name, seen[name], phase))
        syncs += phase not in (None, "file anew") and "sync" in name
    shutil.rmtree(folder)
    before.rename(folder)
    return calls


def rarest(dice, calls, hits):
    """One of the calls of the phase that was hit least, or any."""
    least = min((hits[phase] for *_, phase in calls if phase), default=0)
    return dice.choice([call for call in calls if call[2] is None or hits[call[2]] == least])


def measure(program, folder, kills):
    dice, acknowledged, killed, unreadable, failed = random.Random(1), [], [], 0, 0
    hits = dict.fromkeys(PHASES, 0)
    learn = [*PATIENT, *program.learn]
    for number in range(200):
        if run(learn, number)[0]:
            acknowledged.append(number)
    typical = sorted(run(program.learn, number)[1] for number in range(200, 211))[5]
    acknowledged += range(200, 211)
    for number in range(211, 211 + 2 * kills):
        if number % 2:
            ok, _ = run(learn, number)
            if not ok:
                failed = 1
                break
        elif number % 4 or not shutil.which("strace"):
            ok, _ = run(program.learn, number, dice.uniform(0, 1.2 * typical))
        else:
            call, nth, phase = rarest(dice, calls_of(program, folder, number), hits)
            stop = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
            ok, _ = run([*stop, "-e", f"inject={call}:signal=KILL:when={nth}", *learn], number)
            if phase and not ok:
                hits[phase] += 1
        (acknowledged if ok else killed).append(number)
        unreadable += not program.is_readable()
    there = program.there(acknowledged)
    half = sum(0 < share < 1 for share in program.there(killed))
    lost = sum(share < 1 for share in there)
    ended = "yes" if failed else "no"
    if isinstance(program, Tamis) and shutil.which("strace"):
        print("killed amid: " + ", ".join(f"{phase} {n}" for phase, n in hits.items()) + "\n", flush=True)
        assert all(hits.values()), f"expected each phase to be hit, got {hits}"
    return program.name, len(killed), len(acknowledged), lost, half, unreadable, ended


def main():
    arguments = parser(__doc__.splitlines()[0])
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--tamis", default=BUILT / "tamis", type=Path)
    options = arguments.parse_args()
    print(f"# Writers that are killed\n\n{machine()}\n", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for name in ("tamis", "bdb", "sqlite"):
            folder = Path(work) / name
            folder.mkdir()
            is_tamis = name == "tamis"
            program = Tamis(str(options.tamis.resolve()), folder) if is_tamis else Bogofilter(name, folder)
            if shutil.which(program.learn[0]):
                rows.append(measure(program, folder, options.kills))
    head = ["", "killed", "acknowledged", "of these not whole", "killed ones half there", "times unreadable"]
    table([*head, "failed in the end"], rows)


if __name__ == "__main__":
    main()
