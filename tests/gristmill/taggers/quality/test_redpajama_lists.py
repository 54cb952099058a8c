"""The signals that need lists, against the definition in plain Python."""

import re
import string
import unicodedata
from pathlib import Path

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.taggers.quality.redpajama_lists import REDPAJAMA_LISTS, open_lists

BAD = ("rot", "rot ab", "ab rot ab", "été", "zü", "A", "rot-ab")
STOP = ("the", "rot", "été", "...", "it's", "Ab")


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("lists")
    for name, words in (("ldnoobw-1", BAD), ("stop-words-1", STOP)):
        (folder / name).mkdir()
        (folder / name / "en").write_text("\n".join(words) + "\n\n", "utf-8")
    return {name: folder / name for name in ("ldnoobw-1", "stop-words-1")}


def plain(text: str) -> tuple[float, float]:
    """RedPajama's two signals, as their definition says."""
    bare = text.translate(str.maketrans("", "", string.punctuation)).lower().strip()
    words = unicodedata.normalize("NFD", " ".join(bare.split())).split()
    grams = [" ".join(words[at : at + n]) for n in (1, 2, 3) for at in range(len(words) - n + 1)]
    tokens = re.findall(r"\w+|[^\w\s]+", text)
    share = sum(token in STOP for token in tokens) / len(tokens) if words else 0.0
    return float(sum(gram in BAD for gram in grams)), round(share, 8)


@settings(max_examples=draws(60))
@given(
    texts=st.lists(
        st.lists(
            st.sampled_from(["rot", "ab", "Ab", "the", "été", "zü", "...", "Rot-ab", "\n", "it's", "😀"]), max_size=9
        ),
        max_size=4,
    )
)
def test_both_signals_are_those_of_the_definition(lists: dict[str, Path], texts: list[list[str]]) -> None:
    batch = Batch([Document(id=str(n), text=" ".join(words), source="tales") for n, words in enumerate(texts)])
    labels = REDPAJAMA_LISTS.opened(lists).look(batch)
    if texts:
        found = list(zip(labels["rps_doc_ldnoobw_words"], labels["rps_doc_stop_word_fraction"], strict=True))
        assert found == [plain(text) for text in batch.texts]


def test_phrases_overlap_and_a_text_without_spaces_has_no_words(lists: dict[str, Path]) -> None:
    batch = Batch([Document(id=text, text=text, source="tales") for text in ("ab rot ab rot", "去学校")])
    labels = REDPAJAMA_LISTS.opened(lists).look(batch)
    assert labels["rps_doc_ldnoobw_words"] == [4.0, None]  # rot twice, `rot ab`, `ab rot ab`
    assert labels["rps_doc_stop_word_fraction"] == [0.5, None]


def test_a_list_without_the_language_is_an_error(lists: dict[str, Path]) -> None:
    with pytest.raises(RecipeError, match="has no file for de"):
        open_lists(lists["ldnoobw-1"], lists["stop-words-1"], "de")
