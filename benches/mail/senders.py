"""Messages as senders of spam change them, and as people change mail: each change takes a message and random numbers."""

import copy
import email
import email.policy
import html
import itertools
import random
import re
from email.header import Header, decode_header, make_header
from email.message import Message
from pathlib import Path

POLICY = email.policy.compat32.clone(max_line_length=None, mangle_from_=False)
CONTENT = ("Content-Type", "Content-Transfer-Encoding", "Content-Disposition")
HIDDEN = {
    "display none": '<div style="display:none">{}</div>',
    "font of size 0": '<span style="font-size:0">{}</span>',
    "white on white": '<div style="background:#ffffff"><font color="#ffffff">{}</font></div>',
    "visibility": '<div style="visibility:hidden">{}</div>',
    "opacity": '<div style="opacity:0">{}</div>',
    "off the screen": '<div style="position:absolute;left:-9999px;top:-9999px">{}</div>',
    "no height": '<div style="height:0;max-height:0;overflow:hidden">{}</div>',
    "attribute": "<div hidden>{}</div>",
    "title": "<title>{}</title>",
    "comment": "<!-- {} -->",
    "noframes": "<noframes>{}</noframes>",
    "template": "<template>{}</template>",
    "font of 1 px": '<span style="font-size:1px;line-height:1px">{}</span>',
    "preheader": '<div style="display:none;max-height:0;mso-hide:all">{}</div>',
    "style sheet": '<style>.q{{color:#fefefe;background-color:#fefefe}}</style><div class="q">{}</div>',
}
FIELDS = {
    "List-*": ("list-",),
    "X-Mailer, User-Agent": ("x-mailer", "user-agent"),
    "References, In-Reply-To": ("references", "in-reply-to"),
    "DKIM-Signature": ("dkim-signature", "domainkey-signature"),
    "Authentication-Results": ("authentication-results",),
}
ACCENTS = str.maketrans("aeiouycnsAEIOUYCNS", "àéîöúýçñšÀÉÎÖÚÝÇÑŠ")
LEET = str.maketrans("aeiostAEIOST", "431057431057")
LETTERS = {
    "dotted": lambda word: ".".join(word),
    "barred": lambda word: "|".join(word),
    "underscored": lambda word: "_".join(word),
    "doubled": lambda word: "".join(2 * letter for letter in word),
    "leet": lambda word: word.translate(LEET),
    "accents": lambda word: word.translate(ACCENTS),
}
# words, but not those of addresses
WORD = re.compile(r"(\S*(?:://|@|www\.)\S*)|([A-Za-z]{3,})")
LINE = re.compile(r"[^\n]*\S[^\n]*")
MARKUP = re.compile(r"(?is)<!--.*?-->|<(script|style|title)\b.*?</\1\s*>|<[^>]*>")
SIGNATURE = """

--\x20
Jane Miller, Head of Logistics
Miller & Daughters Ltd, 12 Harbour Street, Southport
Phone +44 20 7946 0123, https://www.example.com/
"""
DISCLAIMER = """

This message and anything attached to it is confidential and meant only for the person or company to whom it is addressed. If you
have received it by mistake, please tell the sender at once and delete it; you must not copy it, use it or show it to anybody.
Opinions in it are those of the author and not necessarily those of the company. Although it has been checked for viruses, the
company accepts no liability for any damage that it may cause. Calls may be recorded for training. Registered office: 12 Harbour
Street, Southport. Registered in England, number 01234567. Please think of the environment before you print this message.
"""
REPORT = "Hello,\n\nplease look at this message, which reached me from your network. It is not wanted.\n\nThank you\n"


def read(octets: bytes) -> Message:
    return email.message_from_bytes(octets, policy=POLICY)


def leaves(message: Message) -> list[Message]:
    """Parts with shown text. What is called multipart but is not is shown as text."""
    parts = [part for part in message.walk() if not part.is_multipart() and part.get_content_disposition() != "attachment"]
    return [part for part in parts if part.get_content_maintype() in ("text", "multipart")]


def is_html(part: Message) -> bool:
    return part.get_content_subtype() == "html"


def decode(part: Message) -> tuple[str, str]:
    """Text and encoding; Latin-1 keeps every byte."""
    octets = part.get_payload(decode=True) or b""
    try:
        charset = part.get_content_charset("us-ascii")
        return octets.decode(charset), charset
    except (ValueError, LookupError):
        return octets.decode("latin-1"), "latin-1"


def rewrite(part: Message, change) -> None:
    """Changes the text of a part. Its charset becomes UTF-8 only if it has to."""
    if part.get_content_maintype() == "multipart":
        part.replace_header("Content-Type", "text/plain")
    old, charset = decode(part)
    new = change(old)
    try:
        strange = charset == "latin-1" and any(letter > "\x7f" for letter in set(new) - set(old))
        octets = b"" if strange else new.encode(charset)
    except (ValueError, LookupError):
        strange = True
    if strange:
        octets = new.encode("utf-8", "replace")
        part.set_param("charset", "utf-8", replace="Content-Type" in part)
    how = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if how == "base64":
        octets = email.base64mime.body_encode(octets).encode()
    elif how == "quoted-printable":
        octets = b"\n".join(email.quoprimime.body_encode(line.decode("latin-1")).encode() for line in octets.splitlines())
    elif how == "7bit" and not octets.isascii():
        part.replace_header("Content-Transfer-Encoding", "8bit")
    part.set_payload(octets)


def text_of(message: Message) -> str:
    return "\n".join(decode(part)[0] for part in leaves(message) if not is_html(part))


def edge(page: str, ahead: bool) -> int:
    """Where what is shown of HTML begins or ends."""
    for tag in ("<body[^>]*>", "</head>", "<html[^>]*>") if ahead else ("</body", "</html"):
        if found := list(re.finditer(tag, page, re.IGNORECASE)):
            return found[0].end() if ahead else found[-1].start()
    return 0 if ahead else len(page)


def add(message: Message, text: str, page: str, ahead: bool = False) -> None:
    """Adds to what is shown, in each of the alternatives: text to plain text, `page` to HTML."""
    texts, pages = ([part for part in leaves(message) if is_html(part) == kind] for kind in (False, True))
    in_text = lambda old: f"{text}\n\n{old}" if ahead else f"{old}\n{text}\n"
    in_page = lambda old: f"{old[: edge(old, ahead)]}\n{page}\n{old[edge(old, ahead) :]}"
    for parts, change in ((texts, in_text), (pages, in_page)):
        if parts:
            rewrite(parts[0 if ahead else -1], change)


def show(message: Message, text: str, ahead: bool = False) -> None:
    lines = html.escape(text).replace("\n", "<br>\n")
    add(message, text, f"<p>{lines}</p>", ahead)


def attach(message: Message, *parts: Message) -> None:
    if message.get_content_type() != "multipart/mixed" or not message.is_multipart():
        first = Message(POLICY)
        for name in CONTENT:
            if name in message:
                first[name] = message[name]
                del message[name]
        first._payload = message._payload  # as bytes: get_payload replaces what is not ASCII
        message["Content-Type"] = f'multipart/mixed; boundary="=_{random.Random(str(message["Message-ID"])).getrandbits(64):x}"'
        message.set_payload([first])
    message.get_payload().extend(parts)


def part_of(kind: str, text: object, disposition: str = "inline") -> Message:
    part = Message(POLICY)
    part["Content-Type"] = kind
    part["Content-Disposition"] = disposition
    part.set_payload(text)
    return part


def replace(message: Message, *parts: Message) -> None:
    """The header of a message with another body."""
    for name in CONTENT:
        del message[name]
    message.set_payload(parts[0].get_payload())
    message["Content-Type"] = "text/plain; charset=us-ascii"
    if parts[1:]:
        attach(message, *parts[1:])


def on_words(change):
    """Changes the words of a text."""
    return lambda text: WORD.sub(lambda found: found[1] or change(found[2]), text)


def backwards(text: str) -> str:
    return LINE.sub(lambda line: f"\u202e{line[0].rstrip()[::-1]}\u202c", text)


def between_tags(page: str, change) -> str:
    """Changes the text of HTML."""
    pieces, at = [], 0
    for tag in MARKUP.finditer(page):
        pieces += [change(page[at : tag.start()]), tag[0]]
        at = tag.end()
    return "".join([*pieces, change(page[at:])])


def as_page(change):
    """The change of a text for text of HTML, in whose charset it stays."""
    coded = lambda text: html.escape(text, quote=False).encode("ascii", "xmlcharrefreplace").decode()
    return lambda text: coded(change(html.unescape(text))) if text.strip() else text


def disguise(change):
    def attack(message: Message, _: random.Random) -> None:
        for part in leaves(message):
            rewrite(part, lambda old: between_tags(old, as_page(change)) if is_html(part) else change(old))
        if "Subject" in message:
            subject = change(str(make_header(decode_header(message["Subject"]))))
            message.replace_header("Subject", subject if subject.isascii() else Header(subject, "utf-8").encode(maxlinelen=0))

    return attack


def in_bdo(message: Message, _: random.Random) -> None:
    turned = as_page(lambda text: text[::-1])
    in_page = lambda text: LINE.sub(lambda line: f"<bdo dir=rtl>{turned(line[0])}</bdo>", text)
    for part in filter(is_html, leaves(message)):
        rewrite(part, lambda old: between_tags(old, in_page))


class Ham:
    """Mail of somebody that senders of spam know."""

    def __init__(self, paths: list[Path]) -> None:
        self.messages = [read(path.read_bytes()) for path in paths]
        texts = (re.sub(r"[^\x20-\x7e\n]", "", text_of(message)) for message in self.messages)
        self.texts = [text for text in texts if len(text) > 200]
        self.having: dict[tuple[str, ...], list] = {}

    def text(self, rng: random.Random, size: int) -> str:
        text = ""
        while len(text) < size:
            text += rng.choice(self.texts).strip() + "\n\n"
        return text[:size]

    def fields(self, rng: random.Random, starts: tuple[str, ...]) -> list[tuple[str, str]]:
        """Fields whose names begin so, of one message."""
        if starts not in self.having:
            found = ([field for field in message.items() if field[0].lower().startswith(starts)] for message in self.messages)
            self.having[starts] = list(filter(None, found))
        return rng.choice(self.having[starts] or [[]])


def padded(ham: Ham, size: int, ahead: bool):
    return lambda message, rng: show(message, ham.text(rng, 1000 * size), ahead)


def with_words(words: list[str], number: int):
    return lambda message, rng: show(message, " ".join(rng.sample(words, number)))


def hidden(ham: Ham, way: str):
    """Only HTML hides text."""

    def attack(message: Message, rng: random.Random) -> None:
        text = html.escape(ham.text(rng, 2000)).replace("--", "- -")
        add(message, "", way.format(text))

    return attack


def woven(ham: Ham):
    """A full line of ham after each line."""

    def attack(message: Message, rng: random.Random) -> None:
        text = ham.text(rng, 100_000)
        lines = itertools.cycle(line for line in text.split("\n") if len(line) >= 60)
        in_page = lambda text: re.sub(r"\n+", lambda _: f"<br>\n{html.escape(next(lines))}<br>\n", text)
        in_text = lambda text: LINE.sub(lambda line: f"{line[0]}\n{next(lines)}", text)
        for part in leaves(message):
            rewrite(part, lambda old: between_tags(old, in_page) if is_html(part) else in_text(old))

    return attack


def attached_message(ham: Ham):
    def attack(message: Message, rng: random.Random) -> None:
        inner = copy.deepcopy(rng.choice(ham.messages))
        replace(inner, part_of("text/plain", ham.text(rng, 10_000)))
        attach(message, part_of("message/rfc822", [inner]))

    return attack


def attached_calendar(ham: Ham):
    def attack(message: Message, rng: random.Random) -> None:
        text = ham.text(rng, 10_000).replace("\\", "").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")
        event = "BEGIN:VCALENDAR\nVERSION:2.0\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:1@example.com\nDTSTART:20021004T090000Z\nSUMMARY:Meeting\n"
        lines = "\n ".join(re.findall("(?s).{1,70}", f"DESCRIPTION:{text}"))
        attach(message, part_of("text/calendar; method=REQUEST", f"{event}{lines}\nEND:VEVENT\nEND:VCALENDAR\n"))

    return attack


def below(message: Message, lines: list[tuple[str, str]]) -> None:
    """Adds Received fields below the last that is there."""
    last = max((n for n, (name, _) in enumerate(message._headers) if name.lower() == "received"), default=-1)
    message._headers[last + 1 : last + 1] = lines


def received(ham: Ham):
    def attack(message: Message, rng: random.Random) -> None:
        lines: list[tuple[str, str]] = []
        while len(lines) < 10:
            lines += ham.fields(rng, ("received",))
        below(message, lines[:10])

    return attack


def best_received(ham: Ham, weights: dict[str, float]):
    """Those of different hosts whose names speak most for ham."""
    lines: dict[frozenset, str] = {}
    for message in ham.messages:
        for line in message.get_all("Received", []):
            hosts = frozenset(re.findall(r"[a-z][\w-]*(?:\.[\w-]+)+", line.lower()))
            lines[frozenset(f"rcvd:{name}" for host in hosts for name in [host, host.partition(".")[2]])] = line
    best = sorted(lines, key=lambda terms: (-sum(weights.get(term, 0) for term in terms), lines[terms]))
    return lambda message, _: below(message, [("Received", lines[terms]) for terms in best[:10]])


def forged(ham: Ham, *names: str):
    def attack(message: Message, rng: random.Random) -> None:
        for name in names:
            fields = ham.fields(rng, FIELDS[name])
            for field, _ in fields:
                del message[field]
            message._headers += fields

    return attack


def everything(ham: Ham):
    def attack(message: Message, rng: random.Random) -> None:
        received(ham)(message, rng)
        forged(ham, *FIELDS)(message, rng)

    return attack


def quoted(spams: list[Message]):
    def change(message: Message, rng: random.Random) -> None:
        spam = rng.choice(spams)
        lines = text_of(spam).strip().replace("\n", "\n> ")
        show(message, f"On {spam['Date']}, {spam['From']} wrote:\n> {lines}\n")

    return change


def report(spams: list[Message], inline: bool):
    def change(message: Message, rng: random.Random) -> None:
        spam = rng.choice(spams)
        del message["To"]
        message["To"] = "abuse@example.net"
        named = "\n".join(f"{name}: {spam[name]}" for name in ("From", "Date", "Subject"))
        begin = "\n---------- Forwarded message ----------\n"
        text = f"{REPORT}{begin}{named}\n\n{text_of(spam)}" if inline else REPORT
        attached = [] if inline else [part_of("message/rfc822", [copy.deepcopy(spam)])]
        replace(message, part_of("text/plain", re.sub(r"[^\x00-\x7f]", "?", text)), *attached)

    return change


def of_mail(changes: dict, html_only: tuple[str, ...] = ()) -> dict:
    """From changes of parsed messages those of bytes: None if it cannot be done to the message."""

    def of(name: str, change):
        def attack(octets: bytes, rng: random.Random) -> bytes | None:
            message = read(octets)
            if name.startswith(html_only) and not any(map(is_html, leaves(message))):
                return None
            change(message, rng)
            return message.as_bytes(unixfrom=bool(message.get_unixfrom()))

        return attack

    return {name: of(name, change) for name, change in changes.items()}


def attacks(own: Ham, others: Ham | None, dictionary: list[str], weights: dict[str, float]) -> dict:
    """What senders do, by name. `weights` are the nats for ham of the model's terms."""
    best = sorted(filter(re.compile("[a-z]{3,}").fullmatch, weights), key=lambda word: (-weights[word], word))[:200]
    of = {"own ham": own} | ({"others' ham": others} if others else {})
    padding = {f"padded: {size} kB of {whose} {'ahead' if ahead else 'behind'}": padded(ham, size, ahead)
               for whose, ham in of.items() for size in (2, 10, 30) for ahead in (False, True)}
    notes = lambda message, rng: attach(message, part_of("text/plain", own.text(rng, 10_000), 'attachment; filename="notes.txt"'))
    return of_mail(padding | {
        "attached: notes.txt of 10 kB": notes,
        "attached: message of 10 kB": attached_message(own),
        "attached: calendar of 10 kB": attached_calendar(own),
        "woven": woven(own),
        "words: 200 best": with_words(best, len(best)),
        "words: 1000 of a dictionary": with_words(dictionary, min(1000, len(dictionary))),
        **{f"hidden: {name}": hidden(own, way) for name, way in HIDDEN.items()},
        "header: ten Received": received(own),
        "header: ten best Received": best_received(own, weights),
        **{f"header: {name}": forged(own, name) for name in FIELDS if own.fields(random.Random(0), FIELDS[name])},
        "header: all of these": everything(own),
        **{f"letters: {name}": disguise(on_words(change)) for name, change in LETTERS.items()},
        "letters: backwards": disguise(backwards),
        "letters: bdo": in_bdo,
    }, ("hidden", "letters: bdo"))


def changes(spams: list[Path]) -> dict:
    """What people do, by name."""
    short = [spam for spam in (read(path.read_bytes()) for path in spams)
             if not any(map(is_html, leaves(spam))) and 200 < len(text_of(spam)) < 2000]
    return of_mail({
        "harmless: signature": lambda message, _: show(message, SIGNATURE),
        "harmless: disclaimer": lambda message, _: show(message, DISCLAIMER),
        "harmless: quoted spam": quoted(short),
        "harmless: spam reported inline": report(short, inline=True),
        "harmless: spam reported attached": report(short, inline=False),
    })


def text_attacks(dictionary: list[str]) -> dict:
    """The attacks on short messages, by name."""
    changes = {name: on_words(LETTERS[name]) for name in ("dotted", "doubled", "accents")} | {"backwards": backwards}
    of = lambda change: lambda octets, _: change(octets.decode()).encode()
    words = lambda octets, rng: octets + " ".join(rng.sample(dictionary, min(200, len(dictionary)))).encode()
    return {"text: 200 words of a dictionary": words, **{f"text: {name}": of(change) for name, change in changes.items()}}
