import os
from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document, Span
from gristmill.taggers.lists.words import LDNOOBW, word_list


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(n), text=text, source="s") for n, text in enumerate(texts)]


def test_hits_counts_and_shares(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("darn\nheck\n")
    (tmp_path / "de.txt").write_text("mist\nheck\n")
    tagger = word_list("rude-1", models=("rude-words-1",)).opened({"rude-words-1": tmp_path})
    labels = tagger.look(documents("Darn! heck, 😀 darn", "mist", "", "fine"))
    assert labels == {
        "hits": [[Span(0, 4, 1.0), Span(6, 10, 1.0), Span(14, 18, 1.0)], [Span(0, 4, 1.0)], [], []],
        "count": [3.0, 1.0, 0.0, 0.0],
        "share": [12 / 18, 1.0, None, 0.0],
        "count_de": [1.0, 1.0, None, None],
        "count_en": [3.0, None, None, None],
    }


def test_only_named_languages_are_read(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("darn")
    (tmp_path / "de").write_text("mist")
    tagger = word_list("rude-1", models=("rude-words-1",), languages=("de",)).opened({"rude-words-1": tmp_path})
    assert tagger.look(documents("darn mist"))["count"] == [1.0]


def test_patterns_of_a_team(tmp_path: Path) -> None:
    path = tmp_path / "patterns.txt"
    path.write_text("d[a4]rn\n(a+)+b\n")
    tagger = word_list("rude-1", models=("rude-patterns-1",), patterns=True)
    labels = tagger.opened({"rude-patterns-1": path}).look(documents("é D4RN", "a" * 10_000))
    assert labels["hits"] == [[Span(2, 6, 1.0)], []]
    path.write_text("fine\n(?=a)\n")
    with pytest.raises(RecipeError, match=r"patterns\.txt:2: '\(\?=a\)' is no pattern"):
        tagger.opened({"rude-patterns-1": path})


def test_ldnoobw_is_read_from_its_archive() -> None:
    sample = os.environ.get("GRISTMILL_SAMPLE_DATA")
    if not sample:
        pytest.skip("GRISTMILL_SAMPLE_DATA names no sample data")
    tagger = LDNOOBW.opened({"ldnoobw-1": Path(sample) / "labels" / "toxicity" / "ldnoobw.tar.gz"})
    labels = tagger.look(documents("この馬鹿者、ポルノ", "A class on Essex", "Scheiße, SCHEISSE, shit!"))
    assert labels["count"] == [1.0, 0.0, 2.0]
    assert labels["count_de"] == [None, None, 1.0]
