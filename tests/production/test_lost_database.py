"""The lake is the truth: an empty database, `sync`, and Dagster shows what is there and finds nothing to do."""

from functools import cached_property
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    JOURNEY,
    LETTERS_V1,
    TINY,
    TINY_INDEX,
    TINY_LETTERS,
    Works,
    environment_of,
    letters,
)
from deployed import Deployed
from postgres import Postgres

from assets.support.keys import key_of
from definitions import build
from gristmill.recipes.catalogue import read_catalogue

SHELVES = ("gristmill", "dagshelf")
MADE = (*JOURNEY, BLEND_LETTERS, TINY_LETTERS)
LOOKED = ("raw_arrivals", "automation")


class Finished(Works):
    """A lake in which everything is made that can be, by all recipes that a deployment finds."""

    @cached_property
    def definitions(self) -> dg.Definitions:
        return build(environment_of(self.root, SHELVES), self.catalogue)

    def make(self) -> None:
        self.raw(letters(1, 2, 3))
        self.arrive("letters")
        for job, snapshot, only in (
            ("letters_journey", "2024", ()),
            ("__ASSET_JOB", "2024", (BLEND_LETTERS,)),
            ("tiny_1_train", None, ()),
            ("__ASSET_JOB", "2024", (TINY_LETTERS,)),  # starter-bpe-1 was never trained
            ("blend_index", None, (BLEND_INDEX, TINY_INDEX)),
        ):
            done = self.run(job, snapshot, only=only)
            assert done.success, (job, done.failures)


@pytest.mark.live
def test_after_the_loss_of_the_database_sync_shows_everything_and_nothing_is_ground_again(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dg.DagsterInstance.ephemeral() as before:
        works = Finished(tmp_path / "lake", before, read_catalogue(SHELVES))
        works.make()
        fingerprints = {address: works.fingerprint(address) for address in MADE}
    database = postgres.create("after-the-loss")
    quick = {"GRISTMILL_INTERVAL": "5"}
    live = Deployed(tmp_path, str(works.root), database, shelves=("dagshelf",), environment=quick, lost=True)
    try:
        for name, value in database.items():
            monkeypatch.setenv(name, value)
        with dg.DagsterInstance.from_config(str(live.home)) as instance:
            assert live.partitions(LETTERS_V1) == ["2024"]
            shown = Works(works.root, instance)
            assert {address: shown.version(address) for address in MADE} == fingerprints
            assert instance.get_latest_materialization_event(key_of(TINY))
            check = instance.event_log_storage.get_latest_asset_check_execution_by_key(
                [dg.AssetCheckKey(key_of(LETTERS_V1), "ids_stable")]
            )
            assert [record.status.value for record in check.values()] == ["SUCCEEDED"]
            live.wait(lambda: all(len(live.ticks(sensor)) >= 3 for sensor in LOOKED), "three ticks of each sensor")
            assert [run["jobName"] for run in live.runs() if run["jobName"] != "sync"] == []
    finally:
        live.close()
