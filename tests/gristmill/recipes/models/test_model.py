from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.models.model import FastTextTraining, Model

TRAINING = FastTextTraining(labels="remarks", positive="rude")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"name": "rude", "training": TRAINING}, "must end in its number"),
        ({"name": "rude-1"}, "exactly one of training=, overlaps= and file="),
        (
            {"name": "rude-1", "training": TRAINING, "file": "a.bin", "sha256": "0"},
            "exactly one of training=, overlaps= and file=",
        ),
        ({"name": "rude-1", "file": "a.bin"}, "give the sha256="),
        ({"name": "rude-1", "file": "a.pkl", "sha256": "0"}, "pickled file"),
        ({"name": "rude-1", "file": "a.PT", "sha256": "0", "kind": "onnx"}, "pickled file"),
        ({"name": "rude-1", "file": "folder", "sha256": {"m.joblib": "0"}}, "m.joblib is a pickled file"),
        ({"name": "rude-1", "file": "folder", "sha256": {"../m.onnx": "0"}}, "no name of a file"),
        ({"name": "rude-1", "file": "folder", "sha256": {"ledger.json": "0"}}, "no name of a file"),
        ({"name": "rude-1", "file": "a.bin", "sha256": "0", "kind": "torch"}, "fasttext, onnx, tokenizer, list"),
    ],
)
def test_a_declaration_that_cannot_be_made_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(RecipeError, match=match):
        Model(**options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"dim": 1}, "dim is 1"),
        ({"letters": (3,)}, "letters"),
        ({"letters": (5, 3)}, "letters"),
        ({"letters": (0, 3)}, "letters"),
        ({"buckets": 10_000_000, "dim": 100}, "1 GiB"),
        ({"epochs": "5"}, "epochs"),
    ],
)
def test_training_has_bounds(options: dict[str, Any], match: str) -> None:
    with pytest.raises(RecipeError, match=match):
        FastTextTraining(**{"labels": "remarks", "positive": "rude", **options})


def test_what_is_brought_is_a_file_or_the_named_files_of_a_folder() -> None:
    one = Model(name="a-1", file="lake:inputs/a.bin", sha256="0")
    many = Model(name="a-1", kind="onnx", file="folder", sha256={"b.json": "1", "a.onnx": "2"})
    assert (one.brought, one.is_folder) == ({"a.bin": "0"}, False)
    assert (many.brought, many.is_folder) == ({"a.onnx": "2", "b.json": "1"}, True)
    assert one.recipe.parameters == {"kind": "fasttext", "files": {"a.bin": "0"}}
    assert Model(name="a-1", training=TRAINING).brought == {}
