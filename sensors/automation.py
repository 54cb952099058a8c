"""The automation sensor: it requests assets by their automation conditions.

It is one sensor, because each sensor costs the daemon a tenth of a second a tick. Inside, everything that is made from
a source is a unit of its own; all indexes are one. A unit is evaluated only if something has happened to it: a tick at
which nothing has happened costs the same for a hundred sources as for one.

A unit's slices of one snapshot are one run: versions, attribute sets, slices of mixes, tokens and exports.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg
import msgspec

from assets.support.keys import address_of, key_of, snapshots_of
from assets.support.runs.own_checks import own_checks
from gristmill.environment import INTERVAL
from gristmill.errors import shorten
from gristmill.lake.identity import digest_of
from gristmill.recipes.catalogue import Catalogue
from gristmill.reports.sizes import number_and_noun
from resources.pages.launches import MOST
from resources.pauses import paused_names
from sensors.following.happenings import changed_addresses, newest_event, unfinished_backfills
from sensors.following.parts import in_parts, snapshots_in
from sensors.following.units import Unit, units_of
from sensors.ticks import read_memory, tick_warner

NAME = "automation"
"""The name of the sensor."""
NAMED = 10
"""Number of runs that a message names; the others are counted."""
STILL = 300
"""Seconds without a heartbeat after which the daemon counts as stopped."""
BOX = 40.0
"""Seconds after which a tick evaluates no further unit; the next tick continues."""
LONGEST = 3600.0
"""Seconds after which a unit is evaluated though no event tells of it: a run may have been deleted, say."""
OLDEST = 3
"""How many of such units a tick evaluates."""


class UnitMark(msgspec.Struct, omit_defaults=True):
    """How far a unit has come.

    Attributes:
        cursor: cursor of Dagster's conditions.
        of: digest of its assets, their recipes and their partitions.
        at: time when it was evaluated, in seconds.
        due: whether it is evaluated at the next tick, whatever happens.
    """

    cursor: str = ""
    of: str = ""
    at: float = 0.0
    due: bool = True


class AutomationMemory(msgspec.Struct, omit_defaults=True):
    """The cursor.

    Attributes:
        failed: number of ticks in a row in which a unit could not be evaluated, by unit; the others are left out.
        newest: storage id of the newest event at the last tick.
        before: the same at the tick before. Events are looked at twice: one with a lower id may be written later.
        world: digest of what concerns all units: pauses, and the backfills under way.
        units: marks of the units, by name.
    """

    failed: dict[str, int] = {}
    newest: int = -1
    before: int = -1
    world: str = ""
    units: dict[str, UnitMark] = {}


class Automation(dg.AutomationConditionSensorDefinition):
    """The sensor.

    Args:
        units: units that the sensor evaluates.
        interval: seconds between two ticks.
        box: seconds after which a tick evaluates no further unit.
        now: the clock, in seconds.
        most: snapshots of a backfill.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        interval: int,
        box: float = BOX,
        now: Callable[[], float] = time.time,
        most: int = MOST,
    ) -> None:
        self._units, self._interval, self._box, self._now, self._most = units, interval, box, now, most
        selection = dg.AssetSelection.all()  # by name they would be a tenth of a megabyte; others have no condition
        common: dict[str, Any] = {
            "name": NAME,
            "minimum_interval_seconds": interval,
            "default_status": dg.DefaultSensorStatus.RUNNING,
            "description": "Requests what is missing or out of date, once for each change. The log of a green tick says"
            " what was requested; the page of the asset `lake` says what is paused",
        }
        with warnings.catch_warnings():  # beta in the pinned Dagster; only the code server knows our conditions
            warnings.filterwarnings("ignore", message="Parameter `use_user_code_server`", category=dg.BetaWarning)
            super().__init__(target=selection, use_user_code_server=True, **common)
            self._inner = {unit.name: sensor_of(unit) for unit in units}
        self._outer = dg.SensorDefinition(evaluation_fn=self._look, asset_selection=selection, **common)
        self._facts: dict[str, _UnitFacts] = {}

    def with_attributes(self, **_: Any) -> "Automation":
        """The same sensor: Dagster would make one that evaluates all units together."""
        return Automation(self._units, self._interval, self._box, self._now, self._most)

    def evaluate_tick(self, context: dg.SensorEvaluationContext) -> Any:
        """One tick, as the code server does it."""
        return self._outer.evaluate_tick(context)

    def _look(self, context: dg.SensorEvaluationContext) -> dg.SensorResult:
        memory, began = read_memory(AutomationMemory, context.cursor, NAME, tick_warner(context)), time.monotonic()
        requests: list[dg.RunRequest] = []
        evaluations: list[Any] = []
        failed: list[str] = []
        left = 0
        for unit in self._due(context, memory):
            mark = memory.units[unit.name]
            if time.monotonic() - began > self._box and (requests or evaluations or left or failed):
                left, mark.due = left + 1, True
                continue
            try:
                result = self._evaluate(context, unit, mark)
            except Exception as error:  # noqa: BLE001 - one unit that cannot be evaluated must not hold back the others
                mark.due = True
                memory.failed[unit.name] = memory.failed.get(unit.name, 0) + 1
                failed.append(f"{unit.name}: {type(error).__name__}: {shorten(str(error.__cause__ or error), 300)}")
                continue
            memory.failed.pop(unit.name, None)
            for each in result.run_requests or ():
                requests += [_with_checks(context, part) for part in in_parts(each, self._most)]
            evaluations += result.automation_condition_evaluations or ()
        for line in failed:
            context.log.error(line)
        cursor = msgspec.json.encode(memory).decode()
        found: dict[str, Any] = {"cursor": cursor, "automation_condition_evaluations": evaluations}
        if requests:
            context.log.info(_in_words(requests))  # Dagster shows neither cursor nor words of such a sensor's tick
            return dg.SensorResult(run_requests=requests, **found)
        held = sorted(paused_names(context.instance))
        words = [f"not evaluated: {failed[0]}"] if failed else []
        words += [f"{number_and_noun(left, 'unit')} more at the next tick"] if left else []
        words += [f"paused: {', '.join(held)}"] if held else []
        return dg.SensorResult(skip_reason=dg.SkipReason("; ".join(words) or "nothing to request"), **found)

    def _evaluate(self, context: dg.SensorEvaluationContext, unit: Unit, mark: UnitMark) -> dg.SensorResult:
        """Evaluates a unit by Dagster's own sensor of its assets."""
        with dg.build_sensor_context(
            instance=context.instance, cursor=mark.cursor or None, repository_def=context.repository_def
        ) as own:
            result = self._inner[unit.name](own)
        if not isinstance(result, dg.SensorResult):
            raise TypeError(f"{type(result).__name__} is no result of such a sensor")
        mark.cursor, mark.at = result.cursor or "", self._now()
        mark.due = bool(result.run_requests or result.automation_condition_evaluations)
        return result

    def _due(self, context: dg.SensorEvaluationContext, memory: AutomationMemory) -> list[Unit]:
        """The units to which something may have happened; the memory then knows what has."""
        instance, graph = context.instance, context.repository_def.asset_graph  # type: ignore[union-attr]  # it has one
        newest = newest_event(instance)
        backfills = unfinished_backfills(instance)
        world = digest_of([sorted(paused_names(instance)), sorted(backfills)])
        touched = {key for keys in backfills.values() for key in keys}
        if newest != memory.before:
            touched |= changed_addresses(instance, memory.before)
        everything = world != memory.world or memory.newest < 0 or newest < memory.newest
        memory.before, memory.newest, memory.world = memory.newest, newest, world
        for unit in self._units:
            if unit.name not in memory.units:
                memory.units[unit.name] = UnitMark(cursor=_former_cursor(instance, unit))
        marks = memory.units = {unit.name: memory.units[unit.name] for unit in self._units}
        longest = sorted(marks, key=lambda name: marks[name].at)[:OLDEST]
        due: list[Unit] = []
        for unit in self._units:
            mark, known = marks[unit.name], self._facts.setdefault(unit.name, _facts_of(unit, graph))
            digest = digest_of([known.digest, _partitions(instance, unit)])
            is_stale = unit.name in longest and abs(self._now() - mark.at) > LONGEST
            if everything or mark.due or mark.of != digest or is_stale or not known.near.isdisjoint(touched):
                due.append(unit)
            mark.of = digest
        return sorted(due, key=lambda unit: marks[unit.name].at)


@dataclass(frozen=True)
class _UnitFacts:
    """What the definitions say of a unit: a digest of it, and the addresses of its assets and their inputs."""

    digest: str
    near: frozenset[str]


def _facts_of(unit: Unit, graph: Any) -> _UnitFacts:
    nodes = [graph.get(key_of(address)) for address in unit.addresses]
    told = [
        [address_of(node.key), node.code_version, node.automation_condition and node.automation_condition.whole_id]
        for node in nodes
    ]
    near = {address_of(key) for node in nodes for key in (node.key, *node.parent_keys)}
    return _UnitFacts(digest_of(told), frozenset(near))


def _partitions(instance: dg.DagsterInstance, unit: Unit) -> list[str]:
    return sorted(instance.get_dynamic_partitions(snapshots_of(unit.source).name or "")) if unit.source else []


def _former_cursor(instance: dg.DagsterInstance, unit: Unit) -> str:
    """The cursor of the sensor that a source had in earlier versions: it knows which changes were requested."""
    name = f"{unit.name.replace('-', '_')}_{NAME}"
    states = instance.all_instigator_state() if instance.schedule_storage else ()
    return next((getattr(state.instigator_data, "cursor", None) or "" for state in states if state.name == name), "")


def sensor_of(unit: Unit) -> dg.AutomationConditionSensorDefinition:
    """The sensor of Dagster for a unit's assets. It is no sensor of the deployment."""
    return dg.AutomationConditionSensorDefinition(
        name=NAME,
        target=dg.AssetSelection.assets(*map(key_of, unit.addresses)),
        run_tags=unit.tags,
        use_user_code_server=True,
    )


def _with_checks(context: dg.SensorEvaluationContext, request: dg.RunRequest) -> dg.RunRequest:
    """The request with the checks that the run does itself: Dagster would ask for the audits too."""
    if request.asset_selection is None:  # a backfill
        return request
    return dg.RunRequest(
        partition_key=request.partition_key,
        asset_selection=request.asset_selection,
        asset_check_keys=own_checks(context, request.asset_selection),
        tags=request.tags,
    )


def _in_words(requests: Sequence[dg.RunRequest]) -> str:
    """What was requested, at most some of it."""
    told = [
        f"{each.partition_key or 'indexes'}: {number_and_noun(len(each.asset_selection), 'asset')}"
        if each.asset_selection
        else f"a backfill of {number_and_noun(len(snapshots_in(each)), 'snapshot')}"
        for each in requests
    ]
    return f"requested {', '.join(told[:NAMED])}{f' and {len(told) - NAMED} more' if len(told) > NAMED else ''}"


def automation_sensor(catalogue: Catalogue, interval: int = INTERVAL) -> Automation:
    """The sensor.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks.
    """
    return Automation(units_of(catalogue), interval)


def awake_units(instance: dg.DagsterInstance) -> frozenset[str] | None:
    """The units of which the automation would notice a report; None: all, or nobody waits for it.

    The first evaluation of a unit ignores everything that was reported before it. A change that is reported too early
    would never be followed. If no daemon runs, or the sensor is stopped, reports need not wait.

    Args:
        instance: Dagster's instance.
    """
    beat = instance.get_daemon_heartbeats().get("SENSOR")
    if beat is None or time.time() - beat.timestamp > STILL:
        return None
    states = [state for state in instance.all_instigator_state() if state.name == NAME]
    if states and not any(state.is_running for state in states):
        return None
    memories = [read_memory(AutomationMemory, getattr(state.instigator_data, "cursor", None), NAME) for state in states]
    return frozenset(name for memory in memories for name, mark in memory.units.items() if mark.cursor)


def why_held(instance: dg.DagsterInstance, names: frozenset[str]) -> str:
    """The reason why nothing of some sources or mixes may be requested: a person has said so. Empty: it may be.

    Args:
        instance: Dagster's instance.
        names: theirs.
    """
    if held := sorted(names & paused_names(instance)):
        return f"{' and '.join(held)} {'are' if held[1:] else 'is'} paused"
    if instance.get_daemon_heartbeats():
        states = [state for state in instance.all_instigator_state() if state.name == NAME]
        if states and not any(state.is_running for state in states):
            return f"{NAME} is stopped"
    return ""
