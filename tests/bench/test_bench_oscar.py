import sys
from pathlib import Path

import pytest

from bench.sources.oscar import loop, made_lines, ours, prepare, same


def test_ours_and_the_loop_make_the_same_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # prepare() adds the shelf
    lines = prepare(tmp_path, 20)
    assert 1_500 < sum(map(len, lines)) / len(lines) < 2_500
    assert lines == list(made_lines(20))
    rows, expected = ours(tmp_path, 0)[1], loop(tmp_path)[1]
    assert same(rows, expected, lines)
    assert not same(rows, expected, lines[1:])
