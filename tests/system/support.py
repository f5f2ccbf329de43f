"""What the tests share: processes that are ended in any case, tamisd in a folder, and clients of its doors."""

import contextlib
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = Path(os.environ["SCRATCH"])
TAMISD, TAMIS = os.environ["TAMISD"], os.environ["TAMIS"]
MAIL = ROOT / "corpora/mail"
INBOX = sorted((MAIL / "inbox").glob("*.eml"))
IS_ROOT = os.geteuid() == 0


class Skipped(Exception):
    """Something that a test needs is missing."""


def need(program):
    """The path of a program; skips the test if there is none."""
    path = shutil.which(program)
    if path is None:
        raise Skipped(f"there is no {program}")
    return path


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(got, expected, what):
    if got != expected:
        raise AssertionError(f"{what}: expected {short(expected)}, got {short(got)}")


def short(value):
    text = repr(value)
    return text if len(text) < 600 else f"{text[:400]} ... {text[-190:]}"


def wait_for(condition, what, seconds=20, pause=0.02):
    """Waits until a condition is true, and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(pause)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listen(port, serve):
    """Serves each connection in a thread of its own, until the listener that is returned is closed."""
    listener = socket.create_server(("127.0.0.1", port))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                stream, _ = listener.accept()
                threading.Thread(target=serve, args=(stream,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


_folders = itertools.count()


def folder(name, mode=0o711):
    """A new folder. Mail servers with users of their own may pass through it."""
    # other tests run at the same time
    path = SCRATCH / f"{os.getpid()}-{next(_folders)}-{name}"
    path.mkdir()
    path.chmod(mode)
    return path


_running = []


def register(pid):
    """Writes down a process, so that the script ends it if this program is killed."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return
    with open(SCRATCH / "processes", "a") as file:
        file.write(f"{pid} {stat.rsplit(')', 1)[1].split()[19]}\n")


def start(arguments, **options):
    """Starts a process that is ended at the latest when the test ends."""
    process = subprocess.Popen(arguments, **{"stdin": subprocess.DEVNULL} | options)
    register(process.pid)
    _running.append(process)
    return process


def end_all():
    """Ends the processes that a test has left."""
    for process in _running:
        if process.poll() is None:
            process.kill()
        process.wait()
    _running.clear()


def run(arguments, input=b"", expected=0, **options):
    """Runs a program to its end, and returns its standard output. `expected` is an exit status or `None`."""
    options.setdefault("timeout", 60)
    done = subprocess.run(arguments, input=input, capture_output=True, **options)
    if expected is not None and done.returncode != expected:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {short(done.stderr or done.stdout)}")
    return done.stdout


_model = SCRATCH / "model.tamis"


def model():
    """A model of the example mail, trained once."""
    if not _model.exists():
        run([TAMIS, "train", "-m", _model, f"ham={MAIL / 'ham'}", f"spam={MAIL / 'spam'}"])
    return _model


def tamis_json(mail, path):
    """What `tamis score --json` says, numbers as text with all their digits."""
    line = run([TAMIS, "score", "-m", path, "--json"], mail, expected=None)
    return json.loads(line, parse_float=str)


class Tamisd:
    """A server in a folder. In its settings, FOLDER stands for the folder, and ports of TCP are chosen by the system."""

    def __init__(self, settings, at=None, name="tamisd", with_model=True, within=()):
        self.folder, self.within = at or folder(name), within
        self.model = self.folder / "model.tamis"
        if with_model and not self.model.exists():
            shutil.copy(model(), self.model)
        self.config = self.folder / "tamisd.toml"
        text = f'[models]\nshared = "FOLDER/model.tamis"\n{settings}'.replace("FOLDER", str(self.folder))
        self.config.write_text(text)
        self.n_doors = text.count('"tcp:') + text.count('"unix:')
        self.said = self.folder / "said"
        self.process = None
        self.start()

    def start(self):
        begin = self.said.stat().st_size if self.said.exists() else 0
        with open(self.said, "ab") as said:
            self.process = start([*self.within, TAMISD, "--allow-root", "-c", self.config], stderr=said)

        def is_open():
            check(self.process.poll() is None, f"tamisd ended: {self.said.read_text()[begin:]}")
            self.doors = dict(re.findall(r"tamisd: (\w+) at tcp:127\.0\.0\.1:(\d+)", self.said.read_text()[begin:]))
            return self.said.read_text()[begin:].count(" at ") >= self.n_doors

        wait_for(is_open, "tamisd opens its doors")

    @property
    def pid(self):
        return self.process.pid

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stops it as a system does; it must end by itself, in order, without a defect."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(20), 0, "exit status of tamisd")
        self.check_said()

    def check_said(self):
        said = self.said.read_text(errors="replace")
        check("panicked" not in said, f"a panic: {said[-2000:]}")

    def port(self, door):
        return int(self.doors[door])

    def unix(self, name):
        return self.folder / f"{name}.sock"

    def ask(self, line, head="", body=b"", timeout=30):
        return ask(self.unix("spamd"), line, head, body, timeout)

    def metrics(self):
        """The numbers of /metrics by name."""
        status, body = http_request(self.http_address(), "GET", "/metrics")
        equal(status, 200, "status of /metrics")
        lines = (line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    def http_address(self):
        return ("127.0.0.1", self.port("http")) if "http" in self.doors else self.unix("http")

    def n_descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def n_tasks(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def resident(self):
        """Resident memory in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def connect(address, timeout=30):
    """Connects to a path or to an address and a port."""
    kind = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    stream = socket.socket(kind)
    stream.settimeout(timeout)
    try:
        stream.connect(address if isinstance(address, tuple) else str(address))
    except OSError:
        stream.close()
        raise
    return stream


def read_all(stream):
    parts = []
    while part := stream.recv(65536):
        parts.append(part)
    return b"".join(parts)


def ask(address, line, head="", body=b"", timeout=30):
    """A request of spamd's protocol; returns the answer. Fails with OSError if there is none, as when the server is killed."""
    with connect(address, timeout) as stream:
        stream.sendall(f"{line}\r\n{head}Content-length: {len(body)}\r\n\r\n".encode() + body)
        stream.shutdown(socket.SHUT_WR)
        answer = read_all(stream)
    if not answer.startswith(b"SPAMD/") or b"\r\n" not in answer:
        raise ConnectionError("no answer")
    return answer


def tell(address, label, mail, timeout=60):
    """Learns a message, or forgets it if the label is `None`; returns whether that changed anything."""
    head = "Remove: local\r\n" if label is None else f"Message-class: {label}\r\nSet: local\r\n"
    answer = ask(address, "TELL SPAMC/1.5", head, mail, timeout)
    if not answer.startswith(b"SPAMD/1.1 0 EX_OK"):
        raise NotTold(answer)
    return (b"DidSet" in answer) if label is not None else (b"DidRemove" in answer)


class NotTold(Exception):
    """The server has refused to learn."""


class _UnixHttp(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = connect(self.path)


def http_request(address, method, path, body=None, headers=None):
    """Status and body of the answer to a request."""
    is_tcp = isinstance(address, tuple)
    connection = http.client.HTTPConnection(*address, timeout=30) if is_tcp else _UnixHttp(address)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


WORDS = ("pills casino winner prize transfer lottery discount offer meeting minutes budget garden invoice report review "
         "patch release compiler bicycle concert kitchen holiday school train weather recipe library museum").split()


def mail(number, name):
    """A message of a few words that differs from all others."""
    chance = random.Random(f"{name} {number}")
    body = " ".join(chance.choices(WORDS, k=30))
    return (f"From: sender{number % 97}@example.net\r\nTo: b@example.org\r\nSubject: {chance.choice(WORDS)} {number}\r\n"
            f"Message-ID: <{name}-{number}@example.net>\r\nDate: Mon, 2 Nov 2026 10:00:00 +0000\r\n\r\n"
            f"{body}\r\n{name}{number} word{chance.randrange(10**6)}\r\n").encode()
