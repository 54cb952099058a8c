"""What every stage's grinder must keep when it writes a shard, on a real lake: claims, digests of inputs, uploads."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from talklake import BYTES, mix_of, row, started
from testkit import SHELVES, SNAPSHOT, Meanwhile, Mill, make_documents, packed
from wholelake import CACHE, DOCUMENTS, REVISED, STREAM, TOKENIZER, WORDS, even, make_whole

from gristmill.errors import DataError, StoreError, Superseded
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.step import Step
from gristmill.execution.write_shards import write_shards
from gristmill.lake.address import Place, place
from gristmill.recipes.row_format import Text
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep

NEWER = b'{"token":"newer"}'

STEPS: dict[str, tuple[Callable[[Mill], Step], Place, Place | None]] = {
    "conversion": (lambda mill: mill.conversion(), DOCUMENTS, None),
    "tagging": (lambda mill: mill.tagging("words-1"), WORDS, DOCUMENTS),
    "mixing": (lambda _: stream_step(even(), "pages", SNAPSHOT, SHELVES), STREAM, REVISED),
    "token_cache": (lambda _: TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES), CACHE, STREAM),
}
"""Of each stage a step, the partition that it makes, and the documents that it reads."""


@pytest.fixture
def whole(tmp_path: Path) -> Mill:
    return make_whole(tmp_path / "lake")


def objects(mill: Mill) -> dict[str, str]:
    """All objects but receipts, plans and claims, with their etags."""
    return {path: etag for path, etag in mill.stamps().items() if ".receipts/" not in path}


def uploads(mill: Mill) -> list[str]:
    return [path.name for path in (mill.root / ".incoming").iterdir()]


@pytest.mark.parametrize("stage", STEPS)
def test_a_run_that_was_overtaken_publishes_no_shard_and_leaves_no_upload(whole: Mill, stage: str) -> None:
    step, where, _ = STEPS[stage]
    before = objects(whole)
    with pytest.raises(Superseded):
        whole.make(step(whole), Meanwhile(lambda: whole.store.put(where.claim_path, NEWER)), force=True)
    assert whole.ground  # every shard was written up to its end
    assert objects(whole) == before
    assert not any(path.endswith("/a.json") for path in whole.stamps() if path.startswith(where.receipts_folder))
    assert uploads(whole) == []


@pytest.mark.parametrize("stage", [stage for stage, (_, _, read) in STEPS.items() if read])
def test_documents_that_are_not_those_of_the_ledger_pass_in_no_stage(whole: Mill, stage: str) -> None:
    step, _, read = STEPS[stage]
    assert read is not None
    path = read.shard("a")
    whole.store.put(path, gzip.compress(b"".join(line + b"\n" for line in whole.lines(path)), mtime=0))
    before = objects(whole)
    with pytest.raises(StoreError, match=rf"{read.asset}.*a\.jsonl\.gz: not the object that its ledger names"):
        whole.make(step(whole), force=True)
    changed = {path for path, etag in objects(whole).items() if before.get(path) != etag}
    assert not any("/a." in path for path in changed)
    assert uploads(whole) == []


@pytest.mark.slow
def test_a_part_that_fails_behind_a_whole_chunk_leaves_no_upload(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, {}, "x" * 300_000), row(1, {}, "y"))
    mix = mix_of(Text(), parts=1)
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    documents = place("mixes/talk/documents/pages", SNAPSHOT)
    other = gzip.compress(b"".join(line + b"\n" for line in mill.lines(documents.shard("b"))), mtime=0)
    with pytest.raises(StoreError, match="not the object that its ledger names"):
        mill.make(
            TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES),
            Meanwhile(lambda: mill.store.put(documents.shard("b"), other)),
        )
    assert uploads(mill) == []


def test_a_raw_object_that_is_replaced_by_one_of_its_size_is_a_store_error(mill: Mill) -> None:
    mill.raw("a.jsonl", b'{"id":"1","source":"pages","text":"x"}\n')
    replaced = Meanwhile(lambda: mill.raw("a.jsonl", b'{"id":"2","source":"pages","text":"x"}\n'))
    with pytest.raises(StoreError, match=r"a\.jsonl: replaced while it was read"):
        mill.convert(engine=replaced)
    assert mill.store.head(DOCUMENTS.shard("a")) is None
    assert uploads(mill) == []


def test_raw_rows_that_are_refused_before_the_object_breaks_leave_no_upload(mill: Mill) -> None:
    data = packed([b"no document", *make_documents(500)])
    mill.raw("a.jsonl.gz", data[:-9])
    with pytest.raises(DataError, match="truncated"):
        mill.convert()
    assert uploads(mill) == []
    assert [path for path in mill.stamps() if "quarantine" in path] == []


def test_raw_objects_that_only_look_new_get_no_receipt_from_a_run_that_was_overtaken(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.raw_shards(1)  # the same bytes, another etag
    with pytest.raises(Superseded):
        mill.convert(engine=Meanwhile(lambda: mill.store.put(DOCUMENTS.claim_path, NEWER)))
    assert mill.store.head(DOCUMENTS.receipt_path("a")) is None


class Output(DocumentWriter):
    """A shard of documents, as a stage writes it."""

    def __init__(self, mill: Mill, name: str) -> None:
        super().__init__(mill.store, OneAssetSpec(place=DOCUMENTS, token="mine", recipe="r"), name)

    def add(self, number: int) -> None:
        row = json.dumps(make_documents(1, start=number)[0]).encode()
        self.write(row + b"\n", [("pages", f"doc-{number:05d}")])


def test_the_claim_is_asked_for_after_the_rows_are_written(mill: Mill) -> None:
    mill.store.put(DOCUMENTS.claim_path, b'{"token":"mine"}')
    output = Output(mill, "a")

    def write() -> None:
        output.add(1)
        mill.store.put(DOCUMENTS.claim_path, NEWER)  # a newer run begins while we write

    with pytest.raises(Superseded):
        write_shards(mill.store, [output], write)
    assert mill.store.head(DOCUMENTS.shard("a")) is None
    assert uploads(mill) == []


def test_a_shard_that_cannot_be_closed_ends_all_that_are_open(mill: Mill) -> None:
    mill.store.put(DOCUMENTS.claim_path, b'{"token":"mine"}')
    outputs = [Output(mill, name) for name in "abc"]

    def write() -> None:
        for number, output in enumerate(outputs):
            output.add(number)
        mill.store.put(DOCUMENTS.shard("b"), b"another run's")  # since upload(): close() must not replace it

    with pytest.raises(StoreError, match=r"b\.jsonl\.gz"):
        write_shards(mill.store, outputs, write)
    assert mill.store.read(DOCUMENTS.shard("b")) == b"another run's"
    assert [mill.store.head(DOCUMENTS.receipt_path(name)) is not None for name in "abc"] == [True, False, False]
    assert mill.store.head(DOCUMENTS.shard("c")) is None
    assert uploads(mill) == []


def test_written_shards_have_their_receipts_in_order(mill: Mill) -> None:
    mill.store.put(DOCUMENTS.claim_path, b'{"token":"mine"}')
    outputs = [Output(mill, name) for name in "ab"]
    ground = write_shards(mill.store, outputs, lambda: outputs[1].add(7))
    assert [(each.asset, each.receipt.row.name, each.receipt.row.rows) for each in ground] == [
        (DOCUMENTS.asset, "a", 0),
        (DOCUMENTS.asset, "b", 1),
    ]
