#!/usr/bin/env python3
"""What Python's email or GMime shows of messages.

    reader.py python|gmime < PATHS

Prints a line of JSON for each path: a list of [type, is attached, text], or null. The subject of a message inside has the type
"subject".
GMime is the library libgmime-3.0.so.0.
"""

import ctypes
import email
import email.policy
import json
import re
import sys
from pathlib import Path

# as browsers and mail programs read them
WIDER = {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "utf-8", "gb2312": "gb18030"}
DEEPEST = 200


def text_of(part):
    """The text of a part by the declared charset if it fits, else by that of its page, else UTF-8 or Windows-1252."""
    octets = part.get_payload(decode=True) or b""
    in_page = re.search(rb"(?i)<meta[^>]{0,200}charset=[\"']?([\w-]+)", octets[:4000])
    try:
        declared = part.get_content_charset()
    except Exception:  # email gives up on some fields with any of its own errors
        declared = None
    if not declared:
        declared = in_page[1].decode() if in_page and part.get_content_subtype() == "html" else "utf-8"
    for charset in (WIDER.get(declared.lower(), declared), "utf-8", "cp1252"):
        try:
            return octets.decode(charset)
        except (ValueError, LookupError):
            continue
    return octets.decode("latin-1")


def python_parts(part, attached=False, depth=0):
    try:
        attached = attached or part.get_content_disposition() == "attachment"
    except Exception:
        pass
    kind = part.get_content_type()
    for inner in part.get_payload() if part.is_multipart() else ():
        if kind.startswith("message/"):
            yield "subject", True, str(inner.get("subject", ""))
        if depth < DEEPEST:
            yield from python_parts(inner, attached, depth + 1)
    if kind.startswith("text/") and not part.is_multipart():
        yield kind, attached, text_of(part)


def read_by_python(octets):
    return list(python_parts(email.message_from_bytes(octets, policy=email.policy.default)))


class GMime:
    """The functions of the library by their names without g_mime_; `is_a` compares types."""

    def __init__(self):
        self.library = ctypes.CDLL("libgmime-3.0.so.0")
        self.call("g_mime_init")

    def call(self, name, *arguments, result=ctypes.c_void_p):
        function = getattr(self.library, name)
        function.restype = result
        return function(*(ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_void_p(a) for a in arguments))

    def text(self, name, *arguments):
        return (self.call(f"g_mime_{name}", *arguments, result=ctypes.c_char_p) or b"").decode("utf-8", "replace")

    def is_a(self, part, name):
        kind = self.call(f"g_mime_{name}_get_type")
        return self.call("g_type_check_instance_is_a", part, kind, result=ctypes.c_int)

    def parts(self, part, attached=False, depth=0):
        if not part or depth > DEEPEST:
            return
        attached = attached or self.text("object_get_disposition", part).lower() == "attachment"
        if self.is_a(part, "multipart"):
            for n in range(self.call("g_mime_multipart_get_count", part, result=ctypes.c_int)):
                yield from self.parts(self.call("g_mime_multipart_get_part", part, n), attached, depth + 1)
        elif self.is_a(part, "message_part"):
            if message := self.call("g_mime_message_part_get_message", part):
                yield "subject", True, self.text("message_get_subject", message)
                yield from self.parts(self.call("g_mime_message_get_mime_part", message), attached, depth + 1)
        elif self.is_a(part, "text_part"):
            kind = self.call("g_mime_object_get_content_type", part)
            subtype = self.text("content_type_get_media_subtype", kind) or "plain"
            yield f"text/{subtype.lower()}", attached, self.text("text_part_get_text", part)

    def read(self, octets):
        stream = self.call("g_mime_stream_mem_new_with_buffer", octets, len(octets))
        parser = self.call("g_mime_parser_new_with_stream", stream)
        # a message of a mailbox may begin with an envelope
        self.call("g_mime_parser_set_format", parser, int(octets.startswith(b"From ")))
        message = self.call("g_mime_parser_construct_message", parser, None)
        return list(self.parts(self.call("g_mime_message_get_mime_part", message))) if message else None


def main():
    sys.setrecursionlimit(5000)
    read = read_by_python if sys.argv[1] == "python" else GMime().read
    for path in sys.stdin:
        try:
            parts = read(Path(path.rstrip("\n")).read_bytes())
        except Exception:  # whatever a reader fails with, it shows nothing
            parts = None
        print(json.dumps(parts), flush=True)


if __name__ == "__main__":
    main()
