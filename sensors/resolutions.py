"""The resolution sensor: after a resolution it requests the attribute sets of those snapshots whose marks changed."""

from collections.abc import Iterator

import dagster as dg
import msgspec

from assets.support.keys import address_of, key_of, snapshots_of
from assets.support.lake_identity import UNSHOWN, is_shown
from assets.support.runs.own_checks import own_checks
from gristmill.environment import INTERVAL
from gristmill.errors import DataError, escape_controls
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.asset_kinds import MARKS, ledger_of_asset, names_in_asset_address
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.dedupe.resolution import read_resolution
from resources.lake import LakeResource
from resources.pages.news import with_news
from sensors.automation import why_held
from sensors.ticks import GOING, once_more, read_memory, requests_in_words, tick_warner

MOST = 500
"""Largest number of runs that a tick requests; the next tick continues."""

NAME_OF_SENSOR = "resolutions"


class ResolutionMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The progress of the sensor with one recipe.

    Attributes:
        etag: etag of the ledger of the resolution that was looked at.
        wait: sets and snapshots that are out of date, but were being made, paused, or too many for one tick; or whose
            raw data are gone, and so their partition.
    """

    etag: str
    wait: tuple[tuple[str, str], ...] = ()


class ResolutionMemory(msgspec.Struct, omit_defaults=True):
    """The cursor.

    Attributes:
        failed: number of ticks in a row in which a resolution was damaged, by its address. The words are ours alone.
        marks: the progress with each recipe, by its name.
    """

    failed: dict[str, int] = {}
    marks: dict[str, ResolutionMark] = {}


def stale_sets(store: Store, dedupe: Dedupe) -> Iterator[tuple[str, str]]:
    """The sets of a dedupe recipe that were not made from the marks of its last resolution: (asset, snapshot).

    A set whose ledger cannot be read is one of them: its run fails, and says why, and the other sets are requested.
    A source that the recipe no longer compares has no set, although the last resolution may still name it.

    Raises:
        DataError: the resolution is damaged.
    """
    resolution, versions = read_resolution(store, dedupe.name), dedupe.versions
    for each in resolution.snapshots if resolution else ():
        if each.source not in versions:
            continue
        asset = attributes_asset(each.source, versions[each.source], dedupe.name)
        marks = MARKS.at(dedupe=dedupe.name, source=each.source)
        try:
            head = read_head(store, place(asset, each.snapshot))
        except DataError:
            head = None
        if head is None or all((up.asset, up.fingerprint) != (marks, each.marks) for up in head.inputs):
            yield asset, each.snapshot


def resolution_sensors(catalogue: Catalogue, interval: int = INTERVAL) -> list[dg.SensorDefinition]:
    """The sensor of all resolutions, in a list; empty if the shelves have no dedupe recipe.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks.
    """
    dedupes = list(catalogue.dedupes.values())
    sets = [attributes_asset(source, at, each.name) for each in dedupes for source, at in each.versions.items()]

    @dg.sensor(
        name=NAME_OF_SENSOR,
        asset_selection=dg.AssetSelection.assets(*map(key_of, sorted(sets))),
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the attribute sets of duplicates whose marks a resolution changed",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        store, warn = lake.store(), tick_warner(context)
        if not is_shown(context.instance, store):
            return dg.SensorResult(skip_reason=dg.SkipReason(UNSHOWN), cursor=context.cursor)
        memory = read_memory(ResolutionMemory, context.cursor, NAME_OF_SENSOR, warn)
        marks, wrong = memory.marks, dict[str, str]()
        asked: list[dg.RunRequest] = []
        said: list[str] = []
        going = _going(context.instance)
        for dedupe in dedupes:
            mark, room = marks.get(dedupe.name, ResolutionMark("")), MOST - len(asked)
            try:
                marks[dedupe.name], due, words = _look_at(context, store, dedupe, mark, going, room)
            except DataError as error:  # the resolutions of other recipes are looked at, and this one at the next tick
                wrong[f"{dedupe.asset} (it cannot be read)"] = str(error)
                continue
            asked += due
            said += words
        for line in wrong.values():
            warn(line)
        memory.failed = once_more(memory.failed, wrong)
        state = msgspec.json.encode(memory, order="sorted").decode()
        if asked:
            return dg.SensorResult(run_requests=asked, cursor=with_news(requests_in_words(asked), state))
        told = "; ".join([*map(escape_controls, wrong.values()), *said]) or "nothing new: no set is affected"
        return dg.SensorResult(skip_reason=dg.SkipReason(told), cursor=with_news(told, state))

    return [watch] if dedupes else []


def _look_at(
    context: dg.SensorEvaluationContext,
    store: Store,
    dedupe: Dedupe,
    mark: ResolutionMark,
    going: set[tuple[str, str | None]],
    room: int,
) -> tuple[ResolutionMark, list[dg.RunRequest], list[str]]:
    """Looks at the resolution of one recipe: its new mark, the requests, and in words what waits.

    Raises:
        DataError: the resolution is damaged.
    """
    entry = store.head(ledger_of_asset(dedupe.asset))
    waited = set(mark.wait)
    if entry is None or (mark.etag == entry.etag and not waited):
        return mark, [], []
    known = _known(context.instance, dedupe)
    if mark.etag == entry.etag and known.isdisjoint(waited):
        return mark, [], []
    stale = list(stale_sets(store, dedupe))
    if mark.etag == entry.etag:  # what was requested once and failed is left to people
        stale = [each for each in stale if each in waited]
    held = _held(context.instance, dedupe, {asset for asset, _ in stale})
    due = [each for each in stale if each in known and each not in going and each[0] not in held][:room]
    asked = set(due)
    wait = tuple(each for each in stale if each not in asked)
    words = [f"{asset} waits: {why}" for asset, why in sorted(held.items())]
    return ResolutionMark(entry.etag, wait), [_request(context, dedupe, *each) for each in due], words


def _known(instance: dg.DagsterInstance, dedupe: Dedupe) -> set[tuple[str, str]]:
    """The sets that may be requested, by the partitions of their sources: Dagster is asked once for each source."""
    return {
        (attributes_asset(source, at, dedupe.name), snapshot)
        for source, at in dedupe.versions.items()
        for snapshot in instance.get_dynamic_partitions(snapshots_of(source).name or "")
    }


def _held(instance: dg.DagsterInstance, dedupe: Dedupe, assets: set[str]) -> dict[str, str]:
    """Those sets of which nothing may be requested, because a person has said so, and why."""
    held = {
        asset: why_held(instance, frozenset({names_in_asset_address(asset)["source"], dedupe.name})) for asset in assets
    }
    return {asset: why for asset, why in held.items() if why}


def _going(instance: dg.DagsterInstance) -> set[tuple[str, str | None]]:
    """The partitions that runs are making now."""
    runs = instance.get_runs(dg.RunsFilter(statuses=list(GOING)))
    return {(address_of(key), run.tags.get("dagster/partition")) for run in runs for key in run.asset_selection or ()}


def _request(context: dg.SensorEvaluationContext, dedupe: Dedupe, asset: str, snapshot: str) -> dg.RunRequest:
    return dg.RunRequest(
        partition_key=snapshot,
        asset_selection=[key_of(asset)],
        asset_check_keys=own_checks(context, [key_of(asset)]),
        tags={"gristmill/dedupe": dedupe.name},
    )
