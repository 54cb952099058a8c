"""The blocklist sensor: when a blocklist changes, it requests the finished slices that the change affects.

Blocklists have no asset and no automation condition, as an entry concerns only the few shards that hold it. The id
indexes name these shards. Assets made from such a slice follow by their automation, as the slice's content changes.

Exports do not wait for that. If their format has a list of excluded samples, the index is requested at once: the new
release excludes the documents. Slices of other exports are made in the same run as the slice of their mix.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

import dagster as dg
import msgspec

from assets.support.keys import address_of, key_of, snapshots_of
from assets.support.lake_identity import UNSHOWN, is_shown
from assets.support.runs.own_checks import own_checks
from gristmill.environment import INTERVAL
from gristmill.errors import DataError, RecipeError, escape_controls
from gristmill.lake.address import Place, blocklist_path, place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_head
from gristmill.lake.rows.blocklists.blocklist import Blocklist, LostEntries, read_blocklist
from gristmill.lake.rows.blocklists.blocklist_files import record_blocklist_entries
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.reports.sizes import number_and_noun
from gristmill.stages.mixing.blocklist_inputs import Hashes, hashes_by_name, shards_touched_by_blocklists
from resources.lake import LakeResource
from resources.pages.news import with_news
from sensors.automation import NAME, awake_units, why_held
from sensors.blocked_assets import Selected, selected_assets
from sensors.ticks import GOING, once_more, read_memory, requests_in_words, tick_warner

BOX = 30.0
"""Longest time of a tick in seconds; the next tick continues."""
MOST = 500
"""Largest number of runs that a tick requests; the next tick continues."""

NAME_OF_SENSOR = "blocklists"
NAMED = 20
"""Number of slices that cannot be checked which the log names."""

_UNREAD = ""
"""Value of `Mark.lists` if a list is missing, lacks entries or is not valid. Runs that needed it have failed."""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The progress of the sensor with one asset.

    Attributes:
        lists: digest of the etags of the lists that its snapshots are compared with.
        after: the last snapshot that was checked; None if all were.
        anew: whether slices that are missing, or behind what they read, are requested too, as they could not be made
            while a list was not valid.
        wait: snapshots that were being made, and must be checked again.
    """

    lists: str
    after: str | None = None
    anew: bool = False
    wait: tuple[str, ...] = ()


class _WrongList(Exception):  # noqa: N818 - the tree reads as English
    """A list that cannot be read.

    Args:
        name: of the list.
        error: why.
    """

    def __init__(self, name: str, error: DataError | RecipeError) -> None:
        super().__init__(name)
        self.name, self.error = name, error


class BlocklistMemory(msgspec.Struct, omit_defaults=True):
    """The cursor.

    Attributes:
        failed: number of ticks in a row in which a list was wrong, by its path with what is wrong; or in which an asset
            had a slice that cannot be checked, by its address. The words are ours alone.
        marks: the progress with each asset, by its address.
    """

    failed: dict[str, int] = {}
    marks: dict[str, Mark] = {}


@dataclass
class _Look:
    """One tick: the results of reading the lake and Dagster so far, and the requests."""

    instance: dg.DagsterInstance
    store: Store
    late: Callable[[], bool]
    own_checks: Callable[[list[dg.AssetKey]], list[dg.AssetCheckKey]]
    asked: list[dg.RunRequest] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    unread: dict[tuple[str, str], str] = field(default_factory=dict)
    indexes: set[str] = field(default_factory=set)
    looked: int = 0
    _etags: dict[str, str] = field(default_factory=dict)
    _lists: dict[str, Blocklist | DataError | RecipeError] = field(default_factory=dict)
    _under_way: list[tuple[str | None, set[str] | None]] | None = None

    def full(self) -> bool:
        """Whether the next tick must continue. Every tick checks at least one slice."""
        return (self.looked > 0 and self.late()) or len(self.asked) >= MOST

    def etags(self, chosen: Selected) -> str:
        """A digest of the etags of an asset's lists. The lists are not read."""
        for name in chosen.lists:
            if name not in self._etags:  # before the list is read: a change in between is then seen by the next tick
                entry = self.store.head(blocklist_path(name))
                self._etags[name] = entry.etag if entry else ""
        return digest_of([[name, self._etags[name]] for name in chosen.lists])

    def lists(self, chosen: Selected) -> list[Blocklist]:
        """The lists of an asset. Their entries are noted, so that one which is lost later is known.

        Raises:
            _WrongList: a list does not exist, has lost entries, or has a row that is not valid.
        """
        for name in chosen.lists:
            if name not in self._lists:
                try:
                    self._lists[name] = read_blocklist(self.store, name)
                    record_blocklist_entries(self.store, name)
                except (DataError, RecipeError) as error:
                    self._lists[name] = error
        lists: list[Blocklist] = []
        for name in chosen.lists:
            blocklist = self._lists[name]
            if not isinstance(blocklist, Blocklist):
                raise _WrongList(name, blocklist)
            lists.append(blocklist)
        return lists

    def is_under_way(self, near: Collection[str], snapshot: str | None) -> bool:
        """Whether a run is making one of some assets, such as a slice, its inputs, or something that reads it.

        Dagster is asked once, before any ledger is read. If a run ends in between, its new ledger is read.

        Args:
            near: addresses of the assets.
            snapshot: the partition; None: of assets without partitions.
        """
        if self._under_way is None:
            runs = self.instance.get_runs(dg.RunsFilter(statuses=list(GOING)))
            self._under_way = [
                (run.tags.get("dagster/partition"), {address_of(k) for k in run.asset_selection or ()} or None)
                for run in runs
            ]
        return any(
            (partition is None or partition == snapshot) and (made is None or not made.isdisjoint(near))
            for partition, made in self._under_way
        )


def look_at(look: _Look, chosen: Selected, mark: Mark | None) -> Mark | None:
    """Requests the slices of one asset that its lists affect. Returns its new mark.

    Without a mark (at the first tick, or if the cursor was lost), the recorded digests of the ledgers decide alone.
    """
    etags = look.etags(chosen)
    if mark is not None and mark.lists == etags and mark.after is None and not mark.wait:
        return mark
    if held := why_held(look.instance, chosen.pausing):
        look.messages.append(f"{chosen.address} waits: {held}")
        return mark
    awake = awake_units(look.instance)
    if awake is not None and chosen.source not in awake:
        look.messages.append(f"{chosen.address} waits for the first tick of {NAME}")
        return mark
    snapshots = sorted(look.instance.get_dynamic_partitions(snapshots_of(chosen.source).name or ""))
    try:
        blocked = hashes_by_name(look.lists(chosen))
    except _WrongList as wrong:
        _complain(look, chosen, snapshots, wrong)
        return Mark(_UNREAD)
    if mark is None or mark.lists != etags:
        mark = Mark(etags, after="", anew=mark is not None and (mark.lists == _UNREAD or mark.anew))
    waiting = [snapshot for snapshot in mark.wait if snapshot in snapshots]
    due = waiting + [s for s in snapshots if mark.after is not None and s > mark.after and s not in mark.wait]
    wait: list[str] = []
    for number, snapshot in enumerate(due):
        if look.full():
            rest = due[number:]
            left = tuple(s for s in rest if s in waiting)
            done = due[number - 1] if number > len(waiting) else mark.after
            return Mark(etags, done if mark.after is not None else None, mark.anew, (*wait, *left))
        look.looked += 1
        indexes = () if snapshot in waiting else chosen.indexes  # of waiting ones, they were requested before
        touched = _is_touched(look, chosen, snapshot, blocked, anew=mark.anew)
        if touched is None:
            wait.append(snapshot)
            look.indexes.update(indexes)
        elif touched:
            look.asked.append(_request(look, chosen, snapshot))
            look.indexes.update(indexes)
    return Mark(etags, None, mark.anew and bool(wait), tuple(wait))


def _complain(look: _Look, chosen: Selected, snapshots: list[str], wrong: _WrongList) -> None:
    """Notes a list that cannot be read, unless the lake has none and nobody has needed it yet. Other lists go on."""
    missing = isinstance(wrong.error, RecipeError) and not isinstance(wrong.error, LostEntries)
    if not missing or any(look.store.head(place(chosen.address, snapshot).ledger) for snapshot in snapshots):
        look.wrong[f"{blocklist_path(wrong.name)} ({_in_short(wrong.error)})"] = str(wrong.error)


def _in_short(error: DataError | RecipeError) -> str:
    """What is wrong with a list, in our words: no row of it, and no name of a document."""
    if isinstance(error, LostEntries):
        return f"{error.lost} of {error.known} entries lost"
    return "the lake has none" if isinstance(error, RecipeError) else "a row cannot be read"


def _is_touched(look: _Look, chosen: Selected, snapshot: str, blocked: Hashes, *, anew: bool) -> bool | None:
    """Whether a slice must be made again; None if nobody knows yet: the next tick checks it again.

    A slice whose tables cannot be read holds back no other slice.
    """
    if look.is_under_way(chosen.near, snapshot):
        return None
    made = place(chosen.address, snapshot)
    try:
        if look.store.head(made.ledger) is None:
            return anew and all(look.store.head(place(address, snapshot).ledger) for address in chosen.reads)
        if anew and _is_behind(look.store, made, chosen.reads):
            return True
        return bool(shards_touched_by_blocklists(look.store, made, place(chosen.reads[0], snapshot), blocked))
    except DataError as error:
        look.unread[chosen.address, snapshot] = f"{chosen.address} ({snapshot}): {error}"
        return None


def _is_behind(store: Store, made: Place, reads: Collection[str]) -> bool:
    """Whether what a slice reads has changed since it was made. Its own run has failed for want of a list."""
    heads = {address: read_head(store, place(address, made.snapshot)) for address in reads}
    head = read_head(store, made)
    now = {address: each.fingerprint for address, each in heads.items() if each}
    return any(up.fingerprint != now.get(up.asset, up.fingerprint) for up in head.inputs) if head else False


def _request(look: _Look, chosen: Selected, snapshot: str) -> dg.RunRequest:
    """The request of a slice. It has no run key: a list that changes back would have the same key for other work."""
    made = [key_of(address) for address in (chosen.address, *chosen.exports)]
    return dg.RunRequest(
        partition_key=snapshot,
        asset_selection=made,
        asset_check_keys=look.own_checks(made),
        tags={"gristmill/blocklists": ",".join(chosen.lists)},
    )


def _request_indexes(look: _Look, pending: Collection[str]) -> dict[str, Mark]:
    """Requests the indexes of exports that a changed list affects. Returns those that wait, for the cursor.

    An index that is being made may have read the old list, so it is requested again when that run has ended.

    Args:
        look: the tick.
        pending: their addresses.
    """
    wait: dict[str, Mark] = {}
    for address in pending:
        if held := why_held(look.instance, frozenset({names_in_asset_address(address)["mix"]})):
            look.messages.append(f"{address} waits: {held}")
            wait[address] = Mark("")
        elif look.is_under_way({address}, None):
            look.messages.append(f"{address} is being made; it is requested again after that")
            wait[address] = Mark("")
        else:
            look.asked.insert(0, dg.RunRequest(asset_selection=[key_of(address)]))  # before the slices in the queue
    return wait


def blocklist_sensors(catalogue: Catalogue, interval: int = INTERVAL, box: float = BOX) -> list[dg.SensorDefinition]:
    """The sensor of all blocklists, in a list; empty if no recipe names one.

    Args:
        catalogue: the recipes.
        interval: seconds between two ticks.
        box: longest time of a tick in seconds.
    """
    watched = list(selected_assets(catalogue))
    indexes = list(dict.fromkeys(index for chosen in watched for index in chosen.indexes))
    reached = {address for chosen in watched for address in (chosen.address, *chosen.exports, *chosen.indexes)}

    @dg.sensor(
        name=NAME_OF_SENSOR,
        asset_selection=dg.AssetSelection.assets(*map(key_of, sorted(reached))),
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the finished slices that a changed blocklist affects",
    )
    def watch(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        began, warn = time.monotonic(), tick_warner(context)
        if not is_shown(context.instance, lake.store()):
            return dg.SensorResult(skip_reason=dg.SkipReason(UNSHOWN), cursor=context.cursor)
        look = _Look(
            context.instance, lake.store(), lambda: time.monotonic() - began > box, partial(own_checks, context)
        )
        memory = read_memory(BlocklistMemory, context.cursor, NAME_OF_SENSOR, warn)
        marks = {chosen.address: look_at(look, chosen, memory.marks.get(chosen.address)) for chosen in watched}
        waiting = _request_indexes(look, [each for each in indexes if each in memory.marks or each in look.indexes])
        for line in (*look.wrong.values(), *[*look.unread.values()][:NAMED]):
            warn(line)
        damaged = {f"{address} (a slice cannot be checked)" for address, _ in look.unread}
        memory.failed = once_more(memory.failed, [*look.wrong, *damaged])
        memory.marks = {**{each: mark for each, mark in marks.items() if mark is not None}, **waiting}
        return _result(look, memory)

    return [watch] if watched else []


def _result(look: _Look, memory: BlocklistMemory) -> dg.SensorResult:
    state = msgspec.json.encode(memory, order="sorted").decode()
    if look.asked:
        return dg.SensorResult(run_requests=look.asked, cursor=with_news(requests_in_words(look.asked), state))
    unread = [*look.unread.values()]
    waiting = sum(len(mark.wait) for mark in memory.marks.values()) - len(unread)
    reasons = [
        *map(escape_controls, look.wrong.values()),
        *dict.fromkeys(look.messages),
        *([f"{waiting} slices are being made; they are checked again"] if waiting else []),
        *(f"{number_and_noun(len(unread), 'slice')} cannot be checked: {line}" for line in unread[:1]),
    ]
    told = "; ".join(reasons) or "nothing new: no slice is affected"
    return dg.SensorResult(skip_reason=dg.SkipReason(told), cursor=with_news(told, state))
