"""What reaches fastText of a text, and what a tagger of a model gives."""

from pathlib import Path
from typing import cast

import fasttext
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.models.fasttext import PREFIX, fasttext_tagger, line_of, load_classifier, probabilities

CALM = "__label__calm the garden is green\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.bin"
    path.with_suffix(".txt").write_text("__label__rude you stupid fool\n__label__calm the garden is green\n" * 50)
    options = {"dim": 4, "epoch": 20, "bucket": 1000, "thread": 1, "verbose": 0}
    fasttext.train_supervised(str(path.with_suffix(".txt")), **options).save_model(str(path))
    return path


@given(st.text(st.sampled_from("\n\r\0 a</s>_\ud800é") | st.characters(), max_size=30) | st.just(CALM))
def test_a_text_neither_ends_its_line_nor_names_a_label(text: str) -> None:
    line = line_of(text + f"{PREFIX}x </s>")
    line.encode()
    words = line.split(" ")
    assert "\n" not in line
    assert "</s>" not in words
    assert not any(word.startswith(PREFIX) for word in words)


def test_what_stands_behind_an_end_of_line_counts_too(file: Path) -> None:
    model = load_classifier(file, "m")
    plain, hidden = probabilities(
        model, ["the garden is green you stupid fool", "the garden is green </s> you stupid fool"]
    )
    assert hidden["rude"] == pytest.approx(plain["rude"], abs=0.2)
    assert probabilities(model, []) == []


def test_a_tagger_of_a_model_gives_the_declared_labels(file: Path) -> None:
    tagger = fasttext_tagger("rude-1", model="rude-7", labels=("rude",))
    texts = ["stupid fool", "green garden", "", "\ud800\0\n", "unknown words only"]
    documents = [Document(id=str(number), text=text, source="s") for number, text in enumerate(texts)]
    with pytest.raises(RecipeError, match="it reads rude-7"):
        tagger.look(documents)
    scores = cast("list[float]", tagger.opened({"rude-7": file}).look(documents)["rude"])
    assert (scores[0] > 0.9, scores[1] < 0.1) == (True, True)
    assert all(0 <= score <= 1 for score in scores)
    alone = [tagger.opened({"rude-7": file}).look([each])["rude"][0] for each in documents]
    assert alone == scores
    assert tagger.recipe.parameters["models"] == ["rude-7"]


def test_a_label_that_the_model_has_not_is_told(file: Path) -> None:
    tagger = fasttext_tagger("rude-1", model="rude-7", labels=("mean",))
    with pytest.raises(RecipeError, match=r"has no label 'mean'; it has (rude, calm|calm, rude)"):
        tagger.opened({"rude-7": file})


def test_a_damaged_file_is_refused_before_the_library_reads_it(file: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.bin").write_bytes(file.read_bytes()[:-3])
    with pytest.raises(RecipeError, match="cut is no valid fastText classifier"):
        load_classifier(tmp_path / "cut.bin", "cut")
