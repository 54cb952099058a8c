import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from testkit import SNAPSHOT, Mill, make_documents

from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, OtherMaking, RecipeError, StoreError
from gristmill.lake.address import place
from gristmill.lake.ledger.files import (
    as_json,
    changes_in_words,
    check_made_alike,
    check_same_recipe,
    compose_ledger,
    list_ledgers,
    parse_head,
    parse_table,
    partition_fingerprint,
    read_head,
    read_ledger,
    recorded_recipe,
)
from gristmill.lake.ledger.model import Ledger, Quarantine, Recipe, Shard, Upstream
from gristmill.stages.conversion.step import ConversionStep


def test_the_head_is_canonical_and_holds_no_clock_and_no_path(mill: Mill) -> None:
    mill.raw_shards(2)
    ledger = mill.convert()
    data = mill.store.read(mill.documents().ledger)
    assert data == json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode()
    assert data == as_json(ledger)
    assert str(mill.root).encode() not in data
    assert set(json.loads(data)) == {
        "asset", "dropped", "fingerprint", "inputs", "recipe", "schema", "snapshot", "table", "totals"
    }  # fmt: skip
    assert ledger.totals["rows"] == 20
    assert ledger.totals["shards"] == 2


def test_the_table_has_a_row_a_shard_without_etags(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()
    (line,) = mill.lines(mill.documents().table)
    row = json.loads(line)
    assert line == json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
    assert (row["name"], row["rows"], row["members"]) == ("a", 3, [[0, 0]])
    assert [(i["asset"], i["shard"]) for i in row["from"]] == [("sources/pages/raw", "a.jsonl.gz")]
    assert "etag" not in line.decode()


@pytest.mark.slow
def test_two_lakes_of_the_same_data_have_the_same_ledgers(mill: Mill, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Mill(tmp_path_factory.mktemp("other"))
    for each in (mill, other):
        each.raw_shards(4)
    pool = LocalPool(2, small=0)
    try:
        assert other.convert(engine=pool) == mill.convert()
        assert other.tag("words-1", engine=pool) == mill.tag("words-1")
    finally:
        pool.close()
    assert other.tree() == mill.tree()


def test_a_partition_that_is_not_finished_is_a_data_error(mill: Mill) -> None:
    assert read_head(mill.store, mill.documents()) is None
    with pytest.raises(DataError, match=r"sources/pages/v0/documents: snapshot 2024 is not there yet"):
        read_ledger(mill.store, mill.documents())


def test_a_table_that_the_head_does_not_name_is_being_rebuilt_only_while_a_run_is_at_work(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    old = mill.store.read(mill.documents().table)
    mill.raw("a.jsonl.gz", make_documents(1))
    mill.convert()
    mill.store.put(mill.documents().table, old)
    with pytest.raises(DataError, match=r"shards\.jsonl\.gz: not the table .*; restore it, or run its asset again"):
        read_ledger(mill.store, mill.documents())
    mill.store.put(mill.documents().claim_path, b'{"token":"at work"}')
    with pytest.raises(StoreError, match="being rebuilt; try again"):
        read_ledger(mill.store, mill.documents())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"schema":"\xff'])
def test_a_broken_head_is_an_error_whose_mend_works(mill: Mill, data: bytes) -> None:
    mill.raw_shards(2)
    ledger = mill.convert()
    mill.store.put(mill.documents().ledger, data)
    with pytest.raises(DataError, match=r"ledgers/documents/2024\.json: not a ledger .*remove it"):
        mill.convert()
    mill.store.delete([mill.documents().ledger])
    assert mill.convert() == ledger
    assert mill.ground == []


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head["totals"].update(rows=1 << 70),
        lambda head: head["recipe"].update(version=1 << 70),
        lambda head: head["recipe"]["parameters"].update(more=1 << 70),
    ],
)
def test_a_head_with_a_number_that_no_digest_takes_is_an_error(
    mill: Mill, change: Callable[[dict[str, Any]], None]
) -> None:
    mill.raw_shards(1)
    head = json.loads(as_json(mill.convert()))
    change(head)
    with pytest.raises(DataError, match=r"^a\.json: not a ledger "):
        parse_head(json.dumps(head).encode(), "a.json")


def test_a_head_or_a_table_that_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(DataError, match=r"^a\.json: not a ledger "):
        parse_head(DEEP, "a.json")
    with pytest.raises(DataError, match=r"^a\.gz: not a ledger's table "):
        parse_table([DEEP], "a.gz")


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 1 << 70},
        {"extra": {"objects": []}},
        {"extra": {"objects": {"a": ["sha256"]}}},
        {"extra": {"objects": {"a": ["sha256", "1"]}}},
        {"extra": {"objects": None}},
    ],
)
def test_a_row_of_wrong_numbers_or_objects_is_an_error(change: dict[str, Any]) -> None:
    row = {"name": "a", "rows": 1, "bytes": 1, "length": 1, "from": []}
    row |= dict.fromkeys(("sha256", "content", "ids", "recipe"), "")
    assert [shard.name for shard in parse_table([json.dumps(row).encode()], "a.gz")] == ["a"]
    with pytest.raises(DataError, match=r"^a\.gz: not a ledger's table .* run its asset again$"):
        parse_table([json.dumps(row | change).encode()], "a.gz")


@pytest.mark.parametrize(
    ("schema", "words"), [(9, "schema 9.* upgrade Gristmill"), (-1, "schema -1, which no Gristmill wrote")]
)
def test_a_ledger_of_another_schema_is_an_error(mill: Mill, schema: int, words: str) -> None:
    mill.raw_shards(1)
    ledger = msgspec.structs.replace(mill.convert(), schema=schema)
    mill.store.put(mill.documents().ledger, as_json(ledger))
    with pytest.raises(DataError, match=words):
        read_head(mill.store, mill.documents())


def test_all_finished_partitions_are_listed(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1", "characters-1")
    assert [place.asset for place in list_ledgers(mill.store)] == [
        "sources/pages/v0/attributes/characters-1",
        "sources/pages/v0/attributes/words-1",
        "sources/pages/v0/documents",
    ]


def test_another_recipe_of_the_same_name_names_what_changed(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    before = mill.stamps()
    changed = dataclasses.replace(mill.source(), select=r"\.gz$", parameters={"fold": True})
    with pytest.raises(RecipeError, match=r"fold was absent, is True; select was None, is '.*next number"):
        mill.make(ConversionStep(changed, SNAPSHOT, ("gristmill", "testshelf")))
    assert mill.stamps() == before


def test_changed_recipes_are_told_by_the_fields_that_differ_in_few_words() -> None:
    days = [f"2024-01-{day:02}" for day in range(1, 32)]
    old = Recipe("bpe-1", 1, {"eos": "|", "snapshots": {"web": days}, "vocabulary": 300})
    new = Recipe("bpe-1", 1, {"eos": "|", "snapshots": {"web": [*days[:-1], "2024-02-01"]}, "vocabulary": 400})
    days_told, size_told = changes_in_words(old, new).split("; ")
    was, is_ = days_told.removeprefix("snapshots.web was ").split(", is ")
    assert was.startswith("...")
    assert (was[-13:], is_[-13:]) == ("'2024-01-31']", "'2024-02-01']")
    assert max(len(was), len(is_)) <= 80
    assert size_told == "vocabulary was 300, is 400"


def test_changed_recipes_of_many_fields_are_told_in_part() -> None:
    old, new = (Recipe("a-1", 1, {f"f{n}": value for n in range(10)} | {"g": {"h": value}}) for value in (1, 2))
    told = changes_in_words(old, new).split("; ")
    assert (len(told), told[0], told[-1]) == (9, "f0 was 1, is 2", "and 3 more fields")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"rate": 1}, {"rate": 1.0}, "rate was 1, is 1.0"),
        ({"fold": True}, {"fold": 1}, "fold was True, is 1"),
        ({"format": {"pack": 1, "length": 8}}, {"format": {"pack": 1.0, "length": 8}}, "format.pack was 1, is 1.0"),
        ({}, {"fold": None}, "fold was absent, is None"),
    ],
)
def test_a_change_that_python_takes_as_equal_is_told_too(old: dict[str, Any], new: dict[str, Any], told: str) -> None:
    before, after = Recipe("a-1", 1, old), Recipe("a-1", 1, new)
    assert before.digest != after.digest
    assert changes_in_words(before, after) == told


def test_a_draft_may_change_and_other_fields_never_count(mill: Mill) -> None:
    where = mill.documents()
    old = Recipe("a-1", 1, {"x": 1}, draft=True)
    check_same_recipe(old, Recipe("a-1", 1, {"x": 2}, draft=True), where)
    check_same_recipe(old, Recipe("a-1", 1, {"x": 1}), where)
    with pytest.raises(RecipeError, match="version was 1, is 2"):
        check_same_recipe(old, Recipe("a-1", 2, {"x": 1}), where)
    with pytest.raises(RecipeError, match="name was 'a-1', is 'b-1'"):
        check_same_recipe(old, Recipe("b-1", 1, {"x": 1}), where)


@pytest.mark.parametrize(
    ("was_draft", "is_draft", "mend"),
    [
        (True, False, r"or mark the recipe draft=True"),
        (False, True, r"a draft replaces only what a draft made"),
        (False, False, r"a draft replaces only what a draft made"),
    ],
)
def test_two_recipes_of_one_name_must_both_be_drafts(mill: Mill, mend: str, *, was_draft: bool, is_draft: bool) -> None:
    old = Recipe("a-1", 1, {"x": 1}, draft=was_draft)
    with pytest.raises(RecipeError, match=f"x was 1, is 2.*next number.*{mend}"):
        check_same_recipe(old, Recipe("a-1", 1, {"x": 2}, draft=is_draft), mill.documents())


def test_the_mark_of_a_draft_lifts_no_protection() -> None:
    final, draft = Recipe("a-1", 1, {"x": 1}), Recipe("a-1", 1, {"x": 1}, draft=True)
    assert recorded_recipe(final, draft) == final
    assert recorded_recipe(draft, final) == final
    assert recorded_recipe(draft, draft) == draft
    assert recorded_recipe(None, draft) == draft


def test_a_fingerprint_counts_rows_content_and_ids_of_each_shard_and_no_packed_bytes(mill: Mill) -> None:
    recipe, where = Recipe("a-1", 1, {}), mill.documents()
    shard = Shard("a", 1, 2, 3, "sha256", "content", "ids", recipe.digest, ())

    def fingerprint(**changes: object) -> str:
        return partition_fingerprint(where, recipe, (), [msgspec.structs.replace(shard, **changes)])

    same = [fingerprint(), fingerprint(bytes=9), fingerprint(sha256="other"), fingerprint(members=((0, 0),))]
    assert len(set(same)) == 1
    others = [fingerprint(name="b"), fingerprint(rows=2), fingerprint(content="other"), fingerprint(ids="other")]
    assert len({same[0], *others}) == 5


def test_raw_data_are_not_listed_for_ledgers(mill: Mill) -> None:
    """They may be millions of objects, or things that are none: here a FIFO, which a listing refuses."""
    mill.raw_shards(1)
    mill.convert()
    os.mkfifo(mill.root / "sources/pages/raw" / "pipe")
    assert list_ledgers(mill.store) == [mill.documents()]
    with pytest.raises(StoreError, match="pipe: a FIFO"):
        list(mill.store.list("sources/"))


def test_a_fingerprint_counts_the_asset_the_recipe_and_each_input(mill: Mill) -> None:
    recipe, upstream = Recipe("a-1", 1, {}), Upstream("sources/pages/raw", "2024", "1")
    others = [
        partition_fingerprint(mill.documents(), recipe, (upstream,), []),
        partition_fingerprint(mill.documents("v1"), recipe, (upstream,), []),
        partition_fingerprint(mill.documents(), Recipe("a-1", 2, {}), (upstream,), []),
        partition_fingerprint(mill.documents(), recipe, (), []),
        partition_fingerprint(mill.documents(), recipe, (Upstream("sources/pages/raw", "2024", "2"),), []),
        partition_fingerprint(msgspec.structs.replace(mill.documents(), snapshot="2025"), recipe, (upstream,), []),
    ]
    assert len(set(others)) == 6


def test_refused_rows_of_all_shards_are_in_the_totals(mill: Mill) -> None:
    recipe = Recipe("a-1", 1, {})
    shards = [
        Shard(name, 5, 9, 9, "", "", "", recipe.digest, (), quarantine=Quarantine(rows, 1, ""))
        if rows
        else Shard(name, 5, 9, 9, "", "", "", recipe.digest, ())
        for name, rows in (("a", 2), ("b", 0), ("c", 3))
    ]
    totals = compose_ledger(mill.documents(), recipe, (), shards).totals
    assert (totals["rows"], totals["quarantined"]) == (15, 5)


V0, V1, NOTES = "sources/pages/v0/documents", "sources/pages/v1/documents", "sources/notes/v0/documents"
BLEND = place("mixes/blend/documents/pages", "2024")


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ([V0], [V0]),
        ([V0], [V0, NOTES]),  # one more source
        ([V0, V1], [V1, V0]),  # a carried set reads both versions
        ([], [V0]),  # an earlier version of Gristmill may not have recorded it
        (["sources/pages/raw"], ["sources/pages/raw"]),
        ([V0, "sources/pages/v0/attributes/words-1"], [V0]),
    ],
)
def test_what_is_made_of_the_same_versions_is_accepted(was: list[str], now: list[str]) -> None:
    check_made_alike(head_of(was, draft=False), Recipe("a-1", 1, {}), read(now), BLEND)


@pytest.mark.parametrize(("was", "now"), [([V0], [V1]), ([V1], [V0]), ([V0], [NOTES]), ([V0, NOTES], [V1, NOTES])])
def test_another_version_of_the_documents_is_another_making_unless_both_are_drafts(
    was: list[str], now: list[str]
) -> None:
    for was_draft, is_draft in ((False, False), (False, True), (True, False)):
        with pytest.raises(OtherMaking, match=rf"pages \(2024\) was made of .*{now[0]}.*under the next number"):
            check_made_alike(head_of(was, draft=was_draft), Recipe("a-1", 1, {}, draft=is_draft), read(now), BLEND)
    check_made_alike(head_of(was, draft=True), Recipe("a-1", 1, {}, draft=True), read(now), BLEND)


def test_a_ledger_that_was_moved_below_another_name_says_nothing_of_versions() -> None:
    moved = msgspec.structs.replace(head_of([V0], draft=False), asset="mixes/other/documents/pages")
    check_made_alike(moved, Recipe("a-1", 1, {}), read([V1]), BLEND)


def head_of(assets: list[str], *, draft: bool) -> Ledger:
    return compose_ledger(BLEND, Recipe("a-1", 1, {}, draft), read(assets), [])


def read(assets: list[str]) -> tuple[Upstream, ...]:
    return tuple(Upstream(each, "2024", "f") for each in assets)
