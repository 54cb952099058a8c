import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scriptrows import PARTS, SAMPLES, all_texts, edge_texts, short_texts

from gristmill.formats.fasttext.lid176 import MODEL, languages_of, model
from gristmill.lake.rows.document import Document
from gristmill.taggers.language import LANGUAGE, tag

ENGLISH = "All human beings are born free and equal in dignity and rights. They are endowed with reason.\n"


def languages(text: str) -> dict[str, float]:
    """The labels of one text, whose order is lost, as a batch gives them."""
    (found,) = languages_of([text])
    labels = tag([Document(id="0", text=text, source="t")])
    assert {code: scores.tolist() for code, scores in labels.items()} == {
        code: [probability] for code, probability in found
    }
    return dict(found)


def likeliest(text: str) -> str:
    found = languages(text)
    return max(found, key=lambda code: found[code])


def by_engine(text: str) -> list[tuple[str, float]]:
    """What fastText says of one text: the tagger as it was before it computed batches."""
    line = text[:65_536].replace("\n", " ").replace("\0", " ").encode("utf-8", "replace").decode()
    if not line.strip():
        return []
    found = engine().predict(line, k=3, threshold=0.01)
    return [
        (code.removeprefix("__label__"), min(round(float(score), 5), 1.0)) for code, score in zip(*found, strict=True)
    ]


@cache
def engine() -> Any:
    import fasttext

    return fasttext.load_model(str(MODEL))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", ENGLISH),
        ("de", "Alle Menschen sind frei und gleich an Würde und Rechten geboren.\nSie sind mit Vernunft begabt."),
        ("fr", "Tous les êtres humains naissent libres et égaux en dignité et en droits."),
        ("ru", "Все люди рождаются свободными и равными в своём достоинстве и правах."),  # noqa: RUF001 - Russian is meant
        ("zh", "人人生而自由，在尊严和权利上一律平等。"),  # noqa: RUF001 - Chinese is meant
        ("ja", "すべての人間は、生まれながらにして自由である。"),
    ],
)
def test_a_text_is_tagged_with_its_language(code: str, text: str) -> None:
    assert likeliest(text) == code


def test_a_probability_is_a_rounded_number_up_to_one() -> None:
    found = languages(ENGLISH)
    assert 1 <= len(found) <= 3
    for probability in found.values():
        assert isinstance(probability, float)
        assert 0.01 <= probability <= 1.0
        assert probability == round(probability, 5)


@pytest.mark.parametrize("text", ["", " ", "\n\t\n", "\0", "\0\n\0"])
def test_a_document_without_a_word_has_no_label(text: str) -> None:
    assert languages(text) == {}


def test_line_feeds_and_nuls_part_words() -> None:
    assert languages("free\nand\0equal") == languages("free and equal")


def test_a_lone_surrogate_is_no_error() -> None:
    assert likeliest("\ud800 " + ENGLISH) == "en"


def test_only_the_beginning_of_a_very_long_document_is_looked_at() -> None:
    beginning = (ENGLISH * 1000)[:65_536]
    assert languages(beginning + "人" * 1_000_000) == languages(beginning)


def test_a_batch_has_the_labels_of_its_documents() -> None:
    texts = [ENGLISH, "", "人人生而自由", ENGLISH, "\ud800"]
    labels = LANGUAGE.look([Document(id=text, text=text, source="t") for text in texts])
    for place, text in enumerate(texts):
        assert {code: values[place] for code, values in labels.items() if values[place] is not None} == languages(text)


def test_labels_and_scores_are_those_of_fasttext_on_texts_by_hand() -> None:
    long = [ENGLISH * 900, "é" * 70_000, "人" * 65_535 + "👪 \ud800", "x" * 1_000_000, " " * 65_536 + "end"]
    ends = [
        "</s>",
        "a </s> b",
        "a </s>b",
        "__label__en free",
        "__label__ __label__x",
        "free</s> __label",
        "\x1c\x85 \xa0",
    ]
    texts = [*edge_texts(), *long, *ends]
    assert languages_of(texts) == [by_engine(text) for text in texts]


@pytest.mark.slow
@pytest.mark.skipif(SAMPLES not in os.environ, reason="no sample data")
def test_labels_and_scores_are_those_of_fasttext_on_texts_in_all_scripts() -> None:
    sample = Path(os.environ[SAMPLES])
    texts = [*short_texts(sample), *PARTS["udhr"](sample)]  # the declarations in 500 languages, uncut
    assert len(texts) > 20_000
    assert languages_of(texts) == [by_engine(text) for text in texts]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.skipif(SAMPLES not in os.environ, reason="no sample data")
def test_labels_and_scores_are_those_of_fasttext_on_all_sample_data() -> None:
    for text in all_texts(Path(os.environ[SAMPLES])):
        assert languages_of([text]) == [by_engine(text)]


def test_every_language_of_the_model_is_declared_and_no_other() -> None:
    known = set(model().labels)
    assert set(LANGUAGE.declared or ()) == known
    assert len(known) == 176
