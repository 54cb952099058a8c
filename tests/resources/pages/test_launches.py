"""Launches of many snapshots become several, and what cannot be divided is refused."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
import pytest

from gristmill.errors import DataError
from resources.pages.launches import LAUNCH, divide_launch, launch_all

YEARS = ["2021", "2022", "2023", "2024", "2025"]


def _key(name: str) -> dict[str, list[str]]:
    return {"path": name.split("/")}


def _part(number: str) -> dict[str, str]:
    return {"key": "gristmill/part", "value": number}


def _assets() -> Any:
    """Two sources with a version each and an index over both."""
    letters, diary = (dg.DynamicPartitionsDefinition(name=f"snapshots/{each}") for each in ("letters", "diary"))
    specs = [
        dg.AssetSpec("letters/v0", partitions_def=letters),
        dg.AssetSpec("letters/v1", deps=["letters/v0"], partitions_def=letters),
        dg.AssetSpec("diary/v0", partitions_def=diary),
        dg.AssetSpec("index", deps=["letters/v1", "diary/v0"]),
    ]
    split = [each.replace_attributes(key=dg.AssetKey(each.key.path[0].split("/"))) for each in specs]
    return dg.Definitions(assets=split).get_repository_def().asset_graph


GRAPH = _assets()
LETTERS = [_key("letters/v0"), _key("letters/v1")]


@pytest.fixture
def store() -> dg.DagsterInstance:
    made = dg.DagsterInstance.ephemeral()
    made.add_dynamic_partitions("snapshots/letters", YEARS)
    made.add_dynamic_partitions("snapshots/diary", YEARS[:2])
    return made


def without_launch(parts: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parts without the tag that all of them must have alike."""
    launches = {tag["value"] for each in parts for tag in each["tags"] if tag["key"] == LAUNCH}
    assert len(launches) == 1
    assert all([tag["key"] for tag in each["tags"]].count(LAUNCH) == 1 for each in parts)
    return [{**each, "tags": [tag for tag in each["tags"] if tag["key"] != LAUNCH]} for each in parts]


def test_two_launches_of_the_same_have_tags_of_their_own(store: dg.DagsterInstance) -> None:
    asked = {"assetSelection": LETTERS, "partitionNames": YEARS}
    one, other = (divide_launch(asked, GRAPH, store, 2)[0]["tags"] for _ in range(2))
    assert one != other


def test_few_snapshots_are_one_launch_as_it_was_asked_for(store: dg.DagsterInstance) -> None:
    asked = {"assetSelection": [*LETTERS, _key("index")], "partitionNames": YEARS}
    assert divide_launch(asked, GRAPH, store, 5) == [asked]


def test_many_snapshots_are_several_launches_for_the_same_assets(store: dg.DagsterInstance) -> None:
    asked: dict[str, Any] = {
        "assetSelection": LETTERS,
        "partitionNames": YEARS[::-1],
        "tags": [{"key": "who", "value": "me"}],
    }
    assert without_launch(divide_launch(asked, GRAPH, store, 2)) == [
        {**asked, "partitionNames": YEARS[:2], "tags": [*asked["tags"], _part("1 of 3")]},
        {**asked, "partitionNames": YEARS[2:4], "tags": [*asked["tags"], _part("2 of 3")]},
        {**asked, "partitionNames": YEARS[4:], "tags": [*asked["tags"], _part("3 of 3")]},
    ]


def test_all_snapshots_of_several_sources_are_launches_of_each(store: dg.DagsterInstance) -> None:
    asked = {"assetSelection": [*LETTERS, _key("diary/v0")], "allPartitions": True, "title": "all"}
    assert divide_launch(asked, GRAPH, store, 7) == [asked]
    assert without_launch(divide_launch(asked, GRAPH, store, 4)) == [
        {"assetSelection": LETTERS, "partitionNames": YEARS[:4], "title": "all", "tags": [_part("1 of 3")]},
        {"assetSelection": LETTERS, "partitionNames": YEARS[4:], "title": "all", "tags": [_part("2 of 3")]},
        {"assetSelection": [_key("diary/v0")], "partitionNames": YEARS[:2], "title": "all", "tags": [_part("3 of 3")]},
    ]


def test_many_snapshots_of_a_job_are_several_launches(store: dg.DagsterInstance) -> None:
    asked = {"selector": {"partitionSetName": "letters_journey_partition_set"}, "partitionNames": YEARS}
    assert [each["partitionNames"] for each in divide_launch(asked, GRAPH, store, 3)] == [YEARS[:3], YEARS[3:]]
    assert divide_launch({**asked, "partitionNames": None}, GRAPH, store, 3) == [{**asked, "partitionNames": None}]


@pytest.mark.parametrize("asked", [{"partitionNames": YEARS}, {"allPartitions": True}])
def test_what_waits_for_all_of_them_is_refused_with_the_mend(store: dg.DagsterInstance, asked: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"a launch of 5 snapshots with index, .* When all have ended, launch index"):
        divide_launch({"assetSelection": [*LETTERS, _key("index")], **asked}, GRAPH, store, 4)


def _spans(*spans: tuple[str, str]) -> dict[str, Any]:
    return {"ranges": [{"start": start, "end": end} for start, end in spans]}


def test_snapshots_of_each_asset_are_counted_once_a_source(store: dg.DagsterInstance) -> None:
    both = [
        {"assetKey": LETTERS[0], "partitions": _spans(("2021", "2021"), ("2023", "2025"))},
        {"assetKey": LETTERS[1], "partitions": {"range": {"start": "2021", "end": "2023"}}},
        {"assetKey": _key("diary/v0"), "partitions": None},
    ]
    asked = {"partitionsByAssets": both}
    assert divide_launch(asked, GRAPH, store, 7) == [asked]
    with pytest.raises(
        DataError, match=r"a launch of 7 snapshots, and not the same ones for all assets: .* at most 6,"
    ):
        divide_launch(asked, GRAPH, store, 6)


@pytest.mark.parametrize(
    "asked",
    [
        {"assetSelection": LETTERS, "partitionNames": [*YEARS, "2026"]},
        {"assetSelection": [_key("letters/v7")], "partitionNames": YEARS},
        {},
    ],
)
def test_what_dagster_refuses_stays_one(store: dg.DagsterInstance, asked: dict[str, Any]) -> None:
    assert divide_launch(asked, GRAPH, store, 2) == [asked]


class Launched:
    """Dagster's answer to a launch."""

    def __init__(self, number: int) -> None:
        self.backfill_id = str(number)


def test_the_answer_is_of_the_first_part_and_a_refusal_ends_the_launch(store: dg.DagsterInstance) -> None:
    asked = {"assetSelection": LETTERS, "partitionNames": YEARS}
    seen: list[Mapping[str, Any]] = []

    def launch(params: Mapping[str, Any]) -> Any:
        params.get("assetSelection")
        seen.append(params)
        return Launched(len(seen)) if len(seen) != 5 else "refused"

    assert launch_all(launch, asked, GRAPH, store, 2).backfill_id == "1"
    assert [each["partitionNames"] for each in seen] == [YEARS[:2], YEARS[2:4], YEARS[4:]]
    assert launch_all(launch, asked, GRAPH, store, 2) == "refused"
    assert len(seen) == 5
    with pytest.raises(DataError, match="with index"):
        launch_all(launch, {**asked, "assetSelection": [*LETTERS, _key("index")]}, GRAPH, store, 2)
    assert len(seen) == 5
