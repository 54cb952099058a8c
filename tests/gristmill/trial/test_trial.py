from collections.abc import Mapping, Sequence
from itertools import count

import pytest

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.trial.pieces import Drawn
from gristmill.trial.trial import run_trial

ROWS = [Drawn("a", n, Document(id=f"d{n}", text="é" * n, source="tales")) for n in range(4)]


def length(document: Document) -> Mapping[str, Label]:
    return {"length": float(len(document.text))}


def test_labels_are_those_of_the_documents_and_the_speed_counts_bytes() -> None:
    trial = run_trial(Tagger(name="length-1", document=length), ROWS)
    assert trial.labels == [{"length": 0.0}, {"length": 1.0}, {"length": 2.0}, {"length": 3.0}]
    assert (trial.bytes, trial.failures, trial.differing, trial.names) == (12, [], [], ["length"])


def test_a_failure_names_its_row_and_the_other_rows_keep_their_labels() -> None:
    def tag(document: Document) -> Mapping[str, Label]:
        return {"inverse": 1 / len(document.text)}

    trial = run_trial(Tagger(name="inverse-1", document=tag), ROWS)
    assert [row.row for row in trial.drawn] == [1, 2, 3]
    [failure] = trial.failures
    assert failure.drawn is ROWS[0]
    assert failure.reason.startswith("ZeroDivisionError: division by zero, at ")
    assert "test_trial.py, line " in failure.reason


def test_a_label_out_of_its_declaration_is_a_failure() -> None:
    tagger = Tagger(name="length-1", document=length, labels=(Score("length", "code points", low=0, high=2),))
    assert [failure.reason for failure in run_trial(tagger, ROWS).failures] == ["label 'length': 3.0 is above 2.0"]


def test_a_batch_that_returns_too_little_fails_once_if_single_documents_pass() -> None:
    tagger = Tagger(name="one-1", batch=lambda batch: {"one": [1.0][: len(batch)]})
    trial = run_trial(tagger, ROWS)
    assert [failure.reason for failure in trial.failures] == [
        "only in a batch of 4 documents: tagger 'one-1': 1 labels 'one' for 4 documents"
    ]
    assert len(trial.labels) == 4


def test_labels_that_depend_on_the_other_documents_are_found() -> None:
    def rank(batch: Sequence[Document]) -> dict[str, list[Label]]:
        return {"rank": [float(n) for n in range(len(batch))], "same": [1.0] * len(batch)}

    trial = run_trial(Tagger(name="rank-1", batch=rank), ROWS)
    assert [(row.row, name) for row, name in trial.differing] == [(3, "rank"), (2, "rank"), (1, "rank")]
    calls = count()
    restless = Tagger(name="restless-1", document=lambda _: {"calls": float(next(calls))})
    assert len(run_trial(restless, ROWS).differing) == 4


def test_no_documents_have_no_labels_and_a_store_that_does_not_answer_stops() -> None:
    assert run_trial(Tagger(name="length-1", document=length), []).labels == []

    def tag(document: Document) -> Mapping[str, Label]:
        raise StoreError(document.id)

    with pytest.raises(StoreError):
        run_trial(Tagger(name="far-1", document=tag), ROWS)
