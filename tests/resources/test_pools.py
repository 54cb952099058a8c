from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import SHELVES, environment_of

from definitions import build
from gristmill.recipes.catalogue import read_catalogue
from resources.pools import POOLS, make_pools

pytestmark = pytest.mark.slow

YAML = "concurrency: {pools: {granularity: op, default_limit: %d}}\ntelemetry: {enabled: false}\n"


def limits(instance: dg.DagsterInstance) -> dict[str, tuple[int, bool, int]]:
    """By pool: its limit, whether it is the default, its slots."""
    log = instance.event_log_storage
    return {
        pool.name: (pool.limit, pool.from_default, log.get_concurrency_info(pool.name).slot_count)
        for pool in log.get_pool_limits()
    }


def test_a_row_of_each_pool_is_made_once_and_what_people_have_set_stays(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(YAML % 4)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        instance.event_log_storage.set_concurrency_slots("train", 1)
        assert make_pools(instance) == [pool for pool in POOLS if pool != "train"]
        assert limits(instance) == dict.fromkeys(POOLS, (4, True, 4)) | {"train": (1, False, 1)}
        assert make_pools(instance) == []
    (tmp_path / "dagster.yaml").write_text(YAML % 2)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert make_pools(instance, ("mix", "train")) == ["mix"]
        found = limits(instance)
        assert (found["mix"], found["tag"], found["train"]) == ((2, True, 2), (4, True, 4), (1, False, 1))


def test_without_a_default_limit_no_row_is_made() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert make_pools(instance) == []
        assert limits(instance) == {}


def test_these_are_the_pools_of_all_definitions(tmp_path: Path) -> None:
    shelves = ("gristmill", *SHELVES)
    defined = build(environment_of(tmp_path, shelves), read_catalogue(shelves)).get_repository_def()
    assert {pool for job in defined.get_all_jobs() for pool in job.graph.pools} <= set(POOLS)
