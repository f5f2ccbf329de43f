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
from dovecot import NOBODY, Dovecot, ok  # noqa: E402
from owners import SHARED  # noqa: E402
from support import check, end_all, equal  # noqa: E402

# the last two are left out of the large mailbox, which has 20 folders with the inbox and the junk
GROUPS = ["alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware",
          "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey", "sci.crypt",
          "sci.electronics", "sci.med", "sci.space", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast",
          "talk.politics.misc", "talk.religion.misc"]
LIVES = "groups", "lists"
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


def set_up(agent, server, user="anna"):
    where = "--host", "127.0.0.1", "--tls", "none", "--port", server.port
    return measured(agent, "setup", user, *where, "--password", "echo secret")


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
    agent.wait_for_look("anna")
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


def deliver(agent, client, batch, first):
    """Delivers messages, numbered from `first`, and lets the agent sort them. Returns their UIDs in the inbox, and by UID where
    the sorted ones are."""
    before, uids = len(agent.events("anna")), []
    for n, (_, message) in enumerate(batch, first):
        message = (b"X-Delivery: %d\n" % n + message).replace(b"\n", b"\r\n")
        said = ok(client.append("INBOX", None, None, message))
        uids.append(int(re.search(rb"APPENDUID \d+ (\d+)", said[0])[1]))
    measured(agent, "run", "--once", "-q")
    events = agent.events("anna")[before:]
    sorted_from = {e["id"]: e["from"]["uid"] for e in events if e["event"] == "sorting"}
    return uids, {sorted_from[e["id"]]: e["place"] for e in events if e["event"] == "sorted" and e["id"] in sorted_from}


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
    agent.change(("threshold = 0.8", f"threshold = {threshold}"), ("confirm_days = 1", f"confirm_days = {0 if confirms else 9_999}"))
    text = agent.settings.read_text()
    # the inbox is for what is unsure, and nothing is meant to stay there
    agent.settings.write_text(text.replace('name = "INBOX"\nlabel = "inbox"\n', 'name = "INBOX"\n'))
    measured(agent, "train", "-q")
    measured(agent, "run", "--once", "-q")
    client = server.client("anna")
    words, rows, recent = WordCount(), {}, []
    for name, message in known:
        words.learn(name, message)
    right = wrong = majority = counted = 0
    for begin in range(0, len(rest), 10):
        batch = rest[begin:begin + 10]
        uids, places = deliver(agent, client, batch, begin)
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


def mailing_lists(corpora):
    """The eight largest mailing lists of the ham, each as a folder; the rest stays in the inbox."""
    of_list = defaultdict(list)
    for message in spamassassin(corpora, "ham"):
        found = re.search(rb"^List-Id:[^\n]*?([\w.-]+)>? *$", message.partition(b"\n\n")[0], re.I | re.M)
        of_list[found[1].decode() if found else ""].append(message)
    largest = sorted((name for name in of_list if name), key=lambda name: -len(of_list[name]))[:8]
    for name, those in of_list.items():
        for message in those:
            yield ("Lists/" + name.replace(".", "-") if name in largest else "INBOX"), message


def life(corpora, kind, until, seed):
    """Ordinary life: what arrives is sorted in tens; then the owner reads everything, and moves what is in the wrong place."""
    server = Dovecot()
    chance, now = random.Random(seed - 1), int(time.time())
    if kind == "groups":
        # a third of what arrives
        stream = chance.sample([(folder_of(name), message) for name in GROUPS for message in group(corpora, name)], 3_000)
        stream += [("INBOX", message) for message in spamassassin(corpora, "ham")]
    else:
        stream = list(mailing_lists(corpora))
    stream += [("Junk", message) for message in spamassassin(corpora, "spam")]
    chance.shuffle(stream)
    known, rest = stream[:200], stream[200:until + 300]
    for name in {name for name, _ in stream}:
        those = [message for at, message in known if at == name]
        server.fill("anna", name, [(now - DAY + n, message) for n, message in enumerate(those)])
    agent = Agent()
    set_up(agent, server)
    if "confirm_days" in agent.settings.read_text():
        # a day has ten messages
        agent.change(("confirm_days = 1", "confirm_days = 0"))
    measured(agent, "train", "-q")
    measured(agent, "run", "--once", "-q")
    client, outcomes, rows = server.client("anna"), [], []
    for begin in range(0, len(rest), 10):
        batch = rest[begin:begin + 10]
        uids, places = deliver(agent, client, batch, begin)
        for uid, (name, _) in zip(uids, batch):
            place = places.get(uid, {"folder": "INBOX", "uid": uid})
            is_left = place["folder"] == "INBOX" != name
            outcomes.append("right" if place["folder"] == name else "left" if is_left else "wrong")
            ok(client.select(f'"{place["folder"]}"'))
            ok(client.uid("STORE", str(place["uid"]), "+FLAGS.SILENT", "(\\Seen)"))
            if place["folder"] != name:
                move(client, place["uid"], name)
        for after in (200, 1_000, 5_000):
            if len(outcomes) == after + 100:
                counts = Counter(outcomes[-300:])
                rows.append((after, *(f"{counts[what] / 3:.1f}" for what in ("right", "left", "wrong"))))
                print(kind, rows[-1], file=sys.stderr, flush=True)
    end_all()
    return rows


GMAIL = """
namespace inbox {
  mailbox "[Gmail]/All Mail" {
    special_use = \\All
  }
  mailbox "[Gmail]/Sent Mail" {
    special_use = \\Sent
  }
}
"""


def mailboxes(corpora, seed, wanted):
    """Mailboxes as people keep them, and where the next 500 good messages go."""
    chance, now = random.Random(seed), int(time.time())
    ham, spam = (chance.sample(list(spamassassin(corpora, kind)), n) for kind, n in (("ham", 2_000), ("spam", 600)))
    learned = set(spam)
    unseen = [message for message in spamassassin(corpora, "spam") if message not in learned]
    unseen = random.Random(seed).sample(unseen, 100)
    topics = {name: list(group(corpora, name))[:100] for name in ("rec.autos", "sci.med")}
    read, new = ham[:1_000], ham[1_000:1_500]
    kinds = {
        "inbox empty, all in Archive": {"INBOX": [], "Archive": read},
        "yearly archives": {"INBOX": read[:40], "Archive/2023": read[40:400], "Archive/2024": read[400:], "Sent/2024": read[:50]},
        "shared folders": {"INBOX": read, "Public/team": ham[1_500:], "Public/junk": spam[:100]},
        "Junk full of the provider's, 5 % of it good": {"INBOX": read, "Junk": spam + ham[1_500:1_530]},
        "two accounts": {"INBOX": read},
        "50,000 in the inbox": {"INBOX": [b"X-Delivery: %d\n" % n + read[n % 1_000] for n in range(50_000)]},
        "Gmail's labels": {"INBOX": read[:300], "[Gmail]/All Mail": read + topics["rec.autos"], "[Gmail]/Sent Mail": read[:20]},
    }
    for kind, folders in kinds.items():
        if wanted not in kind:
            continue
        server = Dovecot(more=GMAIL if "Gmail" in kind else SHARED if "shared" in kind else "")
        if "shared" in kind:
            for path in (server.folder / "public", server.folder / "public/.team", server.folder / "public/.junk"):
                (path / "cur").mkdir(parents=True)
        for name, those in ({"Junk": spam} | {folder_of(name): those for name, those in topics.items()} | folders).items():
            server.fill("anna", name, [(now - 90 * DAY + n * 120, message) for n, message in enumerate(those)])
        if "shared" in kind:
            for path in (server.folder / "mail/anna/Maildir").glob(".Public.*"):
                shutil.copytree(path, server.folder / "public" / path.name.removeprefix(".Public"), dirs_exist_ok=True)
                shutil.rmtree(path)
            for path in [server.folder / "public", *(server.folder / "public").rglob("*")]:
                os.chown(path, NOBODY, NOBODY)
        agent = Agent()
        set_up(agent, server)
        if kind == "two accounts":
            shutil.copytree(server.folder / "mail/anna", server.folder / "mail/bert", copy_function=shutil.copy2)
            server.fill("bert", "INBOX", [])
            set_up(agent, server, "bert")
        trained = Command([MAILBOX, "train", "-q"], environment=agent.environment, ok=range(256)).said()
        if not agent.model("anna").exists():
            yield kind, "-", "-", "-", trained.said.strip()[-90:]
            end_all()
            continue
        measured(agent, "run", "--once", "-q")
        client = server.client("anna")

        def gone(messages):
            before = len(agent.events("anna"))
            for message in messages:
                ok(client.append("INBOX", None, None, message.replace(b"\n", b"\r\n")))
            measured(agent, "run", "--once", "-q")
            return Counter(event["to"] for event in agent.events("anna")[before:] if event["event"] == "sorting")

        good, bad = gone(new), gone(unseen)
        yield kind, good.pop("Junk", 0), sum(good.values()), bad["Junk"], ""
        end_all()


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
    arguments.add_argument("--only", choices=["large", "stream", *LIVES, "mailboxes"])
    arguments.add_argument("--seed", type=int, default=4, help="which messages the mailboxes have, and the order of those of ordinary life")
    arguments.add_argument("--mailbox", default="", help="only mailboxes with this in their names")
    arguments.add_argument("--until", type=int, default=5_000, help="messages of ordinary life")
    args = arguments.parse_args()
    print(f"# A mailbox\n\n{commit_and_machine()}; Dovecot on loopback.\n")
    try:
        if args.only in (None, "large"):
            large(args.corpora)
        if args.only in (None, "stream"):
            print("## c. One by one\n")
            print("The messages of 20 Newsgroups in random order; 200 are filed when training, the others arrive in tens, and after each ten "
                  "the user files what was not filed right. Shares of all messages so far, and of the last 500.\n")
            head = ["threshold", "learned", "after", "filed right", "filed wrong", "the last 500: right", "wrong", "majority folder"]
            plain_table([*head, "word count (POPFile)"], (
                (threshold, "moved or confirmed" if confirms else "moved", f"{after:,}", *(f"{share:.3f}" for share in shares))
                for threshold, confirms in ((0.95, False), (0.5, False), (0.5, True))
                for after, shares in one_by_one(args.corpora, threshold, confirms).items()
            ))
        if args.only in (None, *LIVES):
            print("## d. Ordinary life\n\nSpam, and ham in the inbox, with 3,000 messages of the groups as folders, or with the eight "
                  "largest mailing lists of the ham as folders; 200 messages are filed when training, the others arrive in tens, and the "
                  "owner reads everything and moves what is in the wrong place. Per cent of 300 messages.\n")
            plain_table(["folders", "after", "right", "left in the inbox", "wrong"],
                        ((kind, *row) for kind in LIVES if args.only in (None, kind) for row in life(args.corpora, kind, args.until, args.seed)))
        if args.only in (None, "mailboxes"):
            print("## e. Mailboxes as people keep them\n\nEach also has 600 messages of spam in Junk and two folders of 100. The table shows how many of the next 500 good "
                  "messages of the inbox went to the junk, and to other folders; and how many of 100 messages of spam after them.\n")
            plain_table(["mailbox", "in the junk", "elsewhere", "spam in the junk", "refused"], mailboxes(args.corpora, args.seed, args.mailbox))
    finally:
        end_all()
        shutil.rmtree(os.environ["SCRATCH"], ignore_errors=True)


main()
