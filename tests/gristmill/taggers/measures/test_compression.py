import pytest
import zstandard

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.taggers.measures import compression
from gristmill.taggers.measures.compression import COMPRESSION
from gristmill.text.characters import stretches


def ratio(text: str) -> object:
    return COMPRESSION.look([Document(id="a", text=text, source="s")])["ratio"][0]


def test_the_ratio_is_compressed_bytes_by_bytes() -> None:
    text = "Zwölf Mühlen mahlen " * 9
    size = len(zstandard.ZstdCompressor(level=3).compress(text.encode()))
    assert ratio(text) == size / len(text.encode())
    assert ratio("") is None
    assert ratio("\ud800" * 50) == pytest.approx(0.1, abs=0.05)


def test_a_huge_text_is_compressed_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "split_into_stretches", lambda text: stretches.split_into_stretches(text, 40))
    pack = zstandard.ZstdCompressor(level=3).compress
    text = "all work and no play makes Jack a dull boy " * 2
    assert ratio(text) == sum(len(pack(text[at : at + 40].encode())) for at in range(0, len(text), 40)) / len(text)


def test_another_release_that_packs_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_KNOWN_SIZE", 1)
    compression.compressor.cache_clear()
    with pytest.raises(RecipeError, match="not 1; install the release"):
        compression.compressor()
    compression.compressor.cache_clear()
