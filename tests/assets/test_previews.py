"""The preview of a mix through Dagster, beside what the build made."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, SHELVES, Works, letters

from gristmill.lake.address import mix_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.catalogue import read_catalogue

PREVIEW = "mixes/blend/preview"


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """A finished lake: letters of two to eight words, and nothing in the diary."""
    with dg.DagsterInstance.ephemeral() as instance:
        shelves = read_catalogue(SHELVES)
        budgeted = {**shelves.mixes, "blend": replace(shelves.mixes["blend"], token_budget=1000)}
        catalogue = replace(shelves, mixes=budgeted)
        made = Works(tmp_path_factory.mktemp("works") / "lake", instance, catalogue)
        made.raw(letters(*range(2, 9)))
        made.know("2024")
        made.whole()
        yield made


def test_the_materialization_has_the_counts_of_the_build_and_no_texts(works: Works) -> None:
    done = works.run("__ASSET_JOB", None, only=[PREVIEW])
    assert done.success, done.failures
    found = done.metadata(PREVIEW)
    ledger, _ = read_ledger(works.store, place(mix_asset("blend", "letters"), "2024"))
    assert found["letters: rows kept"] == ledger.totals["rows"]
    rows = {record.data["reason"]: record.data for record in found["letters: rows by reason"].records}
    assert not rows["kept"]["condition"]
    assert rows["kept"]["rows of this rule only"] is None
    assert rows["kept"]["bytes unpacked"] == ledger.totals["length"]
    assert rows["kept"]["estimated tokens"] > 0
    dropped = {name: row["rows"] for name, row in rows.items() if name not in {"all", "kept"}}
    assert {name: count for name, count in dropped.items() if count} == ledger.dropped
    assert (found["how tokens are counted"], found["tokens in training"]) == ("estimated from this preview", 1000)
    assert found["diary: not read"] == "no snapshot of its documents is finished"
    assert not any("| " in str(value) for value in found.values())
    assert [entry.path for entry in works.store.list(f"{PREVIEW}/")] == []


def test_the_index_of_the_mix_shows_how_training_would_read_its_streams(works: Works) -> None:
    done = works.run("__ASSET_JOB", None, only=["mixes/blend/index"])
    assert done.success, done.failures
    found = done.metadata("mixes/blend/index")
    rows = {record.data["stream"]: record.data for record in found["streams in training"].records}
    assert found["how tokens are counted"].startswith("tokenizer ")
    assert rows["letters"]["tokens read"] == 1000


@pytest.mark.slow
def test_an_edition_that_the_index_does_not_take_is_told(tmp_path: Path) -> None:
    """Three editions have 8 letters, and the newest has 1."""
    known = read_catalogue(SHELVES)
    sources = {**known.sources, "letters": replace(known.sources["letters"], snapshots="replace")}
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path / "lake", instance, replace(known, sources=sources))
        for count, year in ((8, "2021"), (8, "2022"), (8, "2023"), (1, "2024")):
            works.raw(letters(*range(2, 2 + count)), snapshot=year)
            works.know(year)
            for done in works.run("letters_journey", year), works.run("__ASSET_JOB", year, only=[BLEND_LETTERS]):
                assert done.success, done.failures
        found = works.run("__ASSET_JOB", None, only=[PREVIEW]).metadata(PREVIEW)
    assert found["the index of the mix"].startswith(
        "stream 'letters': edition 2024 has 1 rows, less than half of 8, the"
    )
