"""A mix that fails a check of its index: nobody gets a configuration to train on it, nor a release of an export."""

from dataclasses import replace

import pytest
from packedlake import INDEX, indexes_of, make_caches
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.errors import DataError
from gristmill.lake.address import mix_asset, place
from gristmill.lake.ledger.files import as_json, read_head
from gristmill.lake.ledger.index_ledger import compose_index
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.export.step import ExportStep

TWICE = Mix(
    name="packed",
    streams=(Stream(source="pages", version="v0", name="texts"), Stream(source="pages", version="v0", name="again")),
    draft=True,
)
JSONL = Export(name="jsonl", mixes=("packed",), format=EnergonJsonl())
EXPORTED = "exports/packed/jsonl/index"


def test_streams_that_share_documents_have_no_index_of_tokens_or_exports_either(mill: Mill) -> None:
    make_caches(mill, TWICE, texts=[8, 8])
    for stream in TWICE.streams:
        mill.make(ExportStep(TWICE, stream.key, JSONL, SNAPSHOT, SHELVES))
    indexes = replace(indexes_of(mill, TWICE), exports=(JSONL,))
    for address in ("mixes/packed/index", INDEX, EXPORTED):
        with pytest.raises(DataError, match="the streams 'texts' and 'again' share 2 documents"):
            indexes.write(mill.store, address)
        assert list(mill.store.list(f"{address}/")) == []


def test_what_an_index_of_the_mix_closes_was_checked_and_is_not_read_again(mill: Mill) -> None:
    make_caches(mill, TWICE, texts=[8, 8])
    heads = [read_head(mill.store, place(mix_asset("packed", name), SNAPSHOT)) for name in ("texts", "again")]
    closed = [head.upstream for head in heads if head is not None]
    mill.store.put("mixes/packed/index/ledger.json", as_json(compose_index("mixes/packed/index", closed, {})))
    indexes_of(mill, TWICE).write(mill.store, INDEX)
    mill.store.put("mixes/packed/index/ledger.json", b"{")
    with pytest.raises(DataError, match="share 2 documents"):
        indexes_of(mill, TWICE).write(mill.store, INDEX)
