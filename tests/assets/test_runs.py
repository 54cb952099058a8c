"""Real runs of the named jobs: what they make, what they say of it, and what a second one does."""

import json

import pytest
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY,
    TINY_INDEX,
    TINY_LETTERS,
    Works,
    letters,
)

CHECKS = {
    f"{LETTERS_V0}:ids_unique",
    "sources/letters/v0/attributes/count-1:row_alignment",
    f"{LETTERS_V1}:ids_unique",
    f"{LETTERS_V1}:ids_stable",
    f"{COUNT_V1}:row_alignment",
    f"{MOODY_V1}:row_alignment",
    *(f"{address}:volume" for address in JOURNEY),
}


@pytest.mark.slow
def test_a_journey_makes_every_version_and_set_of_its_snapshot(works: Works) -> None:
    works.raw(letters(1, 2, 3), "a")
    works.raw(letters(4, 5, 6), "b")
    works.raw(letters(7), "a", snapshot="2025")
    works.arrive("letters")
    done = works.run("letters_journey")
    assert done.success
    assert set(done.made) == set(JOURNEY)
    assert {event.partition for event in done.made.values()} == {"2024"}
    assert works.materialized(MOODY_V1) == {"2024"}
    assert works.ids(LETTERS_V1) == ["letter-2", "letter-3"]  # letter-1 has one word


def test_the_data_version_is_the_fingerprint_of_the_ledger(milled: Works) -> None:
    for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS):
        assert milled.version(address) == milled.fingerprint(address) != ""
    assert milled.version(TINY, None)
    assert milled.version(BLEND_INDEX, None) != milled.version(TINY_INDEX, None)


@pytest.mark.slow
def test_every_check_passes_and_names_its_partition(milled: Works) -> None:
    done = milled.run("letters_journey")
    assert set(done.checks) == CHECKS
    refreshed = milled.refresh()
    compared = {f"{BLEND_LETTERS}:volume", f"{TINY_LETTERS}:volume"}
    blocking = {f"{BLEND_LETTERS}:blocklist_respected", f"{TINY_LETTERS}:cache_complete"}
    own = {name: each for name, each in refreshed.checks.items() if not name.endswith("_audit")}
    assert set(own) == compared | blocking
    for check in (*done.checks.values(), *own.values()):
        usual = check.check_name == "volume"  # it blocks only if the recipe has bounds
        assert (check.passed, check.blocking, check.partition) == (True, not usual, "2024")
        assert usual or check.metadata["shards"].value in {1, 2}


@pytest.mark.slow
def test_a_second_run_keeps_everything_says_so_and_materializes_it_again(milled: Works) -> None:
    before = {address: milled.version(address) for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS)}
    done = milled.run("letters_journey")
    assert set(done.made) == set(JOURNEY)
    assert done.said == [f"{address}: 0 shards to grind, 2 kept, 0 gone" for address in JOURNEY]
    assert [done.metadata(address)["shards kept"] for address in JOURNEY] == [2] * 5
    refreshed = milled.refresh()
    assert refreshed.said == [
        f"{BLEND_LETTERS}: 0 shards to grind, 2 kept, 0 gone",
        f"{TINY_LETTERS}: 0 shards to grind, 1 kept, 0 gone",
    ]
    assert {address: milled.version(address) for address in before} == before


@pytest.mark.slow
def test_one_changed_raw_object_grinds_its_own_shard_alone(milled: Works) -> None:
    milled.raw(letters(4, 5, 6, 7), "b")
    done = milled.run("letters_journey")
    assert [done.metadata(address)["shards ground"] for address in JOURNEY] == [1] * 5
    assert milled.ids(LETTERS_V1, "b") == ["letter-4", "letter-5", "letter-6", "letter-7"]


@pytest.mark.slow
def test_force_grinds_all_of_it_to_the_same_fingerprints(milled: Works) -> None:
    before = {address: milled.version(address) for address in JOURNEY}
    done = milled.run("letters_journey", engine={"force": True})
    assert [done.metadata(address)["shards ground"] for address in JOURNEY] == [2] * 5
    assert {address: milled.version(address) for address in JOURNEY} == before


@pytest.mark.slow
def test_worker_processes_make_what_one_process_makes(works: Works) -> None:
    """Two raw objects of more than a megabyte together: enough to be worth the workers."""
    long = [{"id": f"long-{n}", "text": "word " * 30_000, "source": "letters"} for n in range(8)]
    raw = [b"".join(_line(row) for row in long[:4]), b"".join(_line(row) for row in long[4:])]
    for name, data in zip("ab", raw, strict=True):
        works.store.put(f"sources/letters/raw/2024/{name}.jsonl", data)
    works.arrive("letters")
    done = works.run("letters_journey", engine={"kind": "local", "workers": 2})
    assert done.success
    spread = {address: works.version(address) for address in JOURNEY}
    assert works.run("letters_journey", engine={"force": True}).success
    assert {address: works.version(address) for address in JOURNEY} == spread


def _line(row: dict[str, str]) -> bytes:
    return json.dumps(row).encode() + b"\n"


@pytest.mark.slow
def test_a_token_cache_before_its_tokenizer_says_what_to_do(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.run("letters_journey")
    done = works.refresh()
    assert set(done.made) == {BLEND_LETTERS}
    made = "`gristmill make LAKE tokenizers/tiny-1`, or the job `tiny_1_train` in Dagster"
    assert list(done.failures.values()) == [f"tokenizers/tiny-1: not there yet; make it: {made}"]


@pytest.mark.slow
def test_a_snapshot_without_raw_objects_is_a_failure_that_says_where_to_put_them(works: Works) -> None:
    works.know("2031")
    done = works.run("letters_journey", "2031")
    assert done.made == {}
    [said] = done.failures.values()
    assert said.startswith("sources/letters/raw: snapshot 2031 has no raw objects that the source reads")
    assert "put them under sources/letters/raw/2031/" in said
