#!/usr/bin/env python3
"""The words that a person can read of HTML mail, beside those that tamis counts: both should be the same.

    benches/mail/seen.py TAMIS FOLDER... [--seed N] [--most N] [--show N] [--settled]
                         [--limits MISSED UNSEEN]

Reads the files of each folder that have an HTML part. Headless Chromium lays it out, without network and scripts, and seen.js
decides what of it can be read. Needs playwright of PyPI, and Chromium as /usr/bin/chromium or as CHROMIUM names it; without
them it exits with 3.

Words have 3 to 24 letters. tamis finds them on both sides, so its rules for words do not matter: what can be read is given to
it as a message of plain text. A word is missed if it can be read but is not counted, and unseen if it is counted but cannot
be read. Words that only a plain alternative has are unseen. Words of attached text and of alternative texts of images may be
counted or not. A message is off if more than 5 % of its readable words are missed, or more than 10 % of its counted words are
unseen.

Prints a line a folder. --show adds the N messages with most words missed and unseen. --seed and --most take a sample.
--settled waits until every image has failed to load. Without it some images are still expected, and those without a size have
no place on the page yet, so the mean of unseen words varies by some tenths of a per cent.
--limits exits with 1 if a folder has no HTML or a larger share of missed or unseen words.
"""

import email
import json
import os
import random
import re
import sys
import tempfile
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import COUNTS, Command, parser

try:
    from playwright.sync_api import Error as PageError
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
NOT_HERE, EXCEEDED = 3, 1
OFF_MISSED, OFF_UNSEEN = 0.05, 0.1
WORD = re.compile(r"[^\W\d_]{3,24}")
TEXT_MAIL = "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
# content alone; equal messages count under all their labels
TRAIN = ["train", "-q", "--as", "mail", "--content-only", *COUNTS, "--repeat", "--contradictions", "keep"]


@dataclass
class Message:
    """A message: what can be read of it, and text whose words may be counted or not; later the words by side."""

    path: Path
    readable: str
    optional: str
    words: dict = field(default_factory=dict)

    @property
    def missed(self):
        return sorted(self.words["readable"] - self.words["counted"])

    @property
    def unseen(self):
        return sorted(self.words["counted"] - self.words["readable"] - self.words["optional"])


class Judge:
    """Chromium with a page that fetches nothing and runs no scripts but ours."""

    def __init__(self, playwright, settled):
        # a name that a page wants looked up ahead is no request, so a rule holds it back
        arguments = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
        self.browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        # tall, since only what is in the window can be seen to be covered
        viewport = {"width": 1000, "height": 4000}
        self.page = self.browser.new_context(java_script_enabled=False, viewport=viewport).new_page()
        self.page.route("**/*", lambda route: route.abort())
        self.script = Path(__file__).with_name("seen.js").read_text(encoding="utf-8")
        self.wait_until = "load" if settled else "domcontentloaded"

    def read(self, html):
        """The readable text and the alternative texts of a page."""
        # a document that is only written again keeps something of the page before
        self.page.goto("about:blank")
        self.page.set_content(html, wait_until=self.wait_until, timeout=10_000)
        return self.page.evaluate(self.script)


def text_of(part):
    """The text of a part as mail programs decode it: by the declared charset if it fits, else UTF-8, else Windows-1252."""
    octets = part.get_payload(decode=True) or b""
    in_page = re.search(rb"(?i)<meta[^>]{0,200}charset=[\"']?([\w-]+)", octets[:4000])
    declared = part.get_content_charset() or (in_page.group(1).decode() if in_page else "utf-8")
    # browsers read Latin-1 as what contains it
    declared = "cp1252" if declared.lower() in ("iso-8859-1", "latin1") else declared
    for charset in (declared, "utf-8", "cp1252"):
        try:
            return octets.decode(charset)
        except (ValueError, LookupError):
            continue
    return octets.decode("latin-1")


def read(judge, path):
    """The message, or None without an HTML part."""
    parts = [part for part in email.message_from_bytes(path.read_bytes()).walk() if part.get_content_maintype() == "text"]
    attached = [part for part in parts if part.get_content_disposition() == "attachment"]
    pages = [part for part in parts if part.get_content_type() == "text/html" and part not in attached]
    if not pages:
        return None
    seen = [judge.read(text_of(page)) for page in pages]
    optional = [page["alternatives"] for page in seen] + [text_of(part) for part in attached]
    return Message(path, "\n".join(page["text"] for page in seen), "\n".join(optional))


def write_text(path, text):
    # tamis would take text with tags for HTML
    text = text.replace("\r", "").replace("<", "\u2039")
    path.write_text(f"{TEXT_MAIL}{text}\n", encoding="utf-8", errors="replace")
    return path


def find_words(tamis, messages, folder):
    """Adds the words of all messages. The model has a label for each side of each message, whose terms are its words."""
    paths = {}
    for n, message in enumerate(messages):
        message.words = {"counted": set(), "readable": set(), "optional": set()}
        paths[f"{n}-counted"] = message.path
        paths[f"{n}-readable"] = write_text(folder / f"{n}-readable.eml", message.readable)
        paths[f"{n}-optional"] = write_text(folder / f"{n}-optional.eml", message.optional)
    model, exported = folder / "model.tamis", folder / "terms.jsonl"
    Command([tamis, *TRAIN, "-m", model, *(f"{label}={path}" for label, path in paths.items())]).run()
    Command([tamis, "export", "-q", "-m", model]).run(output=exported)
    with open(exported, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            term = line.get("term", ":")
            # links, headers and the like have a colon, signs of structure a tilde
            words = set() if ":" in term or term.startswith("~") else WORD.findall(unicodedata.normalize("NFKC", term).lower())
            for label in line["counts"] if words else ():
                n, side = label.split("-")
                messages[int(n)].words[side].update(words)


@dataclass
class Shares:
    """Of words that should be there, how many are wrong: over all messages, their mean, and how many messages are off."""

    of_all: float
    mean: float
    off: int


def shares(messages, wrong, side, most):
    parts, wholes = [len(getattr(m, wrong)) for m in messages], [len(m.words[side]) for m in messages]
    each = [part / max(1, whole) for part, whole in zip(parts, wholes)]
    return Shares(sum(parts) / max(1, sum(wholes)), sum(each) / max(1, len(each)), sum(share > most for share in each))


def read_all(judge, folder, options):
    """The messages of a folder with HTML, in random order."""
    paths, messages = sorted(path for path in folder.iterdir() if path.is_file()), []
    random.Random(options.seed).shuffle(paths)
    for path in paths:
        if len(messages) == options.most:
            break
        try:
            message = read(judge, path)
        except PageError as error:
            print(f"skipped {path.name}: {str(error).splitlines()[0]}")
            continue
        messages += [message] if message else []
    return messages


def measure(judge, folder, options):
    """Prints the line of a folder; returns whether it is within the limits."""
    messages = read_all(judge, folder, options)
    with tempfile.TemporaryDirectory() as work:
        find_words(options.tamis, messages, Path(work))
    for wrong in ("missed", "unseen"):
        for message in sorted(messages, key=lambda message: -len(getattr(message, wrong)))[: options.show]:
            words = getattr(message, wrong)
            print(f"{message.path.name}: {len(words)} {wrong}: {' '.join(words[:8])}")
    missed = shares(messages, "missed", "readable", OFF_MISSED)
    unseen = shares(messages, "unseen", "counted", OFF_UNSEEN)
    print(f"{folder}: {len(messages)} messages; missed {missed.of_all:.2%} of readable words (mean {missed.mean:.2%}, "
          f"{missed.off} messages off), unseen {unseen.of_all:.2%} of counted words (mean {unseen.mean:.2%}, "
          f"{unseen.off} messages off)", flush=True)
    return bool(messages) and missed.of_all <= options.limits[0] and unseen.of_all <= options.limits[1]


def main():
    arguments = parser(__doc__, "tamis")
    arguments.add_argument("folders", type=Path, nargs="+")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--most", type=int, help="messages of each folder [all]")
    arguments.add_argument("--show", type=int, default=0)
    arguments.add_argument("--settled", action="store_true")
    arguments.add_argument("--limits", type=float, nargs=2, default=(1, 1))
    options = arguments.parse_args()
    if sync_playwright is None or not os.access(CHROMIUM, os.X_OK):
        missing = "playwright (pip install playwright)" if sync_playwright is None else f"Chromium ({CHROMIUM})"
        print(f"skipped: {missing} is not here", file=sys.stderr)
        return NOT_HERE
    with sync_playwright() as playwright:
        judge = Judge(playwright, options.settled)
        within = [measure(judge, folder, options) for folder in options.folders]
        judge.browser.close()
    return 0 if all(within) else EXCEEDED


if __name__ == "__main__":
    sys.exit(main())
