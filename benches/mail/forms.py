"""The forms of forms.txt, and messages made of them."""

import base64
import binascii
import quopri
import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {
    "ru": "Привет друзья сегодня хорошая погода дешево",
    "fr": "élève château naïveté créée déjà forêt garçon",
    "ja": "こんにちは今日は特別割引です日本語文章",
    "zh": "你好今天特价优惠中文文章免费",
    "tw": "你好今天特價優惠中文文章",
    "ko": "안녕하세요 오늘은 특별할인 한국어",
    "el": "Καλημέρα σήμερα έκπτωση φίλοι",
    "he": "שלום חברים היום הנחה גדולה",
    "ar": "مرحبا اليوم تخفيضات كبيرة",
    "cs": "příliš žluťoučký kůň úpěl ďábelské ódy",
    "en": "",
}
ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|[nrtfv])")


def octets(text):
    """Bytes that are not UTF-8 are lone surrogates in strings."""
    return text.encode("utf-8", "surrogateescape")


def in_base64(data):
    return re.sub("(.{1,76})", r"\1\n", base64.b64encode(data).decode())


def in_hexadecimal(data):
    return re.sub("((=..){1,24})", "\\1=\n", "".join(f"={octet:02X}" for octet in data)) + "\n"


def in_uu(data):
    lines = (binascii.b2a_uu(data[i : i + 45]).decode() for i in range(0, len(data), 45))
    return f"begin 644 note.txt\n{''.join(lines)}`\nend\n"


ENCODE = {"base64": in_base64, "hex": in_hexadecimal, "uu": in_uu, "qp": lambda data: quopri.encodestring(data).decode()}


class Content:
    """What names in braces stand for: attributes, and methods that take arguments. `fields` are those of the form's line."""

    def __init__(self, fields, random, head, text, other):
        self.line, self.random, self.head, self.text, self.other = fields, random, head, text, other
        self.b = random.choice(["", "----=_Part_", "=_", "b"]) + f"{random.getrandbits(48):012x}"
        self.mixed = f'Content-Type: multipart/mixed; boundary="{self.b}"\n\n'
        self.page = f"<html><body><p>{text}</p></body></html>\n"
        self.kind, self.body = random.choice([("text/plain", text), ("text/html", self.page)])
        for name, encode in ENCODE.items():
            setattr(self, name, encode(octets(self.body)))
        self.plain, self.html, self.second = self.part("plain", text), self.part("html", self.page), self.part("plain", other)
        self.tail = self.part("plain", other.split()[0] if other else "")
        self.coded = f"Content-Type: {self.kind}; charset=utf-8\nContent-Transfer-Encoding: base64\n\n{self.base64}"
        self.encoded, self.encoded_page = self.perhaps_encoded(self.body), self.perhaps_encoded(self.page)
        self.inner_base64 = in_base64(octets(f"--inner\n{self.plain}--inner--\n"))
        self.inner_message = in_base64(octets(f"Subject: inner\n{self.plain}"))
        self.fields = "\n".join(f"X-Field-{i}: value" for i in range(random.choice([100, 990, 1100, 3000])))
        self.long_fields = "\n".join(f"X-Long-{i}: {'y' * 900}" for i in range(410))
        self.letters = "x" * random.choice([999, 5000, 70_000])
        self.empty_parts = f"--{self.b}\n\n" * random.choice([50, 600, 1200, 3000])

    @staticmethod
    def part(kind, text):
        return f"Content-Type: text/{kind}; charset=utf-8\n\n{text}\n"

    def perhaps_encoded(self, body):
        return self.random.choice([f"\n{body}", f"Content-Transfer-Encoding: base64\n\n{in_base64(octets(body))}"])

    def words(self, codec, language, wrong=""):
        """The text and words of a language in a charset, with wrong bytes between them."""
        data = self.body.replace(self.text, f"{self.text}\n{LANGUAGES[language]}\n").encode(codec, "ignore")
        data += bytes.fromhex(wrong) + LANGUAGES[language].encode(codec, "ignore") if wrong else b""
        if self.random.random() < 0.6 or re.match("utf.?16|utf.?32|cp037|cp500", codec):
            return f"Content-Transfer-Encoding: base64\n\n{in_base64(data)}"
        return f"Content-Transfer-Encoding: 8bit\n\n{data.decode('utf-8', 'surrogateescape')}"

    def tagged(self, charset, language):
        """A page that names its charset."""
        meta = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">'
        page = f"<html><head>{meta}</head><body><p>{self.text} {LANGUAGES[language]}</p></body></html>"
        return f"Content-Transfer-Encoding: base64\n\n{in_base64(page.encode(charset, 'ignore'))}"

    def twice(self, first, second):
        return ENCODE[second](octets(ENCODE[first](octets(self.body))))

    def changed(self, name):
        return re.sub(self.line[0], self.line[1], getattr(self, name))

    def deep(self):
        """The text in many levels of the line."""
        part = self.coded
        for level in range(self.random.choice([5, 20, 31, 33, 49, 60, 100])):
            part = self.line[0].replace("N", str(level)).replace("@", part)
        return part

    def fill(self, template):
        def value(match):
            name, *arguments = match[1].split(" ")
            found = getattr(self, name)
            return found(*arguments) if callable(found) else found

        return re.sub(r"\{([a-z]\w*(?: [\w-]+)*)\}", value, template)


@dataclass
class Form:
    """A line of forms.txt, and what it is put into."""

    kind: str
    line: str
    template: str

    def build(self, random, header, text, other):
        """The message as bytes. Half of the messages have CR LF, if no other CR is in them."""
        fields = [unescape(field) for field in re.split(" ?=> ?", self.line)]
        content = Content(fields, random, f"{header}MIME-Version: 1.0\n", text, other)
        parts = random.choice(["", "{second}--$2\n"]), random.choice(["", "{mixed}--{b}\n{second}--{b}\n"])
        message = self.template.replace("{perhaps_second}", parts[0]).replace("{leaf}", parts[1])
        message += "\n--{b}--\n" if parts[1] and "{leaf}" in self.template else ""
        message = re.sub(r"\$(\d)", lambda n: fields[int(n[1]) - 1] if int(n[1]) <= len(fields) else "{b}", message)
        if "{head}" not in self.template + self.line:
            message = "{head}" + message
        message = content.fill(message)
        if self.kind == "line ends":
            head, _, body = content.fill("{head}{mixed}--{b}\n{second}--{b}\n{coded}--{b}--\n").partition("\n\n")
            return octets((f"{head}\n\n").replace("\n", fields[0]) + body.replace("\n", fields[-1]))
        ends = "\r\n" if "\r" not in message and random.random() < 0.5 else "\n"
        return octets(message.replace("\n", ends))


def unescape(text):
    return ESCAPE.sub(lambda escape: escape[0].encode().decode("unicode_escape"), text)


def read_forms():
    """All forms, in the order of the file."""
    forms, kind, template = [], "", ""
    for line in Path(__file__).with_name("forms.txt").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"\[([a-z][^]]*)\] ", line):
            kind, template = heading[1], unescape(line[heading.end() :])
        elif line and not line.startswith("# "):
            forms.append(Form(kind, line, template))
    return forms
