#!/usr/bin/env python3
"""`tamis mailbox` on a large mailbox: Dovecot on loopback, real messages, no network.

    cargo build --release --locked --bin tamis && cargo build --release --locked -p tamis-mailbox
    benches/mailbox/run.py CORPORA > RESULT.md

CORPORA has `20newsgroups-bydate` and `spamassassin` (corpora/README.md tells how to get them). Takes root, since Dovecot
switches users. All runs in a temporary folder; the server is ended by its process id. Header fields of Usenet that name the
group are taken off: Newsgroups, Xref, Path, Followup-To and the like.
"""

import argparse
import datetime
import hashlib
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("TAMIS", str(ROOT / "target/release/tamis"))
os.environ.setdefault("TAMISD", str(ROOT / "target/release/tamisd"))
os.environ["SCRATCH"] = tempfile.mkdtemp(prefix="tamis-mailbox-", dir="/tmp")
os.chmod(os.environ["SCRATCH"], 0o711)
os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, str(ROOT / "tests/system"))
sys.dont_write_bytecode = True

from agent import DAY, MAILBOX, Agent, move  # noqa: E402
from dovecot import Dovecot, bodies, ok  # noqa: E402
from support import check, end_all, equal, wait_for  # noqa: E402

# the last two are left out of the large mailbox, which has 20 folders with the inbox and the junk
GROUPS = ["alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware",
          "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey", "sci.crypt",
          "sci.electronics", "sci.med", "sci.space", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast",
          "talk.politics.misc", "talk.religion.misc"]
TELLTALE = re.compile(rb"^(Newsgroups|Xref|Path|Followup-To|Distribution|Approved|Sender|X-Newsgroups|Article-I\.D\.):.*\n([ \t].*\n)*",
                      re.I | re.M)


def group(corpora, name):
    paths = sorted(corpora.glob(f"20newsgroups-bydate/*/{name}/*"))
    for path in paths:
        head, _, body = path.read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
        yield TELLTALE.sub(b"", head + b"\n") + b"\n" + body


def spamassassin(corpora, kind):
    for path in sorted((corpora / "spamassassin" / kind).rglob("*")):
        if path.is_file():
            text = path.read_bytes()
            yield text.split(b"\n", 1)[1] if text.startswith(b"From ") else text


def folder_of(name):
    return name.replace(".", "/")


def measured(agent, *arguments):
    """Runs a command; returns seconds, peak memory in MB and what it says."""
    begun = time.monotonic()
    process = subprocess.Popen([MAILBOX, *arguments], env=agent.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    equal(status, 0, f"status of {arguments}: {said}")
    return time.monotonic() - begun, usage.ru_maxrss / 1024, said


def large(corpora):
    server = Dovecot()
    chance, now = random.Random(1), int(time.time())
    mails = {"INBOX": list(spamassassin(corpora, "ham")), "Junk": list(spamassassin(corpora, "spam"))}
    mails = {name: chance.sample(those, 1_500) for name, those in mails.items()}
    mails |= {folder_of(name): list(group(corpora, name)) for name in GROUPS[:18]}
    total = sum(map(len, mails.values()))
    for name, those in mails.items():
        dates = sorted(chance.randrange(now - 90 * DAY, now) for _ in those)
        chance.shuffle(those)
        server.fill("anna", name, zip(dates, those))
    agent = Agent()
    took, memory, said = measured(agent, "setup", "anna", "--host", "127.0.0.1", "--tls", "none", "--port", str(server.port),
                                  "--password", "echo secret")
    check(f"{total:,}" in said, said)
    print(f"## a. {len(mails)} folders, {total:,} messages\n")
    print("|  | seconds | peak memory, MB |\n| --- | --- | --- |")
    print(f"| setup | {took:.1f} | {memory:.0f} |")
    took, memory, said = measured(agent, "train", "--html", str(agent.home / "report.html"))
    print(f"| train and replay | {took:.1f} | {memory:.0f} |\n")
    print("```text\n" + "\n".join(line for line in said.splitlines() if line.startswith(("Of the", "expected", "learned"))) + "\n```\n")
    whole = hashlib.sha256(agent.model("anna").read_bytes()).hexdigest()

    kills = 0
    for n in range(10):
        shutil.rmtree(agent.state("anna"))
        agent.model("anna").unlink()
        process = subprocess.Popen([MAILBOX, "train", "-q"], env=agent.environment, stdin=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.02, 0.95) * took)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        measured(agent, "train", "-q")
        equal(hashlib.sha256(agent.model("anna").read_bytes()).hexdigest(), whole, f"model after kill {n}")
    print(f"Killed {kills} times at random moments and started again: the same model each time, byte for byte.\n")

    print("## b. From its arrival to its place\n")
    agent.start("-q")
    client = server.client("anna")
    wait_for(lambda: "inbox_read_at" in (agent.state("anna") / "positions.json").read_text(), "the first look")
    times, stayed = [], 0
    for message in chance.sample(mails["Junk"], 60):
        message = b"X-Delivery: %d\r\n" % chance.randrange(10**9) + message
        ok(client.select("Junk", readonly=True))
        before = len(ok(client.uid("SEARCH", "ALL"))[0].split())
        begun = time.monotonic()
        ok(client.append("INBOX", None, None, message))
        while time.monotonic() - begun < 3:
            ok(client.noop())
            if len(ok(client.uid("SEARCH", "ALL"))[0].split()) > before:
                times.append(time.monotonic() - begun)
                break
            time.sleep(0.005)
        else:
            stayed += 1
    agent.kill()
    times.sort()
    print(f"{len(times)} messages: half within {statistics.median(times):.3f} s, the slowest {times[-1]:.3f} s; {stayed} stayed in the inbox.\n")
    end_all()


def one_by_one(corpora, threshold, confirms):
    """Messages arrive in tens; after each ten the user puts where it belongs what is not there, and reads everything."""
    server = Dovecot()
    chance = random.Random(2)
    stream = [(folder_of(name), message) for name in GROUPS for message in group(corpora, name)]
    chance.shuffle(stream)
    stream = stream[:5_000]
    known, rest = stream[:200], stream[200:]
    now = int(time.time())
    folders = sorted({name for name, _ in stream})
    for name in folders:
        those = [message for at, message in known if at == name]
        server.fill("anna", name, [(now - DAY + n, message) for n, message in enumerate(those)])
    server.fill("anna", "INBOX", [])
    agent = Agent()
    measured(agent, "setup", "anna", "--host", "127.0.0.1", "--tls", "none", "--port", str(server.port), "--password", "echo secret")
    agent.change(("threshold = 0.95", f"threshold = {threshold}" + ("\nconfirm_days = 0" if confirms else "")))
    text = agent.settings.read_text()
    # the inbox is for what is unsure, and nothing is meant to stay there
    agent.settings.write_text(text.replace('name = "INBOX"\nlabel = "inbox"\n', 'name = "INBOX"\n'))
    measured(agent, "train", "-q")
    measured(agent, "run", "--once", "-q")
    client = server.client("anna")
    counts, words, rows, recent = {}, WordCount(), {}, []
    for name, message in known:
        counts[name] = counts.get(name, 0) + 1
        words.learn(name, message)
    right = wrong = majority = counted = n_events = 0
    for begin in range(0, len(rest), 10):
        batch, uids = rest[begin:begin + 10], []
        for n, (_, message) in enumerate(batch, begin):
            message = (b"X-Delivery: %d\n" % n + message).replace(b"\n", b"\r\n")
            said = ok(client.append("INBOX", None, None, message))
            uids.append(int(re.search(rb"APPENDUID \d+ (\d+)", said[0])[1]))
        measured(agent, "run", "--once", "-q")
        events = agent.events("anna")
        sorted_from = {e["id"]: e["from"]["uid"] for e in events[n_events:] if e["event"] == "sorting"}
        places = {sorted_from[e["id"]]: e["place"] for e in events[n_events:] if e["event"] == "sorted" and e["id"] in sorted_from}
        n_events = len(events)
        for uid, (name, message) in zip(uids, batch):
            place = places.get(uid, {"folder": "INBOX", "uid": uid})
            is_right, is_filed = place["folder"] == name, uid in places
            right += is_right
            wrong += is_filed and not is_right
            recent.append((is_right, is_filed))
            majority += name == max(counts, key=counts.get)
            counted += words.best(message) == name
            counts[name] = counts.get(name, 0) + 1
            words.learn(name, message)
            if is_right and confirms:
                ok(client.select(f'"{name}"'))
                ok(client.uid("STORE", str(place["uid"]), "+FLAGS.SILENT", "(\\Seen)"))
            if not is_right:
                ok(client.select(f'"{place["folder"]}"'))
                move(client, place["uid"], name)
        after = begin + len(batch) + len(known)
        if after in (500, 2_000, 5_000):
            n, last = after - len(known), recent[-500:]
            rows[after] = (right / n, wrong / n, sum(r for r, _ in last) / len(last), sum(f and not r for r, f in last) / len(last),
                           majority / n, counted / n)
    measured(agent, "run", "--once", "-q")
    end_all()
    return rows


class WordCount:
    """What POPFile does: multinomial naive Bayes of words, every message learned."""

    def __init__(self):
        self.words, self.totals, self.documents, self.vocabulary = {}, {}, {}, set()

    @staticmethod
    def split(message):
        return re.findall(rb"[a-z][a-z']{2,40}", message.lower())

    def learn(self, label, message):
        counts = self.words.setdefault(label, {})
        for word in self.split(message):
            counts[word] = counts.get(word, 0) + 1
            self.vocabulary.add(word)
        self.totals[label] = self.totals.get(label, 0) + len(self.split(message))
        self.documents[label] = self.documents.get(label, 0) + 1

    def best(self, message):
        from math import log
        words, size = self.split(message), len(self.vocabulary)
        def score(label):
            counts, total = self.words[label], self.totals[label] + size
            return log(self.documents[label]) + sum(log((counts.get(word, 0) + 1) / total) for word in words)
        return max(self.documents, key=score)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--only", choices=["large", "stream"])
    args = parser.parse_args()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"# A mailbox\n\n{datetime.date.today()}, {commit}, {os.cpu_count()} processors, {platform.machine()}; Dovecot on loopback.\n")
    try:
        if args.only != "stream":
            large(args.corpora)
        if args.only != "large":
            print("## c. One by one\n")
            print("The messages of 20 Newsgroups in random order; 200 are filed when training, the others arrive in tens, and after each ten "
                  "the user files what was not filed right. Shares of all messages so far, and of the last 500.\n")
            print("| threshold | learned | after | filed right | filed wrong | the last 500: right | wrong | majority folder | word count (POPFile) |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
            for threshold, confirms in ((0.95, False), (0.5, False), (0.5, True)):
                learned = "moved or confirmed" if confirms else "moved"
                for after, row in one_by_one(args.corpora, threshold, confirms).items():
                    print(f"| {threshold} | {learned} | {after:,} | " + " | ".join(f"{share:.3f}" for share in row) + " |", flush=True)
    finally:
        end_all()
        shutil.rmtree(os.environ["SCRATCH"], ignore_errors=True)


main()
