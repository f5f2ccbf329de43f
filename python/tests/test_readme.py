"""The code of README.md runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def test_its_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, README.name, "exec"), names)  # noqa: S102
    assert capsys.readouterr().out.startswith("['money'] [[")
