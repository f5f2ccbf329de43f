"""The examples in docstrings and guides run and print what they say."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT, run

import tamis

# each with the least number of its blocks
GUIDES = {ROOT / "docs" / "guide" / "python.md": 2, ROOT / "python" / "README.md": 2, ROOT / "README.md": 1}


@pytest.mark.parametrize("name", ["Counter", "Explanation", "Filter", "Learner", "Score", "Scores", "Table", "file_text"])
def test_examples_of_docstrings(name: str) -> None:
    tests = doctest.DocTestFinder(recurse=False).find(getattr(tamis, name), name, globs={})
    assert [len(test.examples) > 1 for test in tests] == [True]
    assert doctest.DocTestRunner().run(tests[0]).failed == 0


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_of_guides(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", guide.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= GUIDES[guide]
    for folder in ("corpora", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, guide.name, str(guide), 0)
    assert len(examples.examples) > 3
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples).failed == 0


def test_parquet_becomes_json_lines_for_the_program(
    tamis_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("polars")
    rows = {"body": ["iron", "apples", "tin, iron", None], "queue": [["metal"], ["fruit", "food"], ["metal"], []], "n": [1, 2.5, None, 4]}
    guide = (ROOT / "docs" / "guide" / "analyst.md").read_text()
    polars, duckdb, train = re.search(r"```text\n(\$ python3 .*polars.*)\n(\$ duckdb .*)\n(\$ tamis .*)\n```", guide).groups()
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table(rows), "tickets.parquet", compression="zstd")
    python, *arguments = shlex.split(polars.removeprefix("$ "))
    assert python == "python3"
    run(Path(sys.executable), *arguments)
    lines = [json.loads(line) for line in Path("tickets.jsonl").read_text().splitlines()]
    assert lines == [dict(zip(rows, row)) for row in zip(*rows.values())]
    program, *arguments = shlex.split(train.removeprefix("$ "))
    assert program == "tamis"
    run(tamis_program, *arguments, "--labels", "many")
    assert tamis.Filter.open("tickets.tamis").labels == ["food", "fruit", "metal"]
    if shutil.which("duckdb"):
        Path("tickets.jsonl").unlink()
        duckdb, *arguments = shlex.split(duckdb.removeprefix("$ "))
        run(Path(shutil.which(duckdb)), *arguments)
        assert [json.loads(line) for line in Path("tickets.jsonl").read_text().splitlines()] == lines


def test_every_method_says_what_it_does() -> None:
    for name in tamis.__all__:
        value = getattr(tamis, name)
        if not isinstance(value, type):
            continue
        assert value.__doc__, name
        for attribute, member in vars(value).items():
            if callable(member) and not attribute.startswith("_"):
                assert member.__doc__, f"{name}.{attribute}"


def test_what_is_installed_from_source_is_linked_fast_and_wheels_are_optimised() -> None:
    tomllib = pytest.importorskip("tomllib")
    project, crate = (
        tomllib.loads((ROOT / "python" / name).read_text()) for name in ("pyproject.toml", "Cargo.toml")
    )
    assert crate["profile"][project["tool"]["maturin"]["profile"]]["lto"] is False
    assert crate["profile"]["release"]["lto"] == "thin"
    assert "--profile release" in (ROOT / ".ci" / "wheels").read_text()
    assert "minutes" in (ROOT / "python" / "README.md").read_text()
