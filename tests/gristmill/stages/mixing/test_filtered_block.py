"""The rows of a block that a selection keeps: copied as bytes, but for those that were edited."""

import json

import pytest
import xxhash
from testkit import Mill, make_documents

from gristmill.errors import DataError
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.identity import IdDigest, Pair
from gristmill.lake.ledger.id_index import IdIndex, hash_pair
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.shard_file import MEMBER, member_rows
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.filtered_block import FilteredBlock
from gristmill.stages.mixing.row_filter import RowFilter

ROWS = 40
ENGLISH = Selection(  # every other document of the testkit
    columns=(field("metadata.language", name="lang"),), include=(Rule("english", "lang = 'en'", "for the test"),)
)


def only_block(mill: Mill, selection: Selection) -> FilteredBlock:
    mill.raw("a.jsonl.gz", make_documents(ROWS))
    mill.convert()
    documents = mill.documents()
    (block,) = RowFilter(mill.store, documents, selection, []).blocks(mill.table(documents)["a"], {}, {})
    return block


def edit(block: FilteredBlock, number: int, text: str) -> bytes:
    return json.dumps(json.loads(block.block.splitlines()[number]) | {"text": text}).encode()


def written(mill: Mill, block: FilteredBlock) -> Shard:
    writer = DocumentWriter(mill.store, OneAssetSpec(place=mill.stream(), token="", recipe="recipe"), "a")
    writer.write(*block.kept_rows())
    writer.dropped = block.dropped_counts()
    return writer.close().row


@pytest.mark.parametrize("selection", [Selection(), ENGLISH], ids=["all are kept", "half are dropped"])
def test_edited_rows_are_written_in_the_place_of_the_old_ones_and_all_others_as_they_were(
    mill: Mill, selection: Selection
) -> None:
    block = only_block(mill, selection)
    edits = {4: edit(block, 4, "short"), 30: edit(block, 30, "long " * MEMBER)}
    shard = written(mill, block.with_edits(edits))

    old = block.block.splitlines()
    kept = [number for number in range(ROWS) if selection is not ENGLISH or number % 2 == 0]
    expected = [edits.get(number, old[number]) for number in kept]
    pairs: list[Pair] = [("pages", f"doc-{number:05d}") for number in kept]
    path = mill.stream().shard("a")
    assert mill.lines(path) == expected
    plain = b"".join(row + b"\n" for row in expected)
    assert (shard.rows, shard.length) == (len(expected), len(plain))
    assert shard.content == xxhash.xxh3_128_hexdigest(plain)
    assert shard.dropped == ({"english": ROWS // 2} if selection is ENGLISH else {})

    digest = IdDigest()
    digest.update(pairs)
    assert shard.ids == digest.hexdigest()
    index = IdIndex(mill.store, mill.stream(), shard)
    assert len(shard.members) > 1
    for row, pair in enumerate(pairs):
        place = index.find_position(hash_pair(pair))
        assert place is not None
        assert index.row_at(place) == row
        first = max(first for _, first in shard.members if first <= row)
        members = list(shard.members)
        assert member_rows(mill.store, path, members, shard.bytes, row)[row - first] == expected[row]


def test_a_block_that_is_kept_whole_and_unedited_is_handed_on_as_it_is(mill: Mill) -> None:
    block = only_block(mill, Selection())
    rows, pairs = block.kept_rows()
    assert rows is block.block
    assert pairs is block.pairs
    assert written(mill, block).content == mill.table(mill.documents())["a"].content


def test_an_edit_of_a_dropped_row_writes_nothing(mill: Mill) -> None:
    block = only_block(mill, ENGLISH)
    assert block.with_edits({3: edit(block, 3, "never seen")}).kept_rows() == block.kept_rows()
    nothing = block._replace(decisions=block.decisions * 0 + 1).with_edits({4: edit(block, 4, "never seen")})
    assert nothing.kept_rows() == (b"", [])


def test_an_edit_that_is_not_the_same_document_on_one_line_is_refused(mill: Mill) -> None:
    block = only_block(mill, Selection())
    good = edit(block, 4, "short")
    for number, row, message in (
        (ROWS, good, f"row {ROWS} of a block that has {ROWS} rows"),
        (5, good, "row 5: an edit must keep the row on one line, with its source and id"),
        (4, good.replace(b", ", b",\n"), "row 4: an edit must keep the row on one line"),
        (4, good + b"\n", "row 4: an edit must keep the row on one line"),
        (4, good[:-1], "row 4: its edited bytes are not a row"),
    ):
        with pytest.raises(DataError, match=message):
            block.with_edits({number: row})
