"""The page of tamisd: what Postfix delivers shows there, and all views in a browser, if there is one."""

import http.cookiejar
import io
import re
import subprocess
import tarfile
import time
import urllib.parse
import urllib.request

from mta import Postfix, send
from support import INBOX, TAMISD, Tamisd, check, equal, http_request, mail, run, wait_for

PASSWORD = "open sesame"
VIEWS = ["/recent", "/try", "/teach", "/model", "/users", "/now"]


class Browser:
    """Signs in, keeps the cookie, and follows what it is told."""

    def __init__(self, server):
        self.at = f"http://127.0.0.1:{server.port('page')}"
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self.post("/sign-in", {"password": PASSWORD})

    def get(self, path):
        return self.opener.open(self.at + path, timeout=30).read().decode()

    def post(self, path, fields):
        data = urllib.parse.urlencode(fields).encode()
        return self.opener.open(urllib.request.Request(self.at + path, data, {"Origin": self.at}), timeout=30).read().decode()

    def upload(self, path, fields, file):
        part = '--B\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n'
        body = "".join(part.format(name, "") + value + "\r\n" for name, value in fields.items()).encode()
        body += part.format("file", '; filename="f"').encode() + file + b"\r\n--B--\r\n"
        head = {"Origin": self.at, "Content-Type": "multipart/form-data; boundary=B"}
        return self.opener.open(urllib.request.Request(self.at + path, body, head), timeout=60).read().decode()

    def click(self, page, act):
        return self.post("/recent", {"act": re.search(f'value="({act} [0-9]+)"', page)[1]})


def page():
    hashed = run([TAMISD, "--hash-password"], PASSWORD.encode()).decode().strip()
    server = Tamisd(f"""users = "FOLDER/users/%u.tamis"
delimiter = "+"
domains = ["example.org"]
[spamd]
listen = ["unix:FOLDER/spamd.sock"]
[milter]
listen = ["unix:FOLDER/milter.sock"]
mode = "0666"
[http]
listen = ["tcp:127.0.0.1:0"]
password = "{hashed}"
[page]
listen = ["tcp:127.0.0.1:0"]
history = "headers"
""")
    browser = Browser(server)
    for path in VIEWS:
        check("<h1>" in browser.get(path), f"{path} shows something")

    # what Postfix delivers shows within a second
    postfix = Postfix(server.unix("milter"))
    try:
        equal(send(postfix.port, INBOX[0])[:3], "250", "Postfix accepts")
        begun = time.monotonic()
        wait_for(lambda: "milter" in browser.get("/recent").split("<tbody>")[1], "the message of Postfix shows", 1)
        shown = time.monotonic() - begun
    finally:
        postfix.stop()

    # a message of joe, however he is addressed: taught on the page, for every door
    new = mail(1, "page")

    def log_odds(user):
        status, body = http_request(server.http_address(), "POST", f"/v1/score?user={urllib.parse.quote(user)}", new,
                                    {"Content-Type": "message/rfc822", "Password": PASSWORD})
        equal(status, 200, f"score for {user}: {body}")
        return re.search(rb'"log_odds":([-0-9.e]+)', body)[1]

    before = log_odds("joe")
    server.ask("CHECK SPAMC/1.5", "User: Joe+lists@example.org\r\n", new)
    found = wait_for(lambda: (text := browser.get("/recent?q=lists")) and "Joe+lists" in text and text, "the message shows", 1)
    browser.click(found, "spam")
    wait_for(lambda: float(log_odds("joe@example.org")) > float(before) + 0.05, "joe has learned it")
    check((server.folder / "users/joe.tamis").exists() and len(list((server.folder / "users").glob("*.tamis"))) == 1,
          "one person, one model")
    check("joe</bdi>" in browser.get("/users"), "joe is among the users")
    check("Model <bdi>joe</bdi>" in browser.get("/model?user=joe"), "joe has a model to look at")
    browser.click(browser.get("/recent?q=lists"), "back")
    wait_for(lambda: log_odds("joe") == before, "the figure from before, to the last bit")

    # a Maildir in a tar: new messages, a deleted one, and what is no message
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in [("cur/1:2,S", mail(2, "tar")), ("new/2", mail(3, "tar")), ("cur/3:2,ST", mail(4, "tar")), ("tmp/4", b"x")]:
            member = tarfile.TarInfo(f"Maildir/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    browser.upload("/teach", {"label": "ham"}, packed.getvalue())
    told = wait_for(lambda: (text := browser.get("/teach")) and "more than once" in text and text, "the tar was looked at")
    check('new</th><td class="number">2<' in told, f"what the tar holds: {told[-1500:]}")
    browser.post("/teach/learn", {})
    wait_for(lambda: "2 messages were learned as" in browser.get("/teach"), "the tar was learned")

    # a thousand rows
    for n in range(1100):
        server.ask("CHECK SPAMC/1.5", "", mail(n, "row"))
        # a browser may look meanwhile
        if n % 180 == 179:
            time.sleep(1)
    times = []
    for _ in range(3):
        begun = time.monotonic()
        rows = browser.get("/recent?rows=1000").count("<tr id=")
        times.append(time.monotonic() - begun)
    equal(rows, 1000, "rows")
    check(min(times) < 0.1, f"1,000 rows take {times} s")
    server.stop()
    return f"shown {shown * 1e3:.0f} ms after Postfix has it, taught and taken back to the last bit; 1,000 rows in {min(times) * 1e3:.0f} ms"
