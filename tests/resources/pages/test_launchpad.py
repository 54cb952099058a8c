"""What the launchpad refuses: the real web server is asked by tests/resources/test_guarded_webserver.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import SHELVES, environment_of

from assets.purge import PurgeRequest
from assets.tokens.packing import PackingRequest
from definitions import build
from gristmill.errors import DataError
from gristmill.recipes.catalogue import read_catalogue
from resources.pages.launchpad import BOUNDS, check_bounds, check_snapshot, with_bounds


def config(workers: Any) -> dict[str, Any]:
    return {"resources": {"engine": {"config": {"kind": "local", "workers": workers}}}, "ops": {"a": 1}}


@pytest.mark.parametrize("workers", [0, -1, 257])
def test_workers_out_of_their_bounds_are_words_in_their_place_and_all_else_stays(workers: int) -> None:
    yaml = f"ops: {{a: 1}}\nresources:\n  engine:\n    config: {{kind: local, workers: {workers}}}\n"
    for given in (config(workers), yaml):
        assert with_bounds(given) == config(f"{workers}; give 1 to 256")
        with pytest.raises(DataError, match=f"resources.engine.config.workers is {workers}; give 1 to 256"):
            check_bounds(given)


def op_config(op: str, **numbers: int | str) -> dict[str, Any]:
    return {"ops": {op: {"config": {"only_count": True, **numbers}}}}


PACKING = "token_caches__blend__tiny_1__index__packing"


@pytest.mark.parametrize(
    ("op", "name", "wrong", "words"),
    [
        ("remove_old", "run_days", 0, "0; give 1 to 36,500"),
        ("remove_old", "tick_days", 36_501, "36501; give 1 to 36,500"),
        (PACKING, "length", 1, "1; give 2 to 16,777,216"),
    ],
)
def test_so_are_the_numbers_of_ops(op: str, name: str, wrong: int, words: str) -> None:
    given = op_config(op, **{name: wrong})
    assert with_bounds(given) == op_config(op, **{name: words})
    with pytest.raises(DataError, match=f"the run configuration: ops.{op}.config.{name} is {words}"):
        check_bounds(given)
    other = op_config("another", **{name: wrong})
    assert with_bounds(other) is other


def configured(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of numbers in the schema of a job's run configuration."""
    fields = getattr(kind, "fields", None) or {}
    inner = getattr(kind, "inner_type", None) if kind.kind.name == "NONEABLE" else None
    if inner is not None:
        yield from configured(inner, path)
    if kind.given_name == "Int":
        yield path
    for name, field in fields.items():
        yield from configured(field.config_type, (*path, name))


def test_each_number_of_a_run_configuration_has_bounds_and_the_ops_have_the_same_ones() -> None:
    loaded = build(environment_of(Path("nowhere")), read_catalogue(SHELVES)).get_repository_def()
    schemas = [job.run_config_schema.run_config_schema_type for job in loaded.get_all_jobs()]
    places = {path for schema in schemas for path in configured(schema) if path[0] in {"ops", "resources"}}
    assert {path[-1] for path in places} == {"workers", "run_days", "tick_days", "length"}
    for path in places:
        (pattern,) = [each for each in BOUNDS if all(map(fnmatchcase, path, each))]
        declared = {**PurgeRequest.model_fields, **PackingRequest.model_fields}.get(path[-1])
        if declared is not None:
            bounds = {type(each).__name__: each for each in declared.metadata}
            assert (bounds["Ge"].ge, bounds["Le"].le) == BOUNDS[pattern]


@pytest.mark.parametrize(
    "given",
    [
        config(1),
        config(256),
        config("four"),
        config(workers=True),
        None,
        {},
        "",
        "a text",
        "{not yaml",
        "resources: {engine: {config: {workers: 3}}}",
        {"resources": None},
        {"resources": {"engine": []}},
    ],
)
def test_what_is_within_bounds_or_dagster_refuses_by_itself_stays_as_it_is(given: Any) -> None:
    assert with_bounds(given) is given
    check_bounds(given)


LETTERS = dg.DynamicPartitionsDefinition(name="snapshots/letters")
DIARY = dg.DynamicPartitionsDefinition(name="snapshots/diary")


@dataclass(frozen=True)
class Node:
    """An asset, with what is read of it."""

    partitions_def: dg.DynamicPartitionsDefinition | None
    job_names: tuple[str, ...]


class Graph:
    """Two partitioned assets and one without snapshots."""

    def __init__(self) -> None:
        jobs = ("journey", "__ASSET_JOB")
        self._nodes = {"letters": Node(LETTERS, jobs), "diary": Node(DIARY, jobs[1:]), "index": Node(None, jobs)}
        self.asset_nodes = list(self._nodes.values())

    def has(self, key: dg.AssetKey) -> bool:
        return key.to_user_string() in self._nodes

    def get(self, key: dg.AssetKey) -> Node:
        return self._nodes[key.to_user_string()]


def launch(snapshot: str, *assets: str, job: str = "journey") -> dict[str, Any]:
    chosen = [{"path": [asset]} for asset in assets]
    tags = [{"key": "who", "value": "me"}, {"key": "dagster/partition", "value": snapshot}]
    return {"selector": {"jobName": job, "assetSelection": chosen}, "executionMetadata": {"tags": tags}}


def test_a_snapshot_must_be_one_of_those_that_the_launched_assets_have() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        with pytest.raises(DataError, match="there is no snapshot 2024 of letters, and it has none"):
            check_snapshot(launch("2024"), Graph(), instance)
        instance.add_dynamic_partitions("snapshots/letters", ["2024", "2025"])
        check_snapshot(launch("2024"), Graph(), instance)
        check_snapshot(launch("2024", "letters", "index", "unknown", job="__ASSET_JOB"), Graph(), instance)
        check_snapshot(launch("2026", "index", job="__ASSET_JOB"), Graph(), instance)
        for asked in (launch("2026"), launch("2026", "letters", job="__ASSET_JOB")):
            with pytest.raises(DataError, match="there is no snapshot 2026 of letters; the newest is 2025"):
                check_snapshot(asked, Graph(), instance)
        with pytest.raises(DataError, match="no snapshot 2024 of diary"):
            check_snapshot(launch("2024", "letters", "diary", job="__ASSET_JOB"), Graph(), instance)


@pytest.mark.parametrize("metadata", [None, {}, {"tags": None}, {"tags": []}])
def test_a_launch_without_a_partition_is_dagsters(metadata: Any) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        check_snapshot({"selector": {"jobName": "journey"}, "executionMetadata": metadata}, Graph(), instance)
