"""spamc, rspamc and curl, against what the program says of the same mail."""

import json
import re

from support import INBOX, MAIL, TAMIS, TAMISD, Tamisd, check, equal, mail, model, need, run, tamis_json

DOORS = """
[spamd]
listen = ["unix:FOLDER/spamd.sock", "tcp:127.0.0.1:0"]
[http]
listen = ["tcp:127.0.0.1:0", "unix:FOLDER/http.sock"]
"""


def spamc():
    program = need("spamc")
    server = Tamisd(DOORS)
    runs = 0

    def ask(*arguments, input, expected=0, where=("-U", server.unix("spamd"))):
        nonlocal runs
        runs += 1
        # -x: a failure is not passed over
        return run([program, "-x", *where, *arguments], input, expected)

    over_tcp = ("-d", "127.0.0.1", "-p", str(server.port("spamd")))
    verdicts = []
    for path in INBOX:
        message = path.read_bytes()
        expected = run([TAMIS, "score", "-m", model(), "--passthrough"], message)
        equal(ask(input=message), expected, f"spamc of {path.name}")
        equal(ask(input=message, where=over_tcp), expected, f"spamc over TCP of {path.name}")
        is_spam = b"X-Spam-Flag: YES" in expected
        verdicts.append(is_spam)
        score = ask("-c", input=message, expected=int(is_spam)).decode()
        check(re.fullmatch(r"-?\d+\.\d/5\.0\n", score), f"spamc -c of {path.name}: {score!r}")
        equal(float(score.split("/")[0]) >= 5, is_spam, f"spamc -c of {path.name}")
        symbol = ask("-y", input=message).decode().strip()
        equal(symbol == "TAMIS_SPAM", is_spam, f"spamc -y of {path.name}: {symbol}")
        equal(bool(ask("-r", input=message)), is_spam, f"spamc -r of {path.name}")
        report = ask("-R", input=message).decode()
        check("Content analysis details:" in report and symbol in report, f"spamc -R of {path.name}: {report}")
        # the header of the same message, and its body as it was
        equal(ask("--headers", input=message), expected, f"spamc --headers of {path.name}")
    check(any(verdicts) and not all(verdicts), "the inbox has spam and ham")
    equal(ask("-K", input=b"").split()[0], b"SPAMD/1.5", "spamc -K")

    new, changed, already = mail(1, "spamc"), "Message successfully un/learned\n", "Message was already un/learned\n"
    for arguments, expected in [
        (["-L", "spam"], changed), (["-L", "spam"], already), (["-L", "ham"], changed), (["-L", "forget"], changed),
        (["-L", "forget"], already), (["-L", "spam", "-u", "joe"], changed),
        # one model for all: the message is known already
        (["-L", "spam", "-u", "ann"], already),
    ]:
        equal(ask(*arguments, input=new).decode(), expected, f"spamc {' '.join(arguments)}")
    report = ask("-C", "report", input=new, expected=None).decode()
    revoke = ask("-C", "revoke", input=new, expected=None).decode()
    check(report and revoke, "spamc -C says what was done")
    # revoked: it is ham now
    equal(ask("-L", "ham", input=new).decode(), already, "spamc -L ham after -C revoke")
    equal(ask("-L", "forget", input=new).decode(), changed, "spamc -L forget at the end")

    # spamc gives the message back unchanged if there is no server, unless it is told not to
    server.stop()
    message = INBOX[0].read_bytes()
    equal(run([program, "-U", server.unix("spamd")], message), message, "spamc without a server")
    return f"{runs} runs of spamc; {len(INBOX)} mails, {sum(verdicts)} of them spam, equal to tamis score --passthrough"


def http():
    rspamc, curl = need("rspamc"), need("curl")
    password = "correct horse"
    hashed = run([TAMISD, "--hash-password"], password.encode()).decode().strip()
    settings = DOORS.replace("[http]\n", f'[http]\npassword = "{hashed}"\n')
    server = Tamisd(settings)
    address = f"127.0.0.1:{server.port('http')}"

    def ask(*arguments, input=b"", expected=0):
        return run([rspamc, "-h", address, *arguments], input, expected).decode(errors="replace")

    def post(path, message, *arguments, code="200", type="message/rfc822"):
        written = run([curl, "-sS", "-w", "\n%{http_code}", "-H", f"Content-Type: {type}", "--data-binary", "@-",
                       *arguments, f"http://{address}{path}"], message).decode()
        body, got = written.rsplit("\n", 1)
        equal(got, code, f"status of {path}: {body}")
        return json.loads(body, parse_float=str)

    for path in INBOX:
        message = path.read_bytes()
        expected = tamis_json(message, server.model)
        answers = [post("/v1/score", message), post("/v1/score", message, "-H", "Transfer-Encoding: chunked")]
        if message.isascii():
            posted = json.dumps({"mail": message.decode()}).encode()
            answers.append(post("/v1/score", posted, type="application/json"))
        for got in answers:
            for key in ["label", "probability", "log_odds"]:
                equal(got[key], expected[key], f"{key} of {path.name}")
        is_spam = expected["label"] == "spam"
        symbols = ask("symbols", input=message)
        equal("Spam: true" in symbols, is_spam, f"rspamc of {path.name}: {symbols}")
        equal("Action: add header" in symbols, is_spam, f"rspamc of {path.name}: {symbols}")
        check("Symbol: TAMIS_" in symbols, f"rspamc of {path.name}: {symbols}")
        annotated = run([rspamc, "-h", address, "--mime"], message)
        body = message.replace(b"\r\n", b"\n").split(b"\n\n", 1)[1].rstrip()
        check(annotated.replace(b"\r\n", b"\n").rstrip().endswith(body), f"rspamc --mime of {path.name} keeps the body")
        equal(b"X-Spam-Action: add header" in annotated, is_spam, f"rspamc --mime of {path.name}: {annotated}")

    new = mail(1, "rspamc")
    before = server.metrics()["tamis_model_documents"]
    # the status is rspamc's: some versions say failures in words alone
    check("success = true" not in ask("learn_spam", input=new, expected=None), "learning without the password")
    check("success = true" not in ask("-P", "wrong", "learn_spam", input=new, expected=None), "a wrong password")
    equal(server.metrics()["tamis_model_documents"], before, "documents after refused learning")
    learned = ask("-P", password, "learn_spam", input=new)
    check("success = true" in learned, f"rspamc learn_spam: {learned}")
    equal(server.metrics()["tamis_model_documents"], before + 1, "documents after learning")
    again = ask("-P", password, "learn_spam", input=new, expected=None)
    check("already" in again, f"rspamc learn_spam again: {again}")
    check("success = true" in ask("-P", password, "learn_ham", input=new), "rspamc learn_ham")
    stat = ask("-P", password, "stat")
    check(f"Total learns: {int(before) + 1}" in stat, f"rspamc stat: {stat}")
    post("/v1/forget", new, "-H", "Password: nobody", code="401")
    equal(post("/v1/forget", new, "-H", f"Password: {password}"), {"forgotten": True}, "/v1/forget")

    # many in one request, answers in the order of the lines
    texts = [path.read_text() for path in INBOX if path.read_bytes().isascii()] * 20
    lines = "".join(json.dumps({"id": n, "mail": text}) + "\n" for n, text in enumerate(texts))
    answered = run([curl, "-sS", "-T", "-", "-X", "POST", f"http://{address}/v1/label"], lines.encode()).decode()
    ids = [json.loads(line)["id"] for line in answered.splitlines()]
    equal(ids, list(range(len(texts))), "ids of /v1/label")
    server.stop()
    n_ham = len(list((MAIL / "ham").iterdir()))
    check(before > n_ham, "the model knows the example mail")
    return f"{len(INBOX)} mails by rspamc and curl equal to tamis score --json, {len(texts)} lines labelled, learned with a password alone"
