"""What a tick of the automation costs over 100 sources of three versions with ten attribute sets each.

Materializations are reported, not made, in a Dagster home of its own on SQLite; the conditions of each unit are
evaluated as a tick of the automation does. One source has 20 snapshots, one 100, one 2,000 (of a single version); all
others have the version that the mix reads, so that the unit of the indexes has 100 streams to look at. Measured: the
first tick, an idle one, one after a raw snapshot has changed, and one after a tagger's code has. What asks for runs,
the launching, is not in it.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import dagster as dg

from assets.support.keys import address_of, key_of, snapshots_of
from bench.harness.cost import ROOT, Cost, answer, measured, peak_memory, timed
from bench.harness.row import Row
from definitions import build
from gristmill.environment import read_environment
from gristmill.lake.address import raw_asset
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger
from sensors.automation import sensor_of
from sensors.following.units import INDEXES, units_of

SECONDS = 15.0
INDEXES_SECONDS = 3.0
"""CPU seconds of the unit that looks at all streams of the mix."""
SOURCES = 100
SNAPSHOTS = {"s0": 20, "s1": 100, "long": 2_000}
CHANGED = "snapshot-00003"


def run(work: Path) -> list[Row]:
    """A row a sensor; `work` is an empty folder."""
    home = work / "home"
    home.mkdir()
    (home / "dagster.yaml").write_bytes((ROOT / "dagster.yaml").read_bytes())
    env = {"DAGSTER_HOME": str(home), "GRISTMILL_LAKE": str(work / "lake")}
    timed([sys.executable, "-m", "bench.lakes.tick"], work / "tick.log", env)
    said = answer(work / "tick.log")
    return [_row(sensor, ticks, said["peak"]) for sensor, ticks in said["ticks"].items()]


def _row(sensor: str, ticks: dict[str, dict[str, float]], peak: int) -> Row:
    costs = {name: Cost(each["cpu_s"], each["wall_s"]) for name, each in ticks.items()}
    worst = max(costs.values(), key=lambda cost: cost.wall_s)
    told = ", ".join(f"{name} {cost.cpu_s:.2f}" for name, cost in costs.items())
    of_indexes = sensor == INDEXES
    return Row(
        name=f"tick of {sensor}",
        ours=worst,
        bar=f"< {INDEXES_SECONDS:.0f} s CPU" if of_indexes else f"< {SECONDS:.0f} s wall",
        met=worst.cpu_s < INDEXES_SECONDS if of_indexes else worst.wall_s < SECONDS,
        note=f"CPU s: {told}; peak {peak / 1e6:,.0f} MB",
        detail=ticks,
    )


def catalogue_of(sources: int, taggers: dict[str, Tagger]) -> Catalogue:
    """So many sources of three versions and ten sets, one of a single version, and a mix of all but that."""
    columns = tuple(score(f"{name}__x", name[:2]) for name in taggers)
    revisions = tuple(
        Revision(version=version, columns=columns, exclude=(Rule("r", "t0 > 1", "a rule"),)) for version in ("v1", "v2")
    )
    found = {f"s{n}": Source(name=f"s{n}", convert=DolmaLines(f"s{n}"), revisions=revisions) for n in range(sources)}
    streams = tuple(Stream(source=name, version="v2") for name in found)
    found["long"] = Source(name="long", convert=DolmaLines("long"))
    return Catalogue(found, taggers, {"all": Mix(name="all", streams=streams)}, {})


class Ticks:
    """Evaluations of the automation's units over definitions that may change between them."""

    def __init__(self, instance: dg.DagsterInstance, catalogue: Catalogue) -> None:
        self._instance, self._catalogue = instance, catalogue
        self._cursors: dict[str, str | None] = {}
        self._sensors: dict[str, dg.AutomationConditionSensorDefinition] = {}
        self.told: dict[str, dict[str, dict[str, float]]] = {}

    def tick(self, words: str, group: str, definitions: dg.Definitions) -> None:
        """One evaluation of a unit, as the code server does it."""
        [unit] = [each for each in units_of(self._catalogue) if each.name == group]
        cursor = self._cursors.get(group)
        repository = definitions.get_repository_def()
        with (
            measured() as costs,
            dg.build_sensor_context(instance=self._instance, cursor=cursor, repository_def=repository) as context,
        ):
            told = self._sensors.setdefault(group, sensor_of(unit))(context)
        assert isinstance(told, dg.SensorResult)
        self._cursors[group] = told.cursor
        self.told.setdefault(group, {})[words] = {**costs[0].plain(), "requests": len(told.run_requests or ())}


def report(instance: dg.DagsterInstance, definitions: dg.Definitions, keys: Iterable[dg.AssetKey], count: int) -> None:
    """Materializations of these assets in so many snapshots, as `sync` reports them."""
    graph = definitions.resolve_asset_graph()
    for key in keys:
        tags = {"dagster/data_version": "first", "dagster/code_version": graph.get(key).code_version or "none"}
        for number in range(count):
            each = dg.AssetMaterialization(asset_key=key, partition=f"snapshot-{number:05d}", tags=tags)
            instance.report_runless_asset_event(each)


def chain(definitions: dg.Definitions, source: str) -> list[dg.AssetKey]:
    """What is made from a source, and its slice of the mix."""
    keys = definitions.resolve_asset_graph().get_all_asset_keys()
    parts = (("sources", source), ("mixes", "all"))
    return sorted(key for key in keys if tuple(key.path[:2]) in parts and source in key.path)


def main() -> None:
    """All ticks, in this process."""
    small = "--small" in sys.argv
    snapshots = {name: count // 20 for name, count in SNAPSHOTS.items()} if small else SNAPSHOTS
    sources = SOURCES // 20 if small else SOURCES
    taggers = {f"t{n}-1": Tagger(name=f"t{n}-1", document=lambda _: {}) for n in range(10)}
    environment = read_environment()
    catalogue = catalogue_of(sources, taggers)
    definitions = build(environment, catalogue)
    with dg.DagsterInstance.get() as instance:
        for source in catalogue.sources:
            count = snapshots.get(source, snapshots["s0"])
            names = [f"snapshot-{number:05d}" for number in range(count)]
            instance.add_dynamic_partitions(snapshots_of(source).name or "", names)
            keys = chain(definitions, source)
            if source not in snapshots:  # what the mix reads of it
                keys = [key for key in keys if address_of(key).startswith(("mixes/", f"sources/{source}/v2/documents"))]
            report(instance, definitions, keys, count)
        ticks = Ticks(instance, catalogue)
        groups = [*snapshots, INDEXES]
        for words in ("first", "idle"):
            for group in groups:
                ticks.tick(words, group, definitions)
        for source in snapshots:
            tags = {"dagster/data_version": "second"}
            raw = dg.AssetMaterialization(asset_key=key_of(raw_asset(source)), partition="snapshot-00000", tags=tags)
            instance.report_runless_asset_event(raw)
        for group in groups:
            ticks.tick("a raw snapshot changed", group, definitions)
        taggers["t0-1"] = replace(taggers["t0-1"], parameters={"threshold": 2})
        changed = build(environment, catalogue_of(sources, taggers))
        for words in ("a tagger changed", "and asked for"):
            for group in groups:
                ticks.tick(words, group, changed)
    print(json.dumps({"ticks": ticks.told, "peak": peak_memory()}))


if __name__ == "__main__":
    main()
