"""What is brought has its sha256, and is neither pickled nor forged."""

import hashlib
import pickle
from pathlib import Path

import pytest
from onnxfile import classifier
from testkit import Mill
from tokenizers import Tokenizer, models, pre_tokenizers

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.models.model import Model
from gristmill.recipes.models.onnx import onnx_tagger
from gristmill.stages.models.brought import brought_files
from gristmill.stages.models.local_copy import copy_models_locally
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
        (b"{}", "tokenizer", "model.bin: tokenizer.json cannot be loaded"),
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
    said = f"has sha256 {hashlib.sha256(b'other').hexdigest()}, the recipe says .*write its sha256 into the recipe"
    with pytest.raises(RecipeError, match=said):
        brought_files(mill.store, model(tmp_path / "model.bin", b""))


def brought_classifier(folder: Path, data: bytes) -> Model:
    words = Tokenizer(models.WordLevel({"?": 0, "mill": 1}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    files = {"model.onnx": data, "tokenizer.json": words.to_str().encode()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return Model(name="mills-1", kind="onnx", file=str(folder), sha256=digests)


def test_a_brought_onnx_classifier_scores_documents(mill: Mill, tmp_path: Path) -> None:
    ledger, _ = make_model(mill.store, brought_classifier(tmp_path, classifier([[0.0], [3.0]])), mill.said.append)
    files = copy_models_locally(mill.store, {"mills-1": ledger.fingerprint}, tmp_path / "copies")
    tagger = onnx_tagger("mills-1", "mills-1", ("mills",), output="number").opened(files)
    assert tagger.look([Document(id="a", text="a mill mill", source="tales")]) == {"mills": [2.0]}


def test_an_onnx_model_that_reads_other_files_is_not_brought(mill: Mill, tmp_path: Path) -> None:
    forged = brought_classifier(tmp_path, classifier([[0.0]], outside="../secret"))
    with pytest.raises(RecipeError, match=r"model 'mills-1': .*model\.onnx has tensors in the file '\.\./secret'"):
        make_model(mill.store, forged, mill.said.append)
    damaged = brought_classifier(tmp_path, b"\x08\x08")
    with pytest.raises(RecipeError, match=r"model\.onnx is no ONNX model: it has no graph"):
        make_model(mill.store, damaged, mill.said.append)
