"""What is brought has its sha256, and is neither pickled nor forged."""

import hashlib
import pickle
from pathlib import Path

import pytest
from testkit import Mill

from gristmill.errors import RecipeError
from gristmill.recipes.models.model import Model
from gristmill.stages.models.brought import brought_files
from gristmill.stages.models.training import make_model, read_metrics

LID = Path(__file__).parents[4] / "gristmill" / "models" / "lid.176.ftz"


def model(path: Path | str, data: bytes, **options: str) -> Model:
    return Model(name="lid-1", file=str(path), sha256=hashlib.sha256(data).hexdigest(), **options)  # type: ignore[arg-type]


def test_a_model_is_brought_from_this_machine_or_from_the_lake(mill: Mill) -> None:
    data = LID.read_bytes()
    ledger, _ = make_model(mill.store, model(LID, data), mill.said.append)
    assert (ledger.fingerprint, ledger.opened, ledger.folder) == (hashlib.sha256(data).hexdigest(), (LID.name,), False)
    assert mill.store.read("models/lid-1/lid.176.ftz") == data
    assert read_metrics(mill.store, ledger) is None
    mill.store.put("inputs/lid.ftz", data)
    assert brought_files(mill.store, model("lake:inputs/lid.ftz", data)) == {"lid.ftz": data}


def test_a_folder_is_brought_by_the_names_and_digests_of_its_files(mill: Mill, tmp_path: Path) -> None:
    for name in ("de", "en", "other"):
        (tmp_path / name).write_text(name)
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("de", "en")}
    lists = Model(name="words-1", kind="list", file=str(tmp_path), sha256=digests)
    ledger, _ = make_model(mill.store, lists, mill.said.append)
    assert (ledger.opened, ledger.folder, ledger.files) == (("de", "en"), True, digests)


@pytest.mark.parametrize(
    ("data", "kind", "match"),
    [
        (pickle.dumps([1]), "list", "pickled file by its first bytes"),
        (b"PK\x03\x04..archive/data.pkl", "onnx", "pickled file by its first bytes"),
        (b"\x93NUMPY", "list", "pickled file by its first bytes"),
        (b"words", "fasttext", "no valid fastText classifier"),
        (LID.read_bytes()[:5000], "fasttext", "no valid fastText classifier"),
    ],
)
def test_what_is_pickled_damaged_or_something_else_is_refused(
    mill: Mill, tmp_path: Path, data: bytes, kind: str, match: str
) -> None:
    (tmp_path / "model.bin").write_bytes(data)
    with pytest.raises(RecipeError, match=match):
        make_model(mill.store, model(tmp_path / "model.bin", data, kind=kind), mill.said.append)
    assert list(mill.store.list("models/")) == []


def test_another_sha256_and_a_missing_file_are_named(mill: Mill, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no file .*model\.bin; mend file= of the recipe"):
        brought_files(mill.store, model(tmp_path / "model.bin", b""))
    (tmp_path / "model.bin").write_bytes(b"other")
    with pytest.raises(RecipeError, match=f"has sha256 {hashlib.sha256(b'other').hexdigest()}, the recipe says"):
        brought_files(mill.store, model(tmp_path / "model.bin", b""))
