"""Fingerprints of a lake: what is in the parts, what is made again, and what is refused."""

import gzip
import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import xxhash
from dying import deaths
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, RecipeError
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import (
    DocumentUnits,
    LineUnits,
    MinHashUnits,
    NgramUnits,
    ParagraphUnits,
    SentenceUnits,
    Unit,
)
from gristmill.stages.fingerprints.reader import FingerprintPart
from gristmill.stages.fingerprints.step import FingerprintStep

TEXTS = ["Mühle\n\nmill 日本\nMühle", "", " \n", "One. Two! Three? Four.\nmill 日本"]


def document(number: int, text: str, **metadata: Any) -> dict[str, Any]:
    return {**make_documents(1)[0], "id": f"doc-{number}", "text": text, "metadata": metadata}


def step_of(unit: Unit, buckets: int = 4) -> FingerprintStep:
    return FingerprintStep(
        Dedupe(name="same-1", unit=unit, sources=("pages/v0",), buckets=buckets, draft=True), "pages", SNAPSHOT, SHELVES
    )


def start(root: Path, *shards: list[dict[str, Any]]) -> Mill:
    mill = Mill(root)
    for number, rows in enumerate(shards):
        mill.raw(f"{number}.jsonl.gz", rows)
    mill.convert()
    return mill


def parts(mill: Mill, unit: Unit, buckets: int = 4) -> list[FingerprintPart]:
    step = step_of(unit, buckets)
    mill.make(step)
    place = step.plan(mill.store).target.place
    return [FingerprintPart(mill.store, row, place.table) for row in read_ledger(mill.store, place)[1]]


def hashes_in_order(part: FingerprintPart, buckets: int = 4) -> list[int]:
    found: dict[int, int] = {}
    for number in range(buckets):
        bucket = part.bucket(number)
        assert (np.diff(bucket.ordinals.astype(np.int64)) > 0).all()
        for high, low, ordinal in zip(*(column.tolist() for column in bucket), strict=True):
            assert high * buckets >> 64 == number
            found[ordinal] = high << 64 | low
    assert sorted(found) == list(range(part.hash_count))
    return [found[ordinal] for ordinal in range(part.hash_count)]


def hashed(*texts: str) -> list[int]:
    return [xxhash.xxh3_128_intdigest(text.encode()) for text in texts]


def test_paragraphs_with_spans_in_code_points(tmp_path: Path) -> None:
    mill = start(tmp_path, [document(n, text) for n, text in enumerate(TEXTS)])
    (part,) = parts(mill, ParagraphUnits())
    spans = part.spans()
    found = [
        [TEXTS[number][a:b] for a, b in zip(spans.starts[i:j], spans.ends[i:j], strict=True)]
        for number, (i, j) in enumerate(pairwise(spans.first_spans.tolist()))
    ]
    assert found == [["Mühle", "mill 日本", "Mühle"], [], [], ["One. Two! Three? Four.", "mill 日本"]]
    assert hashes_in_order(part) == hashed(*(piece for pieces in found for piece in pieces))
    assert part.ids() == [("pages", f"doc-{n}") for n in range(4)]
    assert part.row.counts == {"empty": 4, "hashes": 5, "spans": 5}
    assert part.bucket_offsets.tolist()[-1] == 5


@pytest.mark.parametrize(
    ("unit", "spans", "hashes"),
    [
        (DocumentUnits(), [1, 0, 1, 1], 3),
        (DocumentUnits(key="id"), [1, 1, 1, 1], 4),
        (DocumentUnits(key="metadata.url"), [1, 0, 0, 1], 2),
        (LineUnits(min_length=6), [1, 0, 0, 2], 3),
        (SentenceUnits(), [1, 0, 0, 3], 4),
        (NgramUnits(length=2), [3, 0, 0, 2], 3 + 3 + 1),
        (MinHashUnits(ngram=2, bands=3, rows=2), [1, 0, 0, 1], 6),
    ],
    ids=lambda unit: type(unit).__name__,
)
def test_each_unit(tmp_path: Path, unit: Unit, spans: list[int], hashes: int) -> None:
    urls: list[dict[str, Any]] = [{"url": "u"}, {"url": None}, {}, {"url": 7}]
    mill = start(tmp_path, [document(n, text, **urls[n]) for n, text in enumerate(TEXTS)])
    (part,) = parts(mill, unit)
    table = part.spans()
    assert (table.counts.tolist(), part.hash_count, table.hashes) == (spans, hashes, hashes)
    assert len(hashes_in_order(part)) == hashes
    if isinstance(unit, DocumentUnits):
        assert table.ends.tolist() == [len(TEXTS[n]) for n, count in enumerate(spans) if count]
    if isinstance(unit, MinHashUnits):
        assert part.read_signatures().shape == (4, 6)
        assert part.read_signatures().any(axis=1).tolist() == [True, False, False, True]


@pytest.mark.parametrize("rows", [0, -1, 5])
def test_signatures_of_another_number_of_documents_are_an_error_that_names_the_table(tmp_path: Path, rows: int) -> None:
    mill = start(tmp_path, [document(n, text) for n, text in enumerate(TEXTS)])
    (part,) = parts(mill, MinHashUnits(ngram=2, bands=3, rows=2))
    forged = FingerprintPart(mill.store, msgspec.structs.replace(part.row, rows=rows), "the-table.jsonl.gz")
    with pytest.raises(DataError, match=r"^the-table\.jsonl\.gz: part .*: file 'signatures' is broken"):
        forged.read_signatures()


def test_a_changed_shard_makes_its_part_again_and_no_other(tmp_path: Path) -> None:
    mill = start(tmp_path, make_documents(3), make_documents(3, 3))
    first = parts(mill, LineUnits())
    mill.raw("1.jsonl.gz", make_documents(4, 3))
    mill.convert()
    again = parts(mill, LineUnits())
    assert mill.ground == ["1"]
    assert again[0].row == first[0].row
    assert parts(mill, LineUnits())[1].row.rows == 4
    assert mill.ground == []


def test_what_is_done_with_the_hashes_makes_no_part_again(tmp_path: Path) -> None:
    mill = start(tmp_path, make_documents(3))
    parts(mill, NgramUnits(length=2, threshold=0.5))
    parts(mill, NgramUnits(length=2, threshold=0.9))
    assert mill.ground == []
    parts(mill, NgramUnits(length=3))
    assert mill.ground == ["0"]


def test_no_documents_make_an_empty_part(tmp_path: Path) -> None:
    mill = start(tmp_path, [])
    for unit in (ParagraphUnits(), MinHashUnits()):
        (part,) = parts(mill, unit)
        assert (part.ids(), part.spans().documents, part.bucket(3).high.tolist()) == ([], 0, [])
    assert part.read_signatures().shape[0] == 0


def test_bytes_are_the_same_with_two_workers_and_after_a_worker_was_stopped(tmp_path: Path) -> None:
    shards = [make_documents(4, 4 * n) for n in range(3)]
    one, two = start(tmp_path / "one", *shards), start(tmp_path / "two", *shards)
    step = step_of(ParagraphUnits())
    one.make(step)
    two.make(step, LocalPool(2))
    assert one.tree() == two.tree()


def test_changed_bytes_of_a_bucket_are_refused(tmp_path: Path) -> None:
    mill = start(tmp_path, make_documents(9))
    (part,) = parts(mill, ParagraphUnits(), buckets=1)
    (path,) = (entry.path for entry in mill.store.list("dedupe/") if entry.path.endswith("/hashes"))
    data = mill.store.read(path)
    mill.store.put(path, bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(DataError, match=r"hashes: the hashes of bucket 0 .*make this partition again"):
        part.bucket(0)


def test_a_key_of_another_type_fails_the_shard_and_names_the_row(tmp_path: Path) -> None:
    mill = start(tmp_path, [document(0, "a", url="u"), document(1, "b", url=[1])])
    with pytest.raises(DataError, match=r"0\.jsonl\.gz: row 1.*take another key"):
        parts(mill, DocumentUnits(key="metadata.url"))


def test_ids_are_lines_of_json_in_gzip(tmp_path: Path) -> None:
    mill = start(tmp_path, make_documents(2))
    parts(mill, LineUnits())
    (path,) = (entry.path for entry in mill.store.list("dedupe/") if entry.path.endswith("/ids.gz"))
    lines = gzip.decompress(mill.store.read(path)).splitlines()
    assert [json.loads(line) for line in lines] == [["pages", "doc-00000"], ["pages", "doc-00001"]]


@pytest.mark.slow
def test_a_step_that_dies_anywhere_leaves_the_same_bytes_when_it_is_run_again(tmp_path: Path) -> None:
    start(tmp_path / "made", make_documents(4), make_documents(4, 4))
    root, step = tmp_path / "lake", step_of(ParagraphUnits())

    def again() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(tmp_path / "made", root)

    def work() -> None:
        Mill(root).make(step)

    again()
    work()
    whole, died = Mill(root).tree(), 0
    for _ in deaths(root, work, again, every=7):
        died += 1
        work()
        assert Mill(root).tree() == whole
    assert died > 3


def test_fingerprints_of_another_version_are_refused_unless_both_are_drafts(tmp_path: Path) -> None:
    mill = start(tmp_path, make_documents(10))
    mill.tag("words-1")
    mill.revise()
    step = step_of(DocumentUnits())
    final = replace(step, dedupe=replace(step.dedupe, draft=False))
    mill.make(final)
    with pytest.raises(RecipeError, match=r"was made of sources/pages/v0/documents, and its recipe reads .*/v1/"):
        mill.make(replace(final, dedupe=replace(final.dedupe, sources=("pages/v1",))))
