#!/usr/bin/env python3
"""tamisd under load, beside spamd and rspamd where they are installed.

    cargo build --release --locked --bin tamis && cargo build --release --locked -p tamis-server --bins --examples
    benches/server/run.py SPAMASSASSIN > RESULT.md

SPAMASSASSIN has folders `ham` and `spam` (corpora/README.md tells how to get it). The load generator runs on the same
processors as the server. Peers learn the same mails and have nothing but their Bayes filters on, without network tests.
Needs nothing but Python. All servers run in a temporary folder and are ended by their process ids.
"""

import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import BUILT, LABELS, ONE, Command, commit_and_machine, half_of_mail, labelled, parser, plain_table

TICK = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that is ended with its children."""

    running = []

    def __init__(self, arguments, ready, **options):
        self.process = subprocess.Popen(
            [str(a) for a in arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **options
        )
        Server.running.append(self)
        end = time.time() + 30
        while not ready():
            if self.process.poll() is not None or time.time() > end:
                raise SystemExit(f"not started: {arguments}")
            time.sleep(0.05)

    def processes(self):
        group = os.getpgid(self.process.pid)
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if os.getpgid(int(entry.name)) == group:
                    yield entry

    def cpu(self):
        seconds = 0
        for process in self.processes():
            with contextlib.suppress(OSError):
                fields = (process / "stat").read_text().rpartition(") ")[2].split()
                # with those of children that have ended
                seconds += sum(map(int, fields[11:15])) / TICK
        return seconds

    def state(self):
        """Resident megabytes, threads and descriptors of the first process."""
        process = Path("/proc") / str(self.process.pid)
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        rss = int(status["VmRSS"].split()[0]) / 1024
        return rss, int(status["Threads"]), len(list((process / "fd").iterdir()))

    def stop(self):
        Server.running.remove(self)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def connects(where):
    def ready():
        try:
            if isinstance(where, tuple):
                socket.create_connection(where, 1).close()
            else:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(where))
            return True
        except OSError:
            return False

    return ready


class Bench:
    def __init__(self, corpus, seconds, built):
        self.folder = Path(tempfile.mkdtemp())
        self.seconds = seconds
        self.tamis, self.tamisd, self.load = (built / name for name in ("tamis", "tamisd", "examples/load"))
        for part in ("train/ham", "train/spam", "test"):
            (self.folder / part).mkdir(parents=True)
        for label in LABELS:
            for train, part in ((True, f"train/{label}"), (False, "test")):
                for mail in half_of_mail(corpus / label, train):
                    shutil.copy(mail, self.folder / part / mail.name)
        self.n_test = len(list((self.folder / "test").iterdir()))
        self.model = self.folder / "model.tamis"
        self.train(self.model, self.folder / "train")
        self.socket = self.folder / "spamd.sock"

    def train(self, model, folder):
        Command([self.tamis, "train", "-m", model, *labelled(folder)]).run()

    def start(self, settings=""):
        text = f"""
[spamd]
listen = ["unix:{self.socket}", "tcp:127.0.0.1:17783"]
[http]
listen = ["tcp:127.0.0.1:17333"]
[milter]
listen = ["unix:{self.folder}/milter.sock"]
{settings or f'[models]{chr(10)}shared = "{self.model}"'}
"""
        (self.folder / "tamisd.toml").write_text(text)
        return Server([self.tamisd, "--allow-root", "-c", self.folder / "tamisd.toml"], connects(self.socket))

    def send(self, *arguments, clients=4, seconds=None, folder=None):
        command = [self.load, "--clients", clients, "--seconds", seconds or self.seconds, *arguments, folder or self.folder / "test"]
        return Command(command).json()

    def measured(self, server, *arguments, **options):
        before = server.cpu()
        result = self.send(*arguments, **options)
        result["cpu_us"] = (server.cpu() - before) / max(result["messages"], 1) * 1e6
        if result["errors"]:
            raise SystemExit(f"{result['errors']} messages without a verdict: {arguments}")
        return result


def row(name, result):
    return [name, f"{result['per_second']:,}", f"{result['cpu_us']:.0f}", f"{result['p50_ms']:.2f}", f"{result['p99_ms']:.2f}"]


COLUMNS = ["", "messages/s", "server CPU, us a message", "p50, ms", "p99, ms"]


def speed(bench):
    print("## a. Speed\n")
    command = Command([bench.tamis, "label", *ONE, "-m", bench.model, bench.folder / "test"])
    label = statistics.mean(command.run().cpu for _ in range(3)) / bench.n_test * 1e6
    server = bench.start()
    unix = ("--unix", bench.socket)
    bench.send(*unix, seconds=1)
    results = [bench.measured(server, *unix, clients=clients) for clients in (2, 4, 16)]
    tcp = bench.measured(server, "--tcp", "127.0.0.1:17783")
    http = bench.measured(server, "--tcp", "127.0.0.1:17333", "--http")
    rows = [row(f"tamisd, spamd's protocol, Unix socket, {n} clients", r) for n, r in zip((2, 4, 16), results)]
    rows += [row("tamisd, spamd's protocol, TCP, 4 clients", tcp), row("tamisd, rspamd's HTTP, TCP, 4 clients", http)]
    best = max(results, key=lambda r: r["per_second"])
    peers = [peer for peer in (spamd(bench), rspamd(bench)) if peer]
    rows += [row(name, result) for name, result, _ in peers]
    plain_table(COLUMNS, rows)
    print(f"`tamis label --threads 1` takes {label:.0f} us of CPU a message; tamisd {results[1]['cpu_us']:.0f}: "
          f"{results[1]['cpu_us'] / label:.2f} times (reach: 1.8).\n")
    for name, result, ours in peers:
        ours = best if ours == "unix" else http
        print(f"Messages a second against {name}: {ours['per_second'] / result['per_second']:.1f} times.\n")
    print("## b. Latency at half the highest load\n")
    rate = best["per_second"] / 2
    rows = [row(f"{clients} clients", bench.measured(server, *unix, "--rate", rate, clients=clients)) for clients in (4, 16)]
    plain_table(COLUMNS, rows)
    server.stop()


def spamd(bench):
    if not shutil.which("spamd") or not Path("/usr/share/spamassassin/23_bayes.cf").exists() or os.getuid() != 0:
        return None
    home = Path(tempfile.mkdtemp())
    try:
        (home / "rules").mkdir()
        (home / "site").mkdir()
        for name in ("23_bayes.cf", "10_default_prefs.cf"):
            shutil.copy(f"/usr/share/spamassassin/{name}", home / "rules")
        for plugins in Path("/etc/spamassassin").glob("*.pre"):
            shutil.copy(plugins, home / "site")
        (home / "site/local.cf").write_text(
            f"use_bayes 1\nbayes_path {home}/bayes\nbayes_file_mode 0777\nbayes_auto_learn 0\nskip_rbl_checks 1\n"
            "score BAYES_00 -2\nscore BAYES_99 6\nscore BAYES_999 1\n"
        )
        where = ["-C", home / "rules", "--siteconfigpath", home / "site"]
        for label in LABELS:
            Command(["sa-learn", *where, "--no-sync", f"--{label}", bench.folder / "train" / label]).run()
        Command(["sa-learn", *where, "--sync"]).run()
        Command(["chmod", "-R", "a+rwX", home]).run()
        path = home / "spamd.sock"
        server = Server(["spamd", "-L", "-x", "--socketpath", path, "-m", "2", *where, "-H", home, "-u", "nobody", "-s", "null"], connects(path))
        try:
            bench.send("--unix", path, clients=2, seconds=2)
            return "spamd, Bayes only, 2 children", bench.measured(server, "--unix", path, clients=2), "unix"
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


RSPAMD = """
options {{ filters = []; pidfile = "{home}/rspamd.pid"; tempdir = "{home}"; url_tld = "/usr/share/rspamd/effective_tld_names.dat";
  dns {{ nameserver = ["127.0.0.1:1"]; timeout = 0.1s; }} control_socket = "{home}/control.sock mode=0600"; history_rows = 10; cache_file = "{home}/cache"; }}
logging {{ type = "file"; filename = "{home}/log"; level = "error"; }}
metric {{ name = "default"; actions {{ reject = 15; add_header = 6; }} group "statistics" {{
  symbol "BAYES_SPAM" {{ weight = 5.1; }} symbol "BAYES_HAM" {{ weight = -3; }} }} }}
classifier "bayes" {{ tokenizer {{ name = "osb"; }} backend = "redis"; servers = "127.0.0.1:17379"; min_tokens = 11; min_learns = 20;
  cache {{ backend = "redis"; }}
  statfile {{ symbol = "BAYES_HAM"; spam = false; }} statfile {{ symbol = "BAYES_SPAM"; spam = true; }} }}
worker "normal" {{ bind_socket = "127.0.0.1:17340"; count = 2; task_timeout = 60s; }}
worker "controller" {{ bind_socket = "127.0.0.1:17341"; count = 1; password = "q1"; enable_password = "q1"; secure_ip = "127.0.0.1"; }}
"""


def rspamd(bench):
    if not all(map(shutil.which, ("rspamd", "rspamc", "redis-server"))):
        return None
    home = Path(tempfile.mkdtemp())
    servers = []
    try:
        servers.append(Server(["redis-server", "--port", "17379", "--save", "", "--dir", home], connects(("127.0.0.1", 17379))))
        (home / "rspamd.conf").write_text(RSPAMD.format(home=home))
        servers.append(Server(["rspamd", "-c", home / "rspamd.conf", "-f", "-i"], connects(("127.0.0.1", 17340))))
        for label in LABELS:
            Command(["rspamc", "-h", "127.0.0.1:17341", "-P", "q1", f"learn_{label}", bench.folder / "train" / label]).run()
        bench.send("--tcp", "127.0.0.1:17340", "--http", clients=2, seconds=2)
        result = bench.measured(servers[-1], "--tcp", "127.0.0.1:17340", "--http", clients=4)
        return "rspamd, Bayes only, 2 workers (CPU without redis)", result, "http"
    except SystemExit as error:
        print(f"rspamd was not measured: {error}\n")
        return None
    finally:
        for server in reversed(servers):
            server.stop()
        shutil.rmtree(home, ignore_errors=True)


def million(bench):
    print("## c. A model of a million terms, and one writer that learns all the time\n")
    model, rows = bench.folder / "million.tamis", bench.folder / "million"
    rng = random.Random(7)
    mails = sorted((bench.folder / "test").iterdir())
    for label in LABELS:
        (rows / label).mkdir(parents=True)
        for n in range(2500):
            words = " ".join(f"{rng.randrange(1 << 40):x}" for _ in range(210))
            mail = rng.choice(mails).read_bytes().partition(b"\n\n")
            (rows / label / f"{n}.eml").write_bytes(mail[0] + f"\nX-N: {n}{label}\n\n{words}\n".encode() + mail[2][:20_000])
    bench.train(model, rows)
    facts = Command([bench.tamis, "inspect", "--json", "-m", model]).json()
    server = bench.start(f'[models]\nshared = "{model}"')
    unix = ("--unix", bench.socket)
    best = bench.measured(server, *unix, clients=4)
    rate = best["per_second"] / 2
    alone = bench.measured(server, *unix, "--rate", rate, clients=16)
    stop, learned = threading.Event(), [0]

    def teach():
        # unlike any mail so far, one after another
        while not stop.is_set():
            learned[0] += 1
            words = " ".join(f"{rng.randrange(1 << 40):x}" for _ in range(100))
            mail = f"Subject: {learned[0]}\r\nMessage-ID: <{rng.random()}@x>\r\n\r\n{words}\r\n".encode()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(bench.socket))
                head = f"TELL SPAMC/1.5\r\nMessage-class: {rng.choice(LABELS)}\r\nSet: local\r\nContent-length: {len(mail)}\r\n\r\n"
                client.sendall(head.encode() + mail)
                if b"DidSet: local" not in client.makefile("rb").read():
                    raise SystemExit("a message was not learned")

    thread = threading.Thread(target=teach)
    thread.start()
    beside = bench.measured(server, *unix, "--rate", rate, clients=16, seconds=bench.seconds * 2)
    stop.set()
    thread.join()
    server.stop()
    plain_table(COLUMNS, [row("as fast as it goes", best), row("half of that", alone), row("half of that, and a writer", beside)])
    print(f"Terms: {facts.get('terms', facts)}; learned meanwhile, one by one: {learned[0]} in {bench.seconds * 2:.0f} s.\n")


def many(bench):
    print("## d. A thousand users' models, a thousand idle milter connections\n")
    users = bench.folder / "users"
    users.mkdir()
    model = f'[models]\nshared = "{bench.model}"\nusers = "{users}/%u.tamis"\nmax_open = 1000'
    first = users / "user0.tamis"
    for other in sorted((bench.folder / "train/spam").iterdir())[:20]:
        Command([bench.tamis, "learn", "-q", "-m", first, "--fallback", bench.model, "spam"], other).run()
    for n in range(1, 1000):
        shutil.copy(first, users / f"user{n}.tamis")
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    server = bench.start(model)
    unix = ("--unix", bench.socket)
    rows = [["started", *server.state()]]
    result = bench.measured(server, *unix, "--users", 1000, clients=4, seconds=bench.seconds)
    while result["messages"] < 2000:
        result = bench.measured(server, *unix, "--users", 1000, clients=4, seconds=bench.seconds)
    rows.append(["1,000 users' models", *server.state()])
    idle = []
    for _ in range(1000):
        client = socket.socket(socket.AF_UNIX)
        client.connect(f"{bench.folder}/milter.sock")
        client.sendall(struct.pack(">IcIII", 13, b"O", 6, 0x1FF, 0x1FFFFF))
        idle.append(client)
    for client in idle:
        client.recv(64)
    rows.append(["and 1,000 idle milter connections", *server.state()])
    loads = [bench.measured(server, *unix, "--users", 1000, clients=16, seconds=bench.seconds) for _ in range(6)]
    rows.append([f"after {sum(r['messages'] for r in loads):,} more messages", *server.state()])
    for client in idle:
        client.close()
    time.sleep(2)
    rows.append(["connections closed", *server.state()])
    server.stop()
    plain_table(["", "resident, MB", "threads", "descriptors"], [[n, f"{r:.0f}", t, d] for n, r, t, d in rows])
    plain_table(COLUMNS, [row("1,000 users in turn, 4 clients", result)])


def main():
    arguments = parser(__doc__, "corpus")
    arguments.add_argument("--seconds", type=float, default=5)
    arguments.add_argument("--built", type=Path, default=BUILT)
    arguments.add_argument("--only", default="a,c,d")
    options = arguments.parse_args()
    bench = Bench(options.corpus, options.seconds, options.built)
    try:
        print(f"# tamisd under load\n\n{commit_and_machine()}; "
              f"SpamAssassin's corpus, {bench.n_test:,} mails; the load generator shares the processors.\n")
        for name, part in (("a", speed), ("c", million), ("d", many)):
            if name in options.only.split(","):
                part(bench)
                sys.stdout.flush()
    finally:
        for server in Server.running[:]:
            server.stop()
        shutil.rmtree(bench.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
