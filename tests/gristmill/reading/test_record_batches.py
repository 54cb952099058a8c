"""Record batches: what is read equals what a plain Python loop reads, whatever the documents hold."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from testkit import SHELVES, Mill
from wholelake import DOCUMENTS, WORDS, flip, make_whole, reseal, rewrite, table

import gristmill
from gristmill.errors import DataError, MalformedRow, Misaligned, StoreError
from gristmill.reading.opened_lake import OpenedLake
from gristmill.recipes.rules import Column, field

leaves = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    leaves | texts, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2)
)
documents = st.fixed_dictionaries(
    {"text": texts},
    optional={
        "added": texts | st.none(),
        "created": texts | st.none(),
        "metadata": st.none() | st.dictionaries(texts, values, max_size=3),
    },
)
COLUMNS = ["id", "source", "text", "added", "created", "metadata", "row"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose shard `a` is written anew by each example."""
    return make_whole(tmp_path_factory.mktemp("drawn") / "lake").root


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=30)
@given(drawn=st.lists(documents, max_size=5), compact=st.booleans())
def test_rows_are_those_of_a_plain_loop(root: Path, drawn: list[dict[str, Any]], *, compact: bool) -> None:
    mill = Mill(root)
    rows = [{"id": f"d{n}", "source": "pages", **document} for n, document in enumerate(drawn)]
    separators = (",", ":") if compact else None
    rewrite(mill, DOCUMENTS, "a", [json.dumps(row, separators=separators).encode() for row in rows])
    with gzip.open(root / DOCUMENTS.shard("a")) as file:
        plain = [json.loads(line) for line in file]
    assert plain == rows
    lake = gristmill.open_lake(str(root), {}, shelves=SHELVES)
    for read in (lake.documents("pages/v0", shards=["a"], columns=COLUMNS).table().to_pylist(),
                 list(lake.documents("pages/v0", shards=["a"], columns=COLUMNS)),
                 list(lake.documents("pages/v0", shards=["a"], columns=COLUMNS).sample(9))):  # fmt: skip
        assert [row["row"] for row in read] == list(range(len(plain)))
        for got, row in zip(read, plain, strict=True):
            assert [got[name] for name in COLUMNS[:5]] == [row.get(name) for name in COLUMNS[:5]]
            if "metadata" in row:
                assert repr(json.loads(got["metadata"])) == repr(row["metadata"])
            else:
                assert got["metadata"] is None


HOSTILE = (
    ({"text": 3}, "no string 'text', but 3"),
    ({"id": 7.5}, "no string 'id', but 7.5"),
    ({"created": ["2024"]}, "'created' is no VARCHAR, but ['2024']"),
    ({"metadata": "en"}, "'metadata' is no object, but 'en'"),
    ({"metadata": {"n": 2**64}}, "'metadata.n' is no BIGINT, but 1.8446744073709552e+19"),
)


@pytest.mark.parametrize(("change", "words"), HOSTILE)
def test_a_hostile_document_is_named_by_file_and_row(
    read_mill: Mill, own: OpenedLake, change: dict[str, Any], words: str
) -> None:
    rows = read_mill.rows(DOCUMENTS.shard("a"))
    path = DOCUMENTS.shard("a")
    lines = [json.dumps({**row, **change} if n == 4 else row).encode() for n, row in enumerate(rows)]
    read_mill.store.put(path, gzip.compress(b"\n".join(lines) + b"\n", mtime=0))
    columns: list[str | Column] = ["id", "text", "created", "metadata", field("metadata.n", "BIGINT")]
    with pytest.raises(MalformedRow) as told:
        own.documents("pages/v0", columns=columns, verified=False).table()
    assert str(told.value).startswith(f"{path}: row 4: {words} (")


def test_a_surrogate_is_named_by_file_and_row(read_mill: Mill, own: OpenedLake) -> None:
    path = DOCUMENTS.shard("a")
    lines = read_mill.lines(path)
    lines[2] = lines[2].replace(b'"en"', b'"\\ud800"')
    read_mill.store.put(path, gzip.compress(b"\n".join(lines) + b"\n", mtime=0))
    with pytest.raises(MalformedRow, match=rf"{path}: row 2: not valid JSON"):
        list(own.documents("pages/v0", columns=["id"], verified=False))


def test_bytes_that_are_not_the_ledgers_are_told_unless_nobody_asks(read_mill: Mill, own: OpenedLake) -> None:
    path = WORDS.shard("a")
    read_mill.store.put(path, gzip.compress(gzip.decompress(read_mill.store.read(path)), mtime=0))
    labelled = {"sets": ["words-1"], "snapshots": ["2024"]}
    with pytest.raises(StoreError, match=f"{path}: not the object that its ledger names"):
        own.documents("pages/v0", **labelled).table()  # type: ignore[arg-type]
    assert own.documents("pages/v0", verified=False, **labelled).table().num_rows == 40  # type: ignore[arg-type]
    flip(read_mill, DOCUMENTS.shard("a"))
    with pytest.raises((DataError, StoreError), match=r"a\.jsonl\.gz"):
        own.documents("pages/v0", **labelled).table()  # type: ignore[arg-type]


def test_a_set_whose_row_is_cut_out_is_misaligned(read_mill: Mill, own: OpenedLake) -> None:
    path = WORDS.shard("a")
    lines = read_mill.lines(path)
    del lines[6]
    read_mill.store.put(path, gzip.compress(b"\n".join(lines) + b"\n", mtime=0))
    with pytest.raises(Misaligned, match=rf"{path}: (row 6: id 'doc-00007'|ends after 19 rows)"):
        own.documents("pages/v0", sets=["words-1"], snapshots=["2024"], verified=False).table()


def test_a_set_of_other_documents_is_refused_before_a_row_is_read(read_mill: Mill, own: OpenedLake) -> None:
    rewrite(read_mill, DOCUMENTS, "a", read_mill.lines(DOCUMENTS.shard("a"))[:5])
    with pytest.raises(DataError, match="words-1, snapshot 2024: shard a was made from another version of these doc"):
        own.documents("pages/v0", sets=["words-1"], snapshots=["2024"])
    reseal(read_mill, WORDS, table(read_mill, WORDS)[1:])
    with pytest.raises(DataError, match="words-1, snapshot 2024: shard a is missing; make this attribute set again"):
        own.documents("pages/v0", sets=["words-1"], snapshots=["2024"])
