"""An IMAP server of a few lines that can be as odd as one wishes: like Gmail, throttling, or hostile."""

import base64
import contextlib
import re
import threading
import time

from support import free_port, listen


# when a message arrived, which moving and copying do not change
arrivals = {}


class Box:
    """A folder: messages by UID."""

    def __init__(self, attributes=""):
        self.attributes, self.validity, self.next_uid, self.messages = attributes, 1, 1, {}

    def add(self, message, flags=()):
        arrivals.setdefault(message, time.time())
        self.messages[self.next_uid] = (message, set(flags))
        self.next_uid += 1
        return self.next_uid - 1


class Imapd:
    """The server. `quirk` is called with the command's words and may answer it: bytes to send, "cut", or nothing."""

    def __init__(self, boxes, capability="IMAP4rev1 IDLE MOVE UIDPLUS", quirk=None, all_mail=None):
        self.boxes, self.capability, self.quirk, self.all_mail = boxes, capability, quirk, all_mail
        self.commands, self.tokens, self.lock, self.port = [], [], threading.RLock(), free_port()
        self.uid_next_on_open = True
        # what messages may be marked with, if not with anything
        self.permanent_flags = None
        self.listener = listen(self.port, self.serve)

    def close(self):
        self.listener.close()

    def serve(self, stream):
        with contextlib.suppress(OSError, ValueError), stream, stream.makefile("rb") as lines:
            stream.sendall(b"* OK hello\r\n")
            selected = None
            while line := lines.readline():
                tag, command = line.decode().strip().split(" ", 1)
                words = command.replace('"', "").split()
                self.commands.append(command)
                literal = re.search(r"\{(\d+)\}$", command)
                if literal:
                    stream.sendall(b"+ go on\r\n")
                    message = lines.read(int(literal[1]))
                    lines.readline()
                answer = self.quirk(words) if self.quirk else None
                if answer is None and literal:
                    with self.lock:
                        self.boxes[words[1]].add(message)
                        answer = b"TAG OK done\r\n"
                if answer == "cut":
                    return
                if answer is None:
                    with self.lock:
                        selected, answer = self.answer(words, command, selected)
                if words[0] == "AUTHENTICATE":
                    stream.sendall(b"+ \r\n")
                    self.tokens.append(base64.b64decode(lines.readline()))
                if words[0] == "IDLE":
                    stream.sendall(b"+ idling\r\n")
                    lines.readline()
                stream.sendall(answer.replace(b"TAG", tag.encode()))
                if words[0] == "LOGOUT":
                    return

    def answer(self, words, command, selected):
        verb = " ".join(words[:2]).upper() if words[0].upper() == "UID" else words[0].upper()
        ok = b"TAG OK done\r\n"
        name = re.findall(r'"([^"]*)"', command)
        box = self.boxes.get(selected)
        if verb == "CAPABILITY":
            return selected, f"* CAPABILITY {self.capability}\r\n".encode() + ok
        if verb == "LIST":
            lines = (f'* LIST ({box.attributes}) "/" "{name}"\r\n' for name, box in self.boxes.items())
            return selected, "".join(lines).encode() + ok
        if verb in ("SELECT", "EXAMINE", "STATUS"):
            if name[0] not in self.boxes:
                return selected, b"TAG NO [NONEXISTENT] no such folder\r\n"
            box = self.boxes[name[0]]
            if verb == "STATUS":
                numbers = f"(MESSAGES {len(box.messages)} UIDNEXT {box.next_uid} UIDVALIDITY {box.validity})"
                return selected, f'* STATUS "{name[0]}" {numbers}\r\n'.encode() + ok
            said = (f"* {len(box.messages)} EXISTS\r\n* OK [UIDVALIDITY {box.validity}] valid\r\n"
                    + (f"* OK [UIDNEXT {box.next_uid}] next\r\n" if self.uid_next_on_open else "")
                    + (f"* OK [PERMANENTFLAGS ({' '.join(self.permanent_flags)})] flags\r\n" if self.permanent_flags else ""))
            return name[0], said.encode() + ok
        if verb == "UID SEARCH":
            first = re.search(r"UID (\d+):\*", command)
            uids = [uid for uid, (_, flags) in box.messages.items() if "\\Deleted" not in flags]
            if among := re.search(r"UID ([\d:,]+)(?: |$)", command.removeprefix("UID ")):
                uids = [uid for uid in uids if self.within(uid, among[1])]
            if "SEEN" in words:
                uids = [uid for uid in uids if box.messages[uid][1] & {"\\Seen", "\\Answered"}]
            if first:
                uids = [uid for uid in uids if uid >= int(first[1])] or uids[-1:]
            return selected, f"* SEARCH {' '.join(map(str, uids))}\r\n".encode() + ok
        if verb == "UID FETCH":
            parts = []
            for n, uid in enumerate(box.messages, 1):
                if self.within(uid, words[2]):
                    message, flags = box.messages[uid]
                    head = f"* {n} FETCH (UID {uid} FLAGS ({' '.join(sorted(flags))})".encode()
                    if "BODY.PEEK" in command:
                        date = time.strftime("%d-%b-%Y %H:%M:%S +0000", time.gmtime(arrivals[message]))
                        head += b' INTERNALDATE "%s" BODY[]<0> {%d}\r\n%s' % (date.encode(), len(message), message)
                    parts.append(head + b")\r\n")
            return selected, b"".join(parts) + ok
        if verb in ("UID MOVE", "UID COPY"):
            uid, target = int(words[2]), self.boxes.get(name[0])
            if target is None or uid not in box.messages:
                return selected, ok if target else b"TAG NO [TRYCREATE] no such folder\r\n"
            to = target.add(*box.messages[uid])
            code = f"[COPYUID {target.validity} {uid} {to}]" if "UIDPLUS" in self.capability else ""
            if verb == "UID MOVE":
                del box.messages[uid]
                return selected, f"* OK {code} moved\r\n".encode() + ok
            return selected, f"TAG OK {code} copied\r\n".encode()
        if verb == "UID STORE":
            for uid in list(box.messages):
                if self.within(uid, words[2]):
                    changed = set(re.search(r"\(([^()]*)\)$", command)[1].split())
                    if self.permanent_flags:
                        changed &= set(self.permanent_flags)
                    flags = box.messages[uid][1]
                    box.messages[uid] = box.messages[uid][0], flags - changed if "-FLAGS" in command else flags | changed
            return selected, ok
        if verb == "UID EXPUNGE":
            for uid in [uid for uid, (_, flags) in box.messages.items() if "\\Deleted" in flags and self.within(uid, words[2])]:
                del box.messages[uid]
            return selected, ok
        return selected, ok

    @staticmethod
    def within(uid, uids):
        ranges = (part.split(":") for part in uids.split(","))
        return any(int(part[0]) <= uid and (part[-1] == "*" or uid <= int(part[-1])) for part in ranges)
