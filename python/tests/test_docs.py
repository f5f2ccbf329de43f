"""The examples in docstrings and guides run and print what they say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from conftest import ROOT

import tamis

# each with the least number of its blocks
GUIDES = {ROOT / "docs" / "guide" / "python.md": 2, ROOT / "python" / "README.md": 2, ROOT / "README.md": 1}


@pytest.mark.parametrize("name", ["Counter", "Explanation", "Filter", "Learner", "Score", "Scores", "Table"])
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
