#!/usr/bin/env python3
"""`tamis mailbox` on a large mailbox: Dovecot on loopback, real messages, no network.

    cargo build --release --locked --bin tamis && cargo build --release --locked -p tamis-mailbox
    benches/mailbox/run.py CORPORA > RESULT.md

CORPORA has `20newsgroups-bydate` and `spamassassin` (corpora/README.md tells how to get them). Takes root, since Dovecot
switches users. All runs in a temporary folder; the server is ended by its process id. Header fields of Usenet that name the
group are taken off: Newsgroups, Xref, Path, Followup-To and the like.
"""

import hashlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from math import log
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import BUILT, ROOT, Command, commit_and_machine, parser, plain_table

os.environ.setdefault("TAMIS", str(BUILT / "tamis"))
os.environ.setdefault("TAMISD", str(BUILT / "tamisd"))
os.environ["SCRATCH"] = tempfile.mkdtemp(prefix="tamis-mailbox-", dir="/tmp")
os.chmod(os.environ["SCRATCH"], 0o711)
os.environ["PATH"] += ":/usr/sbin:/sbin"
sys.path.insert(0, str(ROOT / "tests/system"))

from agent import DAY, MAILBOX, Agent, move  # noqa: E402
from dovecot import Dovecot, ok  # noqa: E402
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
    return Command([MAILBOX, *arguments], environment=agent.environment).said()


def set_up(agent, server):
    where = "--host", "127.0.0.1", "--tls", "none", "--port", server.port
    return measured(agent, "setup", "anna", *where, "--password", "echo secret")


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
    setup = set_up(agent, server)
    check(f"{total:,}" in setup.said, setup.said)
    train = measured(agent, "train", "--html", agent.home / "report.html")
    print(f"## a. {len(mails)} folders, {total:,} messages\n")
    rows = ("setup", setup), ("train and replay", train)
    plain_table(["", "seconds", "peak memory, MB"], [(name, f"{usage.wall:.1f}", f"{usage.peak:.0f}") for name, usage in rows])
    print("```text\n" + "\n".join(line for line in train.said.splitlines() if line.startswith(("Of the", "expected", "learned"))) + "\n```\n")
    whole = hashlib.sha256(agent.model("anna").read_bytes()).hexdigest()

    kills = 0
    for n in range(10):
        shutil.rmtree(agent.state("anna"))
        agent.model("anna").unlink()
        process = subprocess.Popen([MAILBOX, "train", "-q"], env=agent.environment, stdin=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.02, 0.95) * train.wall)
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
    set_up(agent, server)
    agent.change(("threshold = 0.95", f"threshold = {threshold}" + ("\nconfirm_days = 0" if confirms else "")))
    text = agent.settings.read_text()
    # the inbox is for what is unsure, and nothing is meant to stay there
    agent.settings.write_text(text.replace('name = "INBOX"\nlabel = "inbox"\n', 'name = "INBOX"\n'))
    measured(agent, "train", "-q")
    measured(agent, "run", "--once", "-q")
    client = server.client("anna")
    words, rows, recent = WordCount(), {}, []
    for name, message in known:
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
            majority += name == max(words.documents, key=words.documents.get)
            counted += words.best(message) == name
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
        self.words, self.totals, self.documents, self.vocabulary = defaultdict(Counter), Counter(), Counter(), set()

    @staticmethod
    def split(message):
        return re.findall(rb"[a-z][a-z']{2,40}", message.lower())

    def learn(self, label, message):
        words = self.split(message)
        self.words[label].update(words)
        self.vocabulary.update(words)
        self.totals[label] += len(words)
        self.documents[label] += 1

    def best(self, message):
        words, size = self.split(message), len(self.vocabulary)

        def score(label):
            counts, total = self.words[label], self.totals[label] + size
            return log(self.documents[label]) + sum(log((counts.get(word, 0) + 1) / total) for word in words)

        return max(self.documents, key=score)


def main():
    arguments = parser(__doc__, "corpora")
    arguments.add_argument("--only", choices=["large", "stream"])
    args = arguments.parse_args()
    print(f"# A mailbox\n\n{commit_and_machine()}; Dovecot on loopback.\n")
    try:
        if args.only != "stream":
            large(args.corpora)
        if args.only != "large":
            print("## c. One by one\n")
            print("The messages of 20 Newsgroups in random order; 200 are filed when training, the others arrive in tens, and after each ten "
                  "the user files what was not filed right. Shares of all messages so far, and of the last 500.\n")
            head = ["threshold", "learned", "after", "filed right", "filed wrong", "the last 500: right", "wrong", "majority folder"]
            plain_table([*head, "word count (POPFile)"], (
                (threshold, "moved or confirmed" if confirms else "moved", f"{after:,}", *(f"{share:.3f}" for share in shares))
                for threshold, confirms in ((0.95, False), (0.5, False), (0.5, True))
                for after, shares in one_by_one(args.corpora, threshold, confirms).items()
            ))
    finally:
        end_all()
        shutil.rmtree(os.environ["SCRATCH"], ignore_errors=True)


main()
