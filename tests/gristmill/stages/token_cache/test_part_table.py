import json
from collections.abc import Callable
from typing import Any

import msgspec
from testkit import Mill
from wholelake import CACHE, STREAM, table

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.stages.token_cache.part_table import check_cache_complete


def test_a_cache_of_all_shards_is_complete(whole: Mill) -> None:
    verdict = check_cache_complete(whole.store, table(whole, STREAM), table(whole, CACHE), CACHE)
    assert verdict.passed, verdict.description
    assert verdict.metadata["rows"] == 8


def test_a_shard_in_no_part_in_two_parts_or_from_nowhere_is_named(whole: Mill) -> None:
    documents, parts = table(whole, STREAM), table(whole, CACHE)
    assert "shard a of the mix is in no part" in check_cache_complete(whole.store, documents, [], CACHE).description
    twice = [*parts, *(msgspec.structs.replace(part, name="part-00099") for part in parts)]
    assert "not in exactly one" in check_cache_complete(whole.store, documents, twice, CACHE).description
    assert "is not a shard of the mix" in check_cache_complete(whole.store, documents[:1], parts, CACHE).description


def test_other_content_and_other_rows_than_the_mix_has_are_named(whole: Mill) -> None:
    (a, b), parts = table(whole, STREAM), table(whole, CACHE)
    other = msgspec.structs.replace(a, content="0" * 32)
    assert "another version of its content" in check_cache_complete(whole.store, [other, b], parts, CACHE).description
    longer = msgspec.structs.replace(b, rows=5)
    assert "shard b has 5 documents" in check_cache_complete(whole.store, [a, longer], parts, CACHE).description


def test_a_gap_in_the_ranges_is_named(whole: Mill) -> None:
    documents, parts = table(whole, STREAM), table(whole, CACHE)
    shards = parts[0].extra["shards"]
    name = next(iter(shards))
    moved = {name: {**shards[name], "ranges": {"train": [1, *shards[name]["ranges"]["train"][1:]]}}}
    extra = {**parts[0].extra, "shards": {**shards, **moved}}
    verdict = check_cache_complete(
        whole.store, documents, [msgspec.structs.replace(parts[0], extra=extra), *parts[1:]], CACHE
    )
    assert "begins at row 1 and token 0, not at 0 and 0" in verdict.description


def test_a_missing_or_shortened_object_of_a_part_is_named(whole: Mill) -> None:
    documents, parts = table(whole, STREAM), table(whole, CACHE)
    path = next(path for path in parts[0].extra["objects"] if path.endswith("data/c/0"))
    whole.store.put(path, whole.store.read(path)[:-1])
    assert check_cache_complete(whole.store, documents, parts, CACHE).description.startswith(
        f"{path}: the object's bytes"
    )
    whole.store.delete([path])
    assert f"{path}: there is no such object" in check_cache_complete(whole.store, documents, parts, CACHE).description


def tell(mill: Mill, path: str, change: Callable[[dict[str, Any]], object]) -> str:
    """What is said when a part's own ledger tells something else, in as many bytes."""
    before = mill.store.read(path)
    ledger = json.loads(before)
    change(ledger)
    data = json.dumps(ledger).encode()
    assert len(data) == len(before)
    mill.store.put(path, data)
    return check_cache_complete(mill.store, table(mill, STREAM), table(mill, CACHE), CACHE).description


def test_a_part_whose_own_ledger_says_otherwise_is_named(whole: Mill) -> None:
    path = table(whole, CACHE)[0].extra["folders"]["train"] + LEDGER_NAME
    before = whole.store.read(path)
    ledger = json.loads(before)
    rows, names, tokens = ledger["shard_rows"], ledger["finished_shards"], ledger["field_counts"]["input_ids"]
    renamed = {"z" if name == names[0] else name: count for name, count in rows.items()}
    assert f"{path}: its shards and their rows are not those of our ledger" in tell(
        whole, path, lambda told: told.update(shard_rows=renamed, finished_shards=["z", *names[1:]])
    )
    whole.store.put(path, before)
    said = tell(whole, path, lambda told: told["field_counts"].update(input_ids=tokens ^ 1))
    total = sum(rows.values())
    assert said.startswith(f"{path}: {total} rows and {tokens ^ 1} tokens, but {total} and {tokens} in our ledger")


def test_totals_that_are_no_sums_are_named(whole: Mill) -> None:
    first, *others = table(whole, CACHE)
    for name, number in (("rows", first.rows), ("bytes", first.bytes)):
        lied = msgspec.structs.replace(first, **{name: number + 1})
        said = check_cache_complete(whole.store, table(whole, STREAM), [lied, *others], CACHE).description
        assert f"part {first.name}: {number + 1} {name}, but they sum to {number}" in said


def test_statistics_that_are_no_sums_or_lack_their_lengths_are_named(whole: Mill) -> None:
    first, *others = table(whole, CACHE)

    def told(**changes: object) -> str:
        lied = msgspec.structs.replace(first, **changes)
        return check_cache_complete(whole.store, table(whole, STREAM), [lied, *others], CACHE).description

    no_sums = f"part {first.name}: its statistics are not the sums over its shards"
    assert no_sums in told(counts=first.counts | {"text bytes": 5})
    assert no_sums in told(counts=first.counts | {"unknown tokens": 1})
    assert no_sums in told(dropped={"too long": 1})
    extra = json.loads(json.dumps(first.extra))
    extra["shards"]["a"]["facts"].pop("lengths")
    assert f"part {first.name}: its shard a has no lengths of rows, but statistics are there" in told(extra=extra)
    for shard in extra["shards"].values():
        shard.pop("facts")
    assert f"part {first.name}" not in told(extra=extra)  # as Gristmill 0.1 wrote it
