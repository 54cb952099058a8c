from pathlib import Path

import pytest
from testkit import Mill
from wholelake import WORDS

from gristmill.__main__ import main
from gristmill.lake.ledger.derived import examples_path

SHELF = ["--shelves", "gristmill,testshelf"]


def test_a_page_is_written_and_read_shards_are_kept(
    whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["report", str(whole.root), "pages/v0", "words-1", *SHELF]
    assert main(command) == 0
    assert capsys.readouterr().out == "words-1-2024.html: 3 labels of 40 rows; 2 shards were read\n"
    page = (tmp_path / "words-1-2024.html").read_text()
    assert "<h1>sources/pages/v0/attributes/words-1 (2024)</h1>" in page
    assert page.count("<svg ") == 3
    assert whole.store.head(examples_path(WORDS))
    assert main([*command, "--output", "again.html"]) == 0
    assert capsys.readouterr().out == "again.html: 3 labels of 40 rows; 0 shards were read\n"
    assert (tmp_path / "again.html").read_text() == page


def test_what_is_not_there_is_told(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (["pages/v0", "word-1"], "did you mean 'sources/pages/v0/attributes/words-1'"),
        (["pages/v0", "words-1", "--snapshot", "2025"], "snapshot 2025 is not finished; finished: 2024"),
    ):
        assert main(["report", str(whole.root), *words, *SHELF]) == 2
        assert message in capsys.readouterr().err
    assert main(["report", "words-1", *SHELF]) == 2
    assert "name documents and a set" in capsys.readouterr().err
