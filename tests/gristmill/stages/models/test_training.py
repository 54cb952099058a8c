"""Training gives the same bytes each time, is measured on held-out texts, and leaves what is wrong to a person."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from remarks import catalogue, remarks, start
from testkit import Mill

from gristmill.errors import DataError, RecipeError
from gristmill.formats.fasttext.layout import check_fasttext
from gristmill.readers.delimited import DelimitedRows
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.row_format import Text
from gristmill.stages.models.labels import make_labels
from gristmill.stages.models.ledger import read_file, read_folder
from gristmill.stages.models.proof import folder_findings
from gristmill.stages.models.training import make_model, read_metrics

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")


@pytest.fixture
def labelled(mill: Mill) -> Mill:
    make_labels(mill.store, start(mill).labels["remarks"], mill.said.append)
    return mill


def trained(**options: object) -> Model:
    given = {"labels": "remarks", "positive": "rude", "dim": 4, "epochs": 20, "buckets": 1000, **options}
    return Model(name="rude-1", training=FastTextTraining(**given), draft=True)  # type: ignore[arg-type]


def findings(mill: Mill, asset: str) -> list[str]:
    return [str(each) for each in folder_findings(mill.store, asset, mill.said.append)]


def test_the_same_texts_give_the_same_bytes_and_their_measures(labelled: Mill) -> None:
    ledger, made = make_model(labelled.store, trained(), labelled.said.append)
    before = {name: read_file(labelled.store, ledger, name) for name in ledger.files}
    assert (made, sorted(before)) == (True, ["metrics.json", "model.bin", "report.html", "report.svg"])
    assert make_model(labelled.store, trained(), labelled.said.append) == (ledger, False)
    labelled.store.delete(["models/rude-1/ledger.json", "models/rude-1/model.bin"])
    again, made = make_model(labelled.store, trained(), labelled.said.append)
    assert (again, made) == (ledger, True)
    assert {name: read_file(labelled.store, again, name) for name in again.files} == before
    metrics = read_metrics(labelled.store, ledger)
    assert metrics is not None
    assert metrics.auc == 1.0
    assert metrics.texts == metrics.positives + sum(metrics.confusion[metrics.labels.index("calm")])
    assert b"AUC 1.000 for rude" in before["report.svg"]
    assert findings(labelled, "models/rude-1") == findings(labelled, "labels/remarks") == []


def test_a_quantized_model_lies_in_the_place_of_the_other(labelled: Mill) -> None:
    make_model(labelled.store, trained(), labelled.said.append)
    ledger, _ = make_model(labelled.store, trained(quantize=True), labelled.said.append)
    assert ledger.opened == ("model.ftz",)
    assert check_fasttext(read_file(labelled.store, ledger, "model.ftz"), "m").quantized
    assert labelled.store.head("models/rude-1/model.bin") is None
    again, _ = make_model(labelled.store, replace(trained(quantize=True), name="rude-2"), labelled.said.append)
    assert again.fingerprint == ledger.fingerprint


def test_texts_without_white_space_train_as_others_do(mill: Mill, tmp_path: Path) -> None:
    words = [f"0,{number} rude\n1,{number} calm\n" for number in range(40)]
    data = ("label,text\n" + "".join(words) + f"0,{'磨' * 4000}\n1,{'😀' * 70_000}\n").encode()
    (tmp_path / "long.csv").write_bytes(data)
    long = LabelledSet(
        name="remarks",
        file=str(tmp_path / "long.csv"),
        sha256=hashlib.sha256(data).hexdigest(),
        read=DelimitedRows(source="remarks", id_key=None),
        labels={"0": "rude", "1": "calm"},
        held_out=0.2,
    )
    make_labels(mill.store, long, mill.said.append)
    assert make_model(mill.store, trained(letters=(2, 4)), mill.said.append)[1]


def test_what_cannot_be_learned_or_measured_is_refused(labelled: Mill) -> None:
    with pytest.raises(RecipeError, match="positive='mean' is no label"):
        make_model(labelled.store, trained(positive="mean"), labelled.said.append)
    with pytest.raises(DataError, match="labels/others: not there yet; make it: `gristmill make LAKE labels/others`"):
        make_model(labelled.store, trained(labels="others"), labelled.said.append)
    data = remarks(2)
    labelled.store.put("inputs/remarks.jsonl", data)
    few = replace(catalogue().labels["remarks"], sha256=hashlib.sha256(data).hexdigest(), held_out=0.01)
    labelled.store.put("inputs/remarks.jsonl", data)
    make_labels(labelled.store, few, labelled.said.append)
    with pytest.raises(DataError, match="of 0 texts that are held out, 0 have the label 'rude'"):
        make_model(labelled.store, trained(), labelled.said.append)
    assert list(labelled.store.list("models/")) == []


def test_damage_is_found(labelled: Mill) -> None:
    ledger, _ = make_model(labelled.store, trained(), labelled.said.append)
    data = read_file(labelled.store, ledger, "model.bin")
    labelled.store.put("models/rude-1/model.bin", data[:-1])
    labelled.store.put("models/rude-1/other.txt", b"")
    found = findings(labelled, "models/rude-1")
    assert ["its sha256 is not the one" in found[0], "no ledger names this object" in found[1]] == [True, True]
    with pytest.raises(DataError, match="restore it, or remove models/rude-1/"):
        make_model(labelled.store, trained(), labelled.said.append)
    labelled.store.put(
        "models/rude-1/ledger.json", labelled.store.read("models/rude-1/ledger.json").replace(b"1", b"2")
    )
    with pytest.raises(DataError, match=r"ledger.json: "):
        read_folder(labelled.store, "models/rude-1")


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES, reason="needs GRISTMILL_SAMPLE_DATA")
def test_toxicity_is_told_from_other_remarks_and_quality_from_other_pages(mill: Mill) -> None:
    """Davidson et al. 2017: hate speech (0) or offensive language (1) against neither (2)."""
    path = Path(SAMPLES or "", "labels", "toxicity", "davidson-labeled_data.csv.gz")
    labelled = LabelledSet(
        name="remarks",
        file=str(path),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        read=DelimitedRows(source="davidson", id_key=None, format=Text(text_key="tweet")),
        label="class",
        labels={"0": "toxic", "1": "toxic", "2": "neutral"},
    )
    make_labels(mill.store, labelled, mill.said.append)
    model = trained(positive="toxic", dim=16, epochs=5, letters=(3, 5), buckets=200_000)
    ledger, _ = make_model(mill.store, model, mill.said.append)
    assert ledger.facts["auc"] >= 0.97 > ledger.facts["baseline"] + 0.3
