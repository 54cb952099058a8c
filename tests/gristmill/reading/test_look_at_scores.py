"""The page docs/how-to/look-at-scores.md: its lines for notebooks run on a lake, where their packages are installed."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from testkit import Mill

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "look-at-scores.md").read_text()
OURS = (
    ("packages/v1", "pages/v1"), ('"packages"', '"pages"'), ('"starter"', '"even"'), ("starter-bpe-1", "tiny-1"),
    ('avg("gopher-1__word_count")', 'count("words-1__count")'),  # this label is not declared, so it is read as spans
    ("gopher-1__word_count", "words-1__count"), ("gopher-1", "words-1"),
)  # fmt: skip
"""The names of the demo's lake, and those of the lake that the tests have."""


def test_the_lines_for_notebooks_run(
    read_mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(read_mill.root.parent)
    names: dict[str, object] = {}
    ran: list[str] = []
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for number, block in enumerate(blocks):
        package = next((name for name in ("datasets", "pandas", "polars") if name in block), "duckdb")
        if find_spec(package) is None:
            continue
        for theirs, ours in OURS:
            block = block.replace(theirs, ours)  # noqa: PLW2901 - the same block
        exec(compile(block, f"docs/how-to/look-at-scores.md, block {number}", "exec"), names)
        ran.append(package)
    assert len(blocks) == 5
    assert ran[:2] == ["duckdb", "duckdb"]
    assert "count(" in capsys.readouterr().out
