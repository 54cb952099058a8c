"""The page docs/how-to/read.md: each of its examples runs on a lake, in order."""

import re
from pathlib import Path

import pytest
from testkit import SHELVES, Mill

from gristmill import api
from gristmill.reading.opened_lake import OpenedLake

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "read.md").read_text()
OURS = (
    ("packages/v1", "pages/v1"), ('"packages"', '"pages"'), ('"starter"', '"even"'), ("starter-bpe-1", "tiny-1"),
    ("gopher-1__symbols", "words-1__silent"), ("gopher-1__words", "words-1__count"),
    ("gopher-1__lines", "words-1__first"),
 ("gopher-1", "words-1"),
)  # fmt: skip
"""The names of the demo's lake, and those of the lake that the tests have."""


def test_the_examples_run(read_mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(read_mill.root.parent)
    names: dict[str, object] = {}
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)):
        for theirs, ours in OURS:
            block = block.replace(theirs, ours)  # noqa: PLW2901 - the same block
        exec(compile(block, f"docs/how-to/read.md, block {number}", "exec"), names)
    said = capsys.readouterr().out
    assert "sources/pages/v1/documents                2024           2    16" in said
    assert "number: int64" in said
    assert "words: double" in said
    assert "doc-00004 2024 [" in said
    assert isinstance(names["lake"], OpenedLake)


def test_the_messages_of_the_page_are_those_of_the_code() -> None:
    code = "\n".join(path.read_text() for path in Path(api.__file__).parent.rglob("*.py"))
    flat = re.sub(r'"\s+f?"', "", code)
    for words in (
        "is not finished; make it, or name the snapshots that are",
        "is being made, or the run that made it has died",
        "was made from another version of these documents",
        "not the object that its ledger names",
        "is read as one score",
    ):
        assert words in PAGE
        assert words in flat
    assert SHELVES
