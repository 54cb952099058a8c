"""What Dagster loads: every asset named, described, partitioned and checked; wrong names on shelves refused."""

import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_kit import SHELVES, environment_of

from assets.support.keys import address_of, group_of
from definitions import build
from gristmill.lake.address import documents_asset
from gristmill.lake.asset_kinds import blocking_checks_of_asset
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger

LAKE = environment_of(Path("nowhere"))
OURS = read_catalogue(("gristmill",))
KIT = read_catalogue(SHELVES)
EXPORTS = read_catalogue((*SHELVES, "exportshelf"))
CATALOGUES = pytest.mark.parametrize("catalogue", [OURS, KIT, EXPORTS], ids=["gristmill", "dagshelf", "exportshelf"])


def load(catalogue: Catalogue) -> dg.RepositoryDefinition:
    return build(LAKE, catalogue).get_repository_def()


@CATALOGUES
def test_every_asset_is_described_grouped_and_of_a_kind(catalogue: Catalogue) -> None:
    graph = load(catalogue).asset_graph
    for node in graph.asset_nodes:
        assert node.description, node.key
        assert node.group_name not in {"", "default"}, node.key
        assert 1 <= len(node.kinds) <= 2, node.key  # the lineage shows no more than two
        assert node.parent_keys <= graph.get_all_asset_keys(), node.key


@CATALOGUES
def test_no_two_assets_of_a_group_have_one_name_in_the_lineage(catalogue: Catalogue) -> None:
    shown = [(node.group_name, node.key.path[-1]) for node in load(catalogue).asset_graph.asset_nodes]
    assert [each for each, times in Counter(shown).items() if times > 1] == []


def test_versions_a_mix_and_its_tokens_are_groups_of_their_own() -> None:
    assert {node.group_name for node in load(KIT).asset_graph.asset_nodes} == {
        "lake",
        "letters_v0",  # with the raw data that it is made from
        "letters_v1",
        "diary_v0",
        "mix_blend",
        "tokens_blend_tiny_1",
        "tokenizers",
    }


@CATALOGUES
def test_what_has_an_owner_says_so(catalogue: Catalogue) -> None:
    graph = load(catalogue).asset_graph
    owned = {node.group_name: set(node.owners) for node in graph.asset_nodes}
    for source in catalogue.sources.values():
        for version in source.versions:
            assert owned[group_of(documents_asset(source.name, version))] == set(source.owners)
    for mix in catalogue.mixes.values():
        assert owned[f"mix_{mix.name}"] == set(mix.owners)


@CATALOGUES
def test_all_that_comes_of_a_source_shares_its_snapshots(catalogue: Catalogue) -> None:
    streams = {(mix.name, stream.key): stream.source for mix, stream in catalogue.streams()}
    for node in load(catalogue).asset_graph.asset_nodes:
        path = node.key.path
        match path:
            case ["sources", source, *_] | ["dedupe", _, "fingerprints", source]:
                expected = source
            case ["mixes", mix, "documents", stream] | ["token_caches" | "exports", mix, _, stream] if (
                stream != "index"
            ):
                expected = streams[mix, stream]
            case _:
                assert node.partitions_def is None, node.key
                continue
        assert isinstance(node.partitions_def, dg.DynamicPartitionsDefinition)
        assert node.partitions_def.name == f"snapshots/{expected}"


@CATALOGUES
def test_what_may_not_be_wrong_is_guarded_by_a_blocking_check_on_its_partitions(catalogue: Catalogue) -> None:
    graph = load(catalogue).asset_graph
    found: dict[str, set[str]] = {}
    for key in graph.asset_check_keys:
        check = graph.get(key)
        if key.name in {
            "ids_unique_across",
            "duplicates_found",
            "slices_present",
        }:  # over all snapshots, and after they are published
            assert not check.blocking
            continue
        usual = key.name == "volume"  # it blocks if the recipe has bounds, and warns else
        assert check.blocking == (not usual and not key.name.endswith("_audit")), key
        partitions = None if key.name.endswith("_audit") else graph.get(key.asset_key).partitions_def
        assert check.partitions_def == partitions, key  # the UI executes by itself only what has no partitions
        assert check.description, key
        found.setdefault(address_of(key.asset_key), set()).add(key.name)
    for node in graph.asset_nodes:
        address = address_of(node.key)
        expected: set[str] = set()
        if re.fullmatch(r"sources/[^/]+/v0/documents", address):
            expected = {"ids_unique"}
        elif re.fullmatch(r"sources/[^/]+/v\d+/documents", address):
            expected = {"ids_unique", "ids_stable"}
        elif "/attributes/" in address or "/fingerprints/" in address:
            expected = {"row_alignment"}
        elif address.startswith("mixes/") and not address.endswith(("/index", "/preview")):
            expected = {"blocklist_respected"}
        elif address.startswith("token_caches/") and "/index" not in address:
            expected = {"cache_complete"}
        elif address.startswith("exports/") and "/index" not in address:
            expected = {"export_complete"}
        assert set(blocking_checks_of_asset(address)) == expected, address
        compared = {"volume"} if expected else set()
        assert found.get(address, set()) == expected | compared | {f"{name}_audit" for name in expected}, address


def test_the_shelf_of_the_tests_makes_what_one_can_count() -> None:
    addresses = {address_of(key) for key in load(KIT).asset_graph.get_all_asset_keys()}
    assert addresses == {
        "lake",
        "sources/letters/raw",
        "sources/letters/v0/documents",
        "sources/letters/v0/attributes/count-1",  # a rule of v1 names it
        "sources/letters/v1/documents",
        "sources/letters/v1/attributes/count-1",
        "sources/letters/v1/attributes/moody-1",
        "sources/diary/raw",
        "sources/diary/v0/documents",
        "sources/diary/v0/attributes/count-1",  # letters alone have moods
        "mixes/blend/documents/letters",
        "mixes/blend/documents/diary",
        "mixes/blend/index",
        "mixes/blend/preview",
        "token_caches/blend/tiny-1/letters",
        "token_caches/blend/tiny-1/diary",
        "token_caches/blend/tiny-1/index",
        "token_caches/blend/tiny-1/index/packing",
        "tokenizers/tiny-1",
    }


def test_jobs_and_sensors_have_the_names_that_people_are_told() -> None:
    location = load(KIT)
    assert {job.name for job in location.get_all_jobs()} - {"__ASSET_JOB"} == {
        "letters_journey",
        "diary_journey",
        "blend_index",
        "tiny_1_train",
        "ids_across",
        "pause",
        "purge",
        "resume",
        "sync",
        "lake_totals",
        "audits",
    }
    assert {sensor.name for sensor in location.sensor_defs} == {
        "raw_arrivals",
        "blocklists",
        "automation",
        "last_readings",
        "unstarted_runs",
    }


@pytest.mark.filterwarnings("ignore:Property `ScheduleDefinition:DeprecationWarning")  # Dagster reads its own
def test_one_job_and_little_of_a_snapshot_are_of_a_source() -> None:
    """The UI and the daemon fetch the snapshot; a hundred sources with a mix may take 8 MB."""
    locations = [load(large(count)) for count in (2, 4)]
    few, many = ({job.name for job in location.get_all_jobs()} for location in locations)
    assert many - few == {"s2_journey", "s3_journey"}
    fewer, more = (
        len(dg.serialize_value(RepositorySnap.from_def(location, defer_snapshots=True))) for location in locations
    )
    assert (more - fewer) / 2 / 35 < 5_100, (more - fewer) / 2 / 35  # a source has 35 assets


def test_no_two_schedules_begin_in_the_same_hour() -> None:
    hours = {schedule.name: str(schedule.cron_schedule).split()[1] for schedule in load(KIT).schedule_defs}
    assert {"audits_schedule", "purge_weekly"} <= set(hours)
    assert len(set(hours.values())) == len(hours), hours


def test_a_source_that_is_not_watched_has_no_sensor() -> None:
    sources = {"diary": replace(KIT.sources["diary"], watched=False)}
    location = load(Catalogue(sources, {"count-1": KIT.taggers["count-1"]}, {}, {}))
    assert {sensor.name for sensor in location.sensor_defs} == {"automation", "last_readings", "unstarted_runs"}


@CATALOGUES
def test_two_loads_are_the_same(catalogue: Catalogue) -> None:
    def shown(location: dg.RepositoryDefinition) -> list[tuple[object, ...]]:
        return [
            (node.key, node.description, node.code_version, node.parent_keys, node.owners, node.check_keys)
            for node in sorted(location.asset_graph.asset_nodes, key=lambda node: node.key)
        ]

    assert shown(load(catalogue)) == shown(load(catalogue))


def large(count: int) -> Catalogue:
    """So many sources of three versions, ten sets each."""
    names = [f"t{n}-1" for n in range(10)]
    columns = tuple(score(f"{name}__x", name[:2]) for name in names)
    rules = (Rule("r", "t0 > 1", "a rule"),)
    revisions = tuple(Revision(version=v, columns=columns, exclude=rules) for v in ("v1", "v2"))
    sources = {f"s{n}": Source(name=f"s{n}", convert=DolmaLines(f"s{n}"), revisions=revisions) for n in range(count)}
    streams = tuple(Stream(source=name, version="v2") for name in sources)
    taggers = {name: Tagger(name=name, document=lambda _: {}) for name in names}
    return Catalogue(sources, taggers, {"all": Mix(name="all", streams=streams)}, {})


@pytest.mark.slow
@pytest.mark.parametrize("sources", [25, pytest.param(100, marks=pytest.mark.exhaustive)])
def test_many_sources_with_three_versions_and_ten_sets_each_load(sources: int) -> None:
    start = time.process_time()
    location = load(large(sources))
    seconds = time.process_time() - start
    # raw, three documents and thirty sets a source; a slice each, the index, the preview and the lake
    assert len(location.asset_graph.get_all_asset_keys()) == sources * (1 + 3 + 30) + sources + 3
    assert seconds < 0.15 * sources, seconds  # generous: it takes 6 for a hundred on a quiet machine
