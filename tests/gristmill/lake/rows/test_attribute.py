import json
import math
from pathlib import Path

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.rows.attribute import (
    AttributeRow,
    encode_row,
    parse_rows,
    round_score,
    rounded_scores,
    written_spans,
)
from gristmill.lake.rows.document import Span
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.folder import FolderStore


def one(row: bytes, name: str = "tox-1", length: int = 9) -> AttributeRow:
    (found,) = parse_rows([row], name, "a.jsonl.gz", 0, [length])
    return found


FORMS = {
    "as we write it": b'{"id":"a","source":"s","attributes":{"tox-1__en":[[0,4,0.5],[5,9,1.0]]}}',
    "without our prefix": b'{"id":"a","source":"s","attributes":{"en":[[0,4,0.5],[5,9,1.0]]}}',
}


@pytest.mark.parametrize("form", FORMS)
def test_spans_are_read(form: str) -> None:
    assert one(FORMS[form]) == AttributeRow("a", "s", {"en": [(0, 4, 0.5), (5, 9, 1.0)]})


def test_dolmas_longer_keys_keep_what_follows_the_set() -> None:
    row = one(b'{"id":"a","attributes":{"sample__random_number_v1__random":[[0,9,0.4]]}}', "sample")
    assert row == AttributeRow("a", "", {"random_number_v1__random": [(0, 9, 0.4)]})


def test_a_scalar_is_a_span_over_the_whole_text() -> None:
    row = one(b'{"id":"a","source":"s","attributes":{"en":0.5,"flag":true,"count":3}}', length=9)
    assert row.labels == {"en": [(0, 9, 0.5)], "flag": [(0, 9, 1.0)], "count": [(0, 9, 3.0)]}


def test_a_dictionary_is_one_label_a_key() -> None:
    row = one(b'{"id":"a","source":"s","attributes":{"lang":{"en":0.9,"fr":[[0,2,0.1]]}}}', length=9)
    assert row.labels == {"lang__en": [(0, 9, 0.9)], "lang__fr": [(0, 2, 0.1)]}


def test_the_older_flat_form_is_read() -> None:
    row = one(b'{"source":"s","id":"a","toxicity":0.7,"lang":{"en":0.9}}', length=5)
    assert row == AttributeRow("a", "s", {"toxicity": [(0, 5, 0.7)], "lang__en": [(0, 5, 0.9)]})


@pytest.mark.parametrize("row", [b'{"id":"a","attributes":{}}', b'{"id":"a","source":null,"attributes":{}}'])
def test_a_row_without_a_source_has_an_empty_one(row: bytes) -> None:
    assert one(row) == AttributeRow("a", "", {})


def test_null_and_no_spans_say_nothing_yet_the_label_is_there() -> None:
    assert one(b'{"id":"a","source":"s","attributes":{"x":null,"y":[]}}').labels == {"x": [], "y": []}


def test_rows_of_several_forms_stand_in_one_file() -> None:
    rows = [b'{"id":"a","source":"s","attributes":{"x":[[0,1,1.0]]}}', b'{"id":"b","source":"s","x":2}']
    found = parse_rows(rows, "tox-1", "a.jsonl.gz", 0, [1, 7])
    assert [row.labels for row in found] == [{"x": [(0, 1, 1.0)]}, {"x": [(0, 7, 2.0)]}]


WRONG = {
    "no JSON": b"{",
    "no object": b"[]",
    "an empty line": b"",
    "no id": b'{"attributes":{}}',
    "an id that is no string": b'{"id":1.5,"attributes":{}}',
    "a source that is no string": b'{"id":"a","source":1,"attributes":{}}',
    "a word for a score": b'{"id":"a","attributes":{"x":"high"}}',
    "a span of two": b'{"id":"a","attributes":{"x":[[0,1]]}}',
    "a span with a broken start": b'{"id":"a","attributes":{"x":[[0.5,1,1]]}}',
    "one label under two keys": b'{"id":"a","attributes":{"x":[],"tox-1__x":[]}}',
    "not UTF-8": b'{"id":"\xff","attributes":{}}',
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_row_in_no_known_form_is_an_error_that_names_file_and_row(wrong: str) -> None:
    good = b'{"id":"a","attributes":{}}'
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 12: "):
        parse_rows([good, good, WRONG[wrong]], "tox-1", "a.jsonl.gz", 10)


def test_what_is_written_is_read_back() -> None:
    row = encode_row("a", "s", {"tox-1__en": written_spans([Span(0, 2, 1 / 3)])})
    assert row == b'{"id":"a","source":"s","attributes":{"tox-1__en":[[0,2,0.33333]]}}'
    assert one(row) == AttributeRow("a", "s", {"en": [(0, 2, 0.33333)]})


def test_a_score_is_a_finite_number_of_five_decimals() -> None:
    assert round_score(0.123456789) == 0.12346
    assert json.dumps([round_score(score=True), round_score(3), round_score(2.0)]) == "[1, 3, 2.0]"
    for score in (math.nan, math.inf, -math.inf):
        with pytest.raises(DataError, match="finite"):
            round_score(score)


@pytest.mark.parametrize("name", ["pii", "sample", "toxicity", "duplicate_paragraphs"])
def test_dolmas_attributes_are_read_and_stand_beside_their_documents(dolma: Path, name: str) -> None:
    store = FolderStore(str(dolma))
    documents = [json.loads(row) for b in read_blocks(store, "documents/000.json.gz") for row in split_rows(b)]
    path = f"attributes/{name}/000.json.gz"
    lines = [row for block in read_blocks(store, path) for row in split_rows(block)]
    rows = parse_rows(lines, name, path, 0, [len(document["text"]) for document in documents])
    assert [row.id for row in rows] == [document["id"] for document in documents]
    assert len(rows) == 10
    if name == "toxicity":
        assert rows[0].labels == {"toxicity": [(0, len(documents[0]["text"]), 0.1)]}
    if name == "sample":
        assert rows[0].labels == {"random_number_v1__random": [(0, 2610, 0.421)]}
    if name == "duplicate_paragraphs":
        assert rows[0].labels == {"bff_duplicate_paragraph_spans": []}


@settings(max_examples=draws(200))
@given(st.lists(st.one_of(st.floats(), st.floats(0, 1), st.integers(0, 2 * 10**6).map(lambda n: n / 2e5))))
def test_an_array_is_rounded_as_each_of_its_scores(scores: list[float]) -> None:
    found = rounded_scores(np.array(scores, np.float64)).tolist()
    assert list(map(repr, found)) == [repr(round(score, 5) if math.isfinite(score) else score) for score in scores]
