"""Token places: documents held out and dropped, in caches of today and in those of Gristmill 0.1."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from testkit import SHELVES, SNAPSHOT, Mill, put_list
from tracelake import CACHE, even, in_mix, make_trace_lake, spell, where, whose
from wholelake import reseal

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import dump_ledger, load_ledger
from gristmill.lake.address import place
from gristmill.lake.rows.bitmap import pack_bits, unpack_bits
from gristmill.recipes.row_format import Text
from gristmill.stages.mixing.step import stream_step
from gristmill.tracing.tokens import TokenPlace

HERE = place(CACHE, SNAPSHOT)


def tokens(mill: Mill) -> dict[int, TokenPlace]:
    return {number: where(mill, number).token_caches[0] for number in in_mix()}


def say(mill: Mill, change: Any) -> None:
    """Lets the cache's table say something else of each shard."""
    rows = []
    for row in mill.table(HERE).values():
        shards = {name: change(name, dict(said)) for name, said in row.extra["shards"].items()}
        rows.append(msgspec.structs.replace(row, extra={**row.extra, "shards": shards}))
    reseal(mill, HERE, rows)


@pytest.mark.slow
def test_a_cache_that_does_not_say_who_was_held_out_is_drawn_once_more(mill: Mill) -> None:
    before = tokens(mill)
    assert {each.split for each in before.values()} == {"train", "validation"}

    def silent(_: str, said: dict[str, Any]) -> dict[str, Any]:
        return {"content": said["content"], "ranges": said["ranges"]}

    say(mill, silent)
    assert tokens(mill) == before
    for split in ("train", "validation"):
        assert whose(mill, 0, split).document.token_caches[0].tokens == whose(mill, 1, split).tokens


@pytest.mark.slow
def test_without_a_validation_split_every_document_trains(tmp_path: Path) -> None:
    mill = make_trace_lake(tmp_path / "lake", even(validation=0.0))
    found = tokens(mill)
    assert {each.split for each in found.values()} == {"train"}
    with pytest.raises(DataError, match=r"validation/shard_ledger.json: does not exist yet"):
        whose(mill, 0, "validation")


@pytest.mark.slow
def test_documents_dropped_by_their_format_have_no_row_and_shift_no_other(tmp_path: Path) -> None:
    titles = Text(text_key="title", on_trouble="drop")
    mill = make_trace_lake(tmp_path / "lake", even(format=titles))
    found = tokens(mill)
    dropped = [number for number, each in found.items() if not each.split]
    assert dropped == [number for number in in_mix() if number % 8 == 0]
    assert {found[number].why for number in dropped} == {
        "dropped when it was tokenized: its row had an error, and the stream's format drops such rows"
    }
    for number in set(found) - set(dropped):
        there = found[number]
        assert there.tokens is not None
        assert {whose(mill, offset, there.split).document.id for offset in range(*there.tokens)} == {f"doc-{number}"}


def test_a_cache_whose_flags_do_not_fit_its_ranges_is_an_error(mill: Mill) -> None:
    def turned(name: str, said: dict[str, Any]) -> dict[str, Any]:
        rows = mill.table(place("mixes/even/documents/pages", SNAPSHOT))[name].rows
        return {**said, "held": pack_bits(~unpack_bits(said["held"], rows))}

    say(mill, turned)
    with pytest.raises(DataError, match=r"documents by split are .*; make the cache again"):
        where(mill, 4)
    with pytest.raises(DataError, match=r"documents by split are .*; make the cache again"):
        whose(mill, 0)


def test_a_cache_that_lacks_a_shard_is_due(mill: Mill) -> None:
    rows = [msgspec.structs.replace(row, extra={**row.extra, "shards": {}}) for row in mill.table(HERE).values()]
    reseal(mill, HERE, rows)
    assert where(mill, 4).token_caches[0].why == "has no shard a: it is due to be rebuilt"
    with pytest.raises(DataError, match="belongs to no shard of mixes/even/documents/pages"):
        whose(mill, 0)


def test_a_part_that_no_ledger_names_any_longer_is_an_error(mill: Mill) -> None:
    rows = []
    for row in mill.table(HERE).values():
        folders = {split: folder.replace("part-", "part-9") for split, folder in row.extra["folders"].items()}
        rows.append(msgspec.structs.replace(row, extra={**row.extra, "folders": folders}))
    reseal(mill, HERE, rows)
    with pytest.raises(DataError, match="no ledger names this part any longer"):
        whose(mill, 0)
    assert where(mill, 4).token_caches[0].why.startswith("not in the cache's index")


@pytest.mark.slow
def test_offsets_count_through_the_parts_in_the_order_of_the_index(mill: Mill) -> None:
    path = f"{CACHE}/train/shard_ledger.json"
    ledger = load_ledger(mill.store.read(path), path)
    before = tokens(mill)
    turned = ledger["finished_shards"][::-1]
    assert len(turned) == 3
    mill.store.put(path, dump_ledger({**ledger, "finished_shards": turned}))
    counts = {part: ledger["field_counts_by_shard"][part]["input_ids"] for part in turned}
    for number, there in tokens(mill).items():
        was = before[number].tokens
        assert was is not None
        assert there.tokens is not None
        if there.split == "validation":
            assert there.tokens == was
            continue
        part = next(part for part in turned if there.part.endswith(f"/{part}/"))
        ahead, behind = turned[: turned.index(part)], turned[turned.index(part) + 1 :]
        assert there.tokens[0] - was[0] == sum(counts[p] for p in ahead) - sum(counts[p] for p in behind)
        assert whose(mill, there.tokens[0]).document.id == f"doc-{number}"


@pytest.mark.slow
def test_a_part_of_which_one_shard_was_made_again_is_traced_all_the_same(tmp_path: Path) -> None:
    mix = even(parts=2)
    mill = make_trace_lake(tmp_path / "lake", mix)

    def silent(_: str, said: dict[str, Any]) -> dict[str, Any]:
        return {"content": said["content"], "ranges": said["ranges"]}

    say(mill, silent)
    put_list(mill.store, b"")
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    spell(mill, mix)
    (part,) = mill.table(HERE).values()
    assert [bool(said.get("held")) for said in part.extra["shards"].values()] == [True] * 3  # uncounted: made again
    numbers = list(range(0, 90, 4))
    found = [where(mill, number).token_caches[0] for number in numbers]
    for number, there in zip(numbers, found, strict=True):
        assert there.tokens is not None
        assert whose(mill, there.tokens[0], there.split).document.id == f"doc-{number}"
    assert {each.split for each in found} == {"train", "validation"}
