from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from assets.support.arrivals import DATA_VERSION, data_versions
from assets.support.runs.runless_events import MOST, RunlessEvent, record_events

KEY = dg.AssetKey(["sources", "letters", "raw"])


def events(kind: type[RunlessEvent], count: int) -> list[RunlessEvent]:
    return [
        kind(KEY, partition=f"day-{n}", tags={DATA_VERSION: f"version-{n}"}, description="seen", metadata={"rows": n})
        for n in range(count)
    ]


def shown(instance: dg.DagsterInstance) -> list[Any]:
    """What Dagster shows of the asset, without the times."""
    found = [
        *instance.fetch_materializations(KEY, limit=99).records,
        *instance.fetch_observations(KEY, limit=99).records,
    ]
    [record] = instance.get_asset_records([KEY])
    newest = record.asset_entry.last_materialization_record
    told = [(each.storage_id, each.run_id, each.event_log_entry._replace(timestamp=0)) for each in found]
    return [told, newest and newest.storage_id, data_versions(instance, KEY), instance.get_materialized_partitions(KEY)]


@pytest.mark.parametrize("kind", [dg.AssetMaterialization, dg.AssetObservation])
def test_a_batch_is_recorded_as_dagsters_own_reports_are(tmp_path: Path, kind: type[RunlessEvent]) -> None:
    for name in ("one by one", "batch"):
        (tmp_path / name).mkdir()
    told = events(kind, 3)
    with (
        dg.DagsterInstance.local_temp(str(tmp_path / "one by one")) as single,
        dg.DagsterInstance.local_temp(str(tmp_path / "batch")) as batch,
    ):
        for each in told:
            single.report_runless_asset_event(each)
        record_events(batch, told)
        assert shown(batch) == shown(single)
        assert len(shown(batch)[0]) == 3


def test_a_batch_takes_three_transactions_and_not_one_an_event(tmp_path: Path) -> None:
    commits: list[object] = []
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        record_events(instance, events(dg.AssetMaterialization, 1))

        def count(connection: object) -> None:
            commits.append(connection)

        event.listen(Engine, "commit", count)
        try:
            record_events(instance, events(dg.AssetMaterialization, MOST))
        finally:
            event.remove(Engine, "commit", count)
        assert len(commits) == 3
        assert len(data_versions(instance, KEY)) == MOST


def test_an_event_whose_version_a_killed_process_has_not_written_has_none_and_is_reported_again(tmp_path: Path) -> None:
    told = events(dg.AssetMaterialization, 2)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        with pytest.MonkeyPatch.context() as killed:
            killed.setattr(type(instance.event_log_storage), "store_asset_event_tags", _killed)
            with pytest.raises(KeyboardInterrupt):
                record_events(instance, told)
        assert data_versions(instance, KEY) == {}
        record_events(instance, told)
        assert data_versions(instance, KEY) == {"day-0": "version-0", "day-1": "version-1"}


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt
