"""Taggers with splitters: Chinese, Japanese and Thai have words, spans are offsets in the text as it is."""

import re
from collections.abc import Iterable

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Spans, Tagger, TaggerFailed
from gristmill.recipes.word_splitting import with_splitters
from gristmill.taggers.gopher import GOPHER
from gristmill.taggers.measures.lengths import LENGTHS
from gristmill.taggers.quality.c4 import C4
from gristmill.taggers.quality.fineweb import FINEWEB
from gristmill.taggers.quality.madlad import MADLAD
from gristmill.taggers.quality.redpajama import REDPAJAMA
from gristmill.taggers.quality.redpajama_lines import REDPAJAMA_LINES
from gristmill.taggers.quality.refinedweb import REFINEDWEB

CHINESE, THAI = "我们去学校。\n我们回家", "เราไปโรงเรียน"


def pairs(line: str) -> Iterable[str]:
    """A splitter: two characters are a word, punctuation is left out."""
    return re.findall(r"\w\w?", line)


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(number), text=text, source="tales") for number, text in enumerate(texts)]


def spaced(text: str) -> str:
    """What the tagger sees: the slow, plain way."""
    return "\n".join(" ".join(re.findall(r"\w\w?|[^\w\s]+", line)) for line in text.split("\n"))


def test_words_of_a_language_with_a_splitter_are_counted_and_those_of_another_are_missing() -> None:
    tagger = with_splitters(LENGTHS, "lengths-words-1", {"zh": pairs}, version="pairs 1")
    labels = tagger.look(documents(CHINESE, THAI, "to be", "", "我们 abc def ghi"))
    # 我们 去学 校 。 我们 回家
    assert labels["words"] == [6.0, None, 2.0, 0.0, 4.0]
    assert labels["characters"] == [11.0, 13.0, 5.0, 0.0, 14.0]


def test_gopher_has_no_words_of_a_language_without_a_splitter() -> None:
    labels = with_splitters(GOPHER, "gopher-words-1", {}, version="none").look(documents(CHINESE, "to be"))
    assert {name for name, (value, _) in labels.items() if value is None} == {
        label.name for label in GOPHER.labels or () if label.words
    }
    assert GOPHER.look(documents("to be")) == {name: [value] for name, (_, value) in labels.items()}


def test_spans_are_offsets_in_the_text_as_it_is() -> None:
    tagger = with_splitters(C4, "c4-words-1", {"zh": pairs}, version="pairs 1")
    labels = tagger.look(documents(CHINESE))
    assert labels["lines_with_too_few_words"] == [[Span(7, 11, 1)]]  # 我们 回家 are two words, the first line has four
    assert C4.look(documents(CHINESE))["lines_with_too_few_words"] == [[Span(0, 7, 1), Span(7, 11, 1)]]


@settings(max_examples=draws(80))
@given(st.lists(st.text("我们去学校回家いろは。 a\n", max_size=40), max_size=5))
def test_labels_about_words_are_those_of_the_text_with_spaces(texts: list[str]) -> None:
    words = Tagger(
        name="words-1",
        document=lambda document: {
            "count": float(len(document.text.split())),
            "each": [Span(found.start(), found.end(), 1.0) for found in re.finditer(r"\S+", document.text)],
            "length": float(len(document.text)),
        },
        labels=(Score("count", "words", words=True), Spans("each", "words", words=True), Score("length", "length")),
    )
    batch = documents(*texts)
    found = with_splitters(words, "words-2", {"zh": pairs, "ja": pairs}, version="1").look(batch)
    for number, document in enumerate(batch):
        text = document.text
        dark = [character for character in text if not character.isspace()]
        wide = 2 * sum(character != "a" for character in dark) > len(dark)
        expected = (spaced(text) if wide else text).split()
        assert found["length"][number] == len(text)
        assert found["count"][number] == len(expected)
        spans = found["each"][number]
        assert isinstance(spans, list)
        assert [text[span.start : span.end] for span in spans] == expected


@pytest.mark.parametrize(
    "tagger", [GOPHER, LENGTHS, C4, FINEWEB, MADLAD, REDPAJAMA, REDPAJAMA_LINES, REFINEDWEB], ids=lambda each: each.name
)
def test_each_tagger_of_words_takes_splitters(tagger: Tagger) -> None:
    split = with_splitters(tagger, "split-1", {"zh": pairs}, version="pairs 1")
    plain = tagger.look(documents("Plain words of a text.\nTwo lines.", spaced(CHINESE).replace("。", ".")))
    with_chinese = split.look(documents("Plain words of a text.\nTwo lines.", CHINESE))
    about_words = {label.name for label in tagger.labels or () if label.words}
    assert about_words
    assert {name: values[0] for name, values in plain.items()} == {n: v[0] for n, v in with_chinese.items()}
    assert all(with_chinese[name][1] is not None for name in about_words - {"list_ratio"} if "gram" not in name)


def test_a_splitter_that_invents_a_word_is_named_with_its_document() -> None:
    tagger = with_splitters(LENGTHS, "lengths-words-1", {"zh": lambda _: ["家"]}, version="home 1")
    with pytest.raises(TaggerFailed, match="'家', which does not follow in its line at 0") as failed:
        tagger.columns(Batch(documents("to be", "回家", "去学校")))
    assert failed.value.number == 2


def test_a_text_that_fails_the_tagger_with_its_spaces_is_named() -> None:
    def look(document: Document) -> dict[str, float]:
        if "去 学" in document.text:
            raise ValueError("no school")
        return {"words": 1.0}

    tagger = Tagger(name="school-1", document=look, labels=(Score("words", "words", words=True),))
    split = with_splitters(tagger, "school-2", {"zh": list}, version="characters 1")
    with pytest.raises(TaggerFailed, match="no school") as failed:
        split.columns(documents("回家", "to be", "去学校"))
    assert failed.value.number == 2


def test_what_splitters_cannot_change_or_know_is_refused() -> None:
    plain = Tagger(name="plain-1", document=lambda _: {}, labels=(Score("share", "a share", optional=True),))
    with pytest.raises(RecipeError, match="plain-1 declares no label with words=True"):
        with_splitters(plain, "plain-2", {}, version="1")
    with pytest.raises(RecipeError, match="'cn' is no language without spaces"):
        with_splitters(LENGTHS, "lengths-2", {"cn": list}, version="1")
    with pytest.raises(RecipeError, match="give version="):
        with_splitters(LENGTHS, "lengths-2", {"zh": list}, version=" ")


def test_the_recipe_names_the_splitters() -> None:
    recipe = with_splitters(LENGTHS, "lengths-2", {"zh": list, "ja": list}, version="characters 1").recipe
    assert (recipe.parameters["splitters"], recipe.parameters["splitters_version"]) == (["ja", "zh"], "characters 1")
