"""Folders of documents as people have them, against the same documents as plain text.

    python3 benches/documents/mixed.py TAMIS NEWSGROUPS [WORK]

NEWSGROUPS is 20newsgroups-bydate. Of four of its topics, 50 texts each are learned and 50 labelled (without their header fields):
once as plain text, once each in one of fifteen formats, made by pandoc and LibreOffice (`soffice`). Prints how many are right when
a model of plain text labels the mixed folder, and one of the mixed folder labels plain text. WORK keeps what was made.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.message import EmailMessage
from html import escape
from pathlib import Path

TOPICS = ["rec.autos", "sci.med", "sci.space", "talk.politics.guns"]
PANDOC = ["docx", "odt", "epub", "rtf", "pptx", "ipynb"]
OFFICE = ["pdf", "docx", "odt", "rtf"]
# how often each kind comes in a row of them: a third PDF, a fifth DOCX
ORDER = ["pdf", "office-docx", "html", "pdf", "odt", "txt", "pdf", "docx", "rtf", "epub", "pptx", "pdf", "office-odt", "xlsx", "utf-16",
         "pdf", "office-docx", "office-rtf", "zip", "mht", "pdf", "ods", "ipynb"]


def texts(folder, n):
    """Texts of a topic without header fields, in plain characters."""
    found = []
    for path in sorted(folder.iterdir(), key=lambda path: int(path.name)):
        body = path.read_bytes().decode("latin-1").partition("\n\n")[2]
        body = re.sub(r"[^\x20-\x7e\n]", " ", body).strip()
        if len(body.split()) >= 30:
            found.append((path.name, body))
    return found[:n]


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], check=True, capture_output=True, **options)


def by_pandoc(text, target):
    paragraphs = "".join(f"<p>{escape(part)}</p>\n" for part in re.split(r"\n\s*\n", text))
    run("pandoc", "-f", "html", "-o", target, "--metadata", "title=x", input=paragraphs.encode())


def by_office(jobs, work):
    """All texts of one format by one start of LibreOffice, which takes as long as hundreds of texts."""
    for kind in sorted({kind for kind, *_ in jobs}):
        source, made = work / f"{kind}-in", work / f"{kind}-out"
        source.mkdir(parents=True)
        for number, (_, text, _) in enumerate(job for job in jobs if job[0] == kind):
            comma = "\n".join('"' + line.replace('"', '""') + '"' for line in text.split("\n"))
            table = kind in ("xlsx", "ods")
            (source / f"{number}.{'csv' if table else 'txt'}").write_text(comma if table else text)
        files = sorted(source.iterdir())
        run("soffice", f"-env:UserInstallation=file://{work}/profile", "--headless", "--convert-to", kind, "--outdir", made, *files)
        for number, (_, _, target) in enumerate(job for job in jobs if job[0] == kind):
            shutil.move(made / f"{number}.{kind}", target)


def mixed(documents, folder, work):
    jobs = []
    for number, (topic, name, text) in enumerate(documents):
        kind = ORDER[number % len(ORDER)]
        target = folder / topic / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == "txt":
            target.with_suffix(".txt").write_text(text)
        elif kind == "utf-16":
            target.with_suffix(".txt").write_text(text, encoding="utf-16")
        elif kind == "html":
            target.with_suffix(".html").write_text(f"<html><body><pre>{escape(text)}</pre></body></html>")
        elif kind == "zip":
            with zipfile.ZipFile(target.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("text.txt", text)
        elif kind == "mht":
            page = EmailMessage()
            page["From"], page["Subject"], page["Date"] = "<Saved by a browser>", "page", "Mon, 2 Mar 2026 10:00:00 +0000"
            page.set_content(f"<html><body><pre>{escape(text)}</pre></body></html>", subtype="html", cte="base64")
            page.make_mixed()
            target.with_suffix(".mht").write_bytes(bytes(page))
        elif kind in PANDOC and not kind.startswith("office"):
            by_pandoc(text, target.with_suffix(f".{kind}"))
        else:
            ending = kind.removeprefix("office-")
            jobs.append((ending, text, target.with_suffix(f".{ending}")))
    by_office(jobs, work)


def plain(documents, folder):
    for topic, name, text in documents:
        (folder / topic).mkdir(parents=True, exist_ok=True)
        (folder / topic / f"{name}.txt").write_text(text)


def right(tamis, model, folder):
    done = subprocess.run([tamis, "label", "-m", model, "--format", "tsv", folder], capture_output=True, text=True, check=False)
    rows = [line.split("\t")[:2] for line in done.stdout.splitlines()[1:]]
    # an archive has one document here
    labels = {path: label for path, label in rows}
    print(f"    {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}")
    return sum(Path(path).relative_to(folder).parts[0] == label for path, label in labels.items())


def main():
    tamis, corpus = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    work = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else Path(tempfile.mkdtemp())
    for part, others in ("train", "train"), ("test", "test"):
        documents = [(topic, *of) for topic in TOPICS for of in texts(corpus / others / topic, 50)]
        # topics in turn, so that each has every format
        documents = [documents[i * 50 + j] for j in range(50) for i in range(4)]
        if not (work / f"{part}-plain").exists():
            plain(documents, work / f"{part}-plain")
            mixed(documents, work / f"{part}-mixed", work / f"{part}-made")
    for how in "plain", "mixed":
        model = work / f"{how}.tamis"
        done = subprocess.run([tamis, "train", "--replace", "-m", model, work / f"train-{how}"], capture_output=True, text=True, check=True)
        print(f"trained on {how}: {done.stdout.splitlines()[0]}")
        for what in "plain", "mixed":
            print(f"  labelled {what}: {right(tamis, model, work / f'test-{what}')} of 200")


if __name__ == "__main__":
    main()
