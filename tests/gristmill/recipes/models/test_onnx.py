"""Small models by hand: a word's row has its logits, and a text has their mean."""

from math import exp
from pathlib import Path
from typing import Any

import pytest
from onnxfile import classifier
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.models.onnx import onnx_tagger
from gristmill.recipes.tagger import Tagger

TABLE = [[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]  # of ?, mill, rude, and [CLS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(classifier(TABLE))
    write_tokenizer(tmp_path)
    return tmp_path


def write_tokenizer(folder: Path, *, starts: bool = False) -> None:
    tokenizer = Tokenizer(models.WordLevel({"?": 0, "mill": 1, "rude": 2, "[CLS]": 3}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if starts:
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 3)])
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))


def opened(folder: Path, **options: Any) -> Tagger:
    return onnx_tagger("manner-1", "manner-1", ("calm", "rude"), **options).opened({"manner-1": folder})


def scores(tagger: Tagger, *texts: str) -> list[list[Any]]:
    documents = [Document(id=str(number), text=text, source="tales") for number, text in enumerate(texts)]
    found = tagger.look(documents)
    return [list(row) for row in zip(found["calm"], found["rude"], strict=True)]


def test_numbers_are_the_means_of_the_words(folder: Path) -> None:
    tagger = opened(folder, output="number")
    assert scores(tagger, "mill", "mill mill rude ?", "rude\n") == [[2.0, 0.0], [1.0, 1.0], [0.0, 4.0]]


def test_probabilities_of_labels_that_exclude_each_other_have_the_sum_1(folder: Path) -> None:
    assert scores(opened(folder), "mill") == [[round(exp(2) / (exp(2) + 1), 5), round(1 / (exp(2) + 1), 5)]]


def test_probabilities_of_independent_labels(folder: Path) -> None:
    assert scores(opened(folder, output="sigmoid"), "rude") == [[0.5, round(1 / (1 + exp(-4)), 5)]]


def test_a_text_is_cut_to_its_first_tokens(folder: Path) -> None:
    assert scores(opened(folder, output="number", max_tokens=2), "mill mill rude rude") == [[2.0, 0.0]]


def test_tokens_that_the_tokenizer_adds_are_counted(folder: Path) -> None:
    write_tokenizer(folder, starts=True)
    assert scores(opened(folder, output="number", max_tokens=2), "mill mill", "") == [[1.0, 0.0], [0.0, 0.0]]


def test_a_text_without_tokens_has_no_score_and_a_lone_surrogate_is_a_question_mark(folder: Path) -> None:
    assert scores(opened(folder, output="number"), " ", "\ud800") == [[None, None], [0.0, 0.0]]


def test_a_document_has_the_same_scores_alone_and_among_others(folder: Path) -> None:
    tagger, texts = opened(folder), ["mill", "rude " * 300, "mill rude ?", ""]
    assert scores(tagger, *texts) == [scores(tagger, text)[0] for text in texts]


def test_masks_are_given_if_the_model_takes_them(folder: Path) -> None:
    names = ("input_ids", "attention_mask", "token_type_ids")
    (folder / "model.onnx").write_bytes(classifier(TABLE, inputs=names))
    assert scores(opened(folder, output="number"), "mill") == [[2.0, 0.0]]


@pytest.mark.parametrize("inputs", [("pixels",), ("input_ids", "pixels"), ("attention_mask",)])
def test_a_model_with_other_inputs_is_refused(folder: Path, inputs: tuple[str, ...]) -> None:
    (folder / "model.onnx").write_bytes(classifier(TABLE, inputs=inputs))
    with pytest.raises(RecipeError, match=f"takes {', '.join(inputs)}; a classifier of texts takes input_ids"):
        opened(folder)


def test_another_number_of_labels_is_named(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(classifier([[1.0], [2.0], [3.0], [4.0]]))
    with pytest.raises(DataError, match="gives 1 numbers for a text, but labels= names 2"):
        scores(opened(folder), "mill")


def test_a_token_that_the_model_has_no_row_for_is_an_error(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(classifier(TABLE[:2]))
    with pytest.raises(DataError, match="model 'manner-1': cannot be run for 1 tokens"):
        scores(opened(folder), "rude")


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_missing_or_damaged_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes((folder / file).read_bytes()[:-9])
    with pytest.raises(RecipeError, match=rf"model 'manner-1'.*{file}"):
        opened(folder)
    (folder / file).unlink()
    with pytest.raises(RecipeError, match=f"has no file {file}"):
        opened(folder)


def test_a_file_outside_of_the_folder_is_not_read(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(classifier(TABLE, outside="../table.bin"))
    with pytest.raises(RecipeError, match=r"tensors in the file '\.\./table\.bin'"):
        opened(folder)


def test_declarations_without_labels_or_tokens_are_refused() -> None:
    with pytest.raises(RecipeError, match="give labels="):
        onnx_tagger("manner-1", "manner-1", ())
    with pytest.raises(RecipeError, match="give labels="):
        onnx_tagger("manner-1", "manner-1", ("calm",), max_tokens=0)
