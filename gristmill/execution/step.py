"""A step: the partitions that one grind makes. Plan, grind, commit, whoever orchestrates them.

planned = plan(step, lake, token)        claims the partitions and says what is missing
tally = grind(planned, engine, say)      grinds the missing shards; receipts stay behind
folded = fold_one(planned, asset, {})    the whole partition, checked to be there: look at it, then
publish_one(planned, asset, folded)      the ledger; from now on the partition is finished
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gristmill.execution.claim import check_claim, claimed_by
from gristmill.execution.commit import Folded, Making, begin, fold, publish
from gristmill.execution.plan import Known, Target, Want, decide, is_finished, look
from gristmill.execution.runner import Tally, grind_all, raise_failures
from gristmill.execution.staleness import reasons
from gristmill.execution.work import Engine, Failed, Item, Job, Lake, Say
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import dump, unpack_rows
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import gzip_bytes, unpacked
from gristmill.lake.store.protocol import Store


class Step(Protocol):
    """What a stage must say of itself; made from recipes and a snapshot."""

    @property
    def stage(self) -> str:
        """The package below gristmill.stages whose module `grinder` grinds."""

    @property
    def shelves(self) -> tuple[str, ...]:
        """The packages whose shelves hold the recipes."""

    def targets(self, store: Store) -> list[Target]:
        """The partitions as they should be."""

    def spec(self, makings: Sequence[Making]) -> Any:
        """What all shards share (a struct)."""

    def items(self, todo: Mapping[str, Sequence[Want]], known: Mapping[str, Known]) -> list[Item]:
        """The work, from the missing shards of each asset; called after targets()."""


class Planned(msgspec.Struct, frozen=True):
    """A planned step: small JSON that any process can go on with; the items lie beside the receipts."""

    makings: tuple[Making, ...]
    job: Job
    items: int
    weight: int

    def making(self, asset: str) -> Making:
        """The making of one asset."""
        return next(m for m in self.makings if m.place.asset == asset)


def plan(step: Step, lake: Lake, token: str, *, force: bool = False) -> Planned:
    """Claims the step's partitions and finds out what is missing.

    Raises:
        RecipeError: a partition was made by another recipe of the same name.
        DataError: an input is not there.
    """
    store = lake.store()
    makings: list[Making] = []
    todo: dict[str, list[Want]] = {}
    known: dict[str, Known] = {}
    for target in step.targets(store):
        making, wants, before = begin(store, target, token, force=force)
        makings.append(making)
        todo[target.place.asset] = wants
        known[target.place.asset] = before
    items = step.items(todo, known) if any(todo.values()) else []
    spec = msgspec.Raw(msgspec.json.encode(step.spec(makings)))
    job = Job(stage=step.stage, lake=lake, shelves=step.shelves, spec=spec)
    planned = Planned(tuple(makings), job, len(items), sum(item.weight for item in items))
    if items:
        store.put(_items(makings[0]), gzip_bytes(b"\n".join(msgspec.json.encode(item) for item in items)))
    for making in makings:  # so that another process can go on with any of them
        store.put(_planned(making.place, token), msgspec.json.encode(planned))
    return planned


def resume(store: Store, place: Place, run: str) -> Planned:
    """The planned step that holds a claim, in another process than the one that planned it.

    Args:
        store: the lake.
        place: a partition of the step.
        run: what the token of the plan begins with.

    Raises:
        Superseded: a newer run has claimed the partition.
    """
    token = claimed_by(store, place)
    if token is None or not token.startswith(run):
        check_claim(store, place, run)
    return msgspec.json.decode(store.read(_planned(place, token or "")), type=Planned)


def _planned(place: Place, token: str) -> str:
    return f"{place.receipts}.planned-{token}.json"


def _items(making: Making) -> str:
    return f"{making.place.receipts}.items-{making.token}.gz"


def _ground(making: Making) -> str:
    return f"{making.place.receipts}.ground-{making.token}.gz"


class Survey(msgspec.Struct, frozen=True):
    """What a plan would find, without claiming anything: the dry run.

    Attributes:
        asset: the asset.
        snapshot: the partition.
        finished: the ledger says already what it should.
        kept: shards that would be kept.
        missing: shards that would be ground, by name.
        gone: shards that would go.
        why: what speaks against what is there; empty if it is finished.
    """

    asset: str
    snapshot: str
    finished: bool
    kept: int
    missing: tuple[str, ...]
    gone: tuple[str, ...]
    why: tuple[str, ...] = ()


def survey(step: Step, store: Store) -> list[Survey]:
    """What would be rebuilt, decided from the ledgers alone. Errors are those of plan()."""
    found: list[Survey] = []
    for target in step.targets(store):
        known = look(store, target.place)
        keep, todo, gone = decide(known, target, store)
        finished = is_finished(known, target, keep, todo)
        found.append(
            Survey(
                asset=target.place.asset,
                snapshot=target.place.snapshot,
                finished=finished,
                kept=len(keep),
                missing=tuple(want.name for want in todo),
                gone=gone,
                why=() if finished else reasons(known, target, keep, todo),
            )
        )
    return found


def grind(planned: Planned, engine: Engine, say: Say) -> Tally:
    """Grinds what is missing. Failures are in the tally; what was made has its receipt."""
    if not planned.items:
        return grind_all(engine, planned.job, [], say)
    store = planned.job.lake.store()
    path = _items(planned.makings[0])
    lines = unpack_rows(b"".join(unpacked([store.read(path)], path)))
    items = [msgspec.json.decode(line, type=Item) for line in lines]
    items = _left(store, planned, items)
    tally = grind_all(engine, planned.job, items, say)
    spent = {"cpu seconds": round(tally.cpu, 3), "wall seconds": round(tally.seconds, 3), **tally.facts}
    for making in planned.makings:
        asset = making.place.asset
        store.put(_spent(making), msgspec.json.encode(spent))
        made = tally.ground.get(asset)
        if made:
            store.put(_ground(making), gzip_bytes(b"\n".join(dump(receipt) for receipt in made.values())))
        failed = [each for each in tally.failed if each.asset in {"", asset}]
        if failed:
            store.put(_failed(making), msgspec.json.encode(failed))
        else:
            store.delete([_failed(making)])
    return tally


def _spent(making: Making) -> str:
    return f"{making.place.receipts}.spent-{making.token}.json"


def _failed(making: Making) -> str:
    return f"{making.place.receipts}.failed-{making.token}.json"


def _left(store: Store, planned: Planned, items: list[Item]) -> list[Item]:
    """Without what this very plan has ground already: a step that is tried again does only the rest."""
    done: list[set[str]] = []
    for making in planned.makings:
        lead = making.place.receipts
        done.append({e.path.removeprefix(lead).removesuffix(".json") for e in store.list(lead)})
    if len(done) > 1:  # an item makes shards of several sets: only one that made all of them is done
        return [item for item in items if not all(item.name in names for names in done)]
    return [item for item in items if item.name not in done[0]]


def fold_one(planned: Planned, asset: str, about: Mapping[str, Any]) -> Folded:
    """The partition of one asset, whole and checked to be there, not yet published.

    Raises:
        GristmillError: what kept one of its shards from being ground.
    """
    store = planned.job.lake.store()
    making = planned.making(asset)
    failed = store.read_tagged(_failed(making)) if making.todo else None
    if failed:
        raise_failures(msgspec.json.decode(failed[0], type=list[Failed]), making.todo)
    made: dict[str, Receipt] = {}
    path = _ground(making)
    found = store.read_tagged(path) if making.todo else None
    if found:
        for line in unpack_rows(b"".join(unpacked([found[0]], path))):
            receipt = msgspec.json.decode(line, type=Receipt)
            made[receipt.row.name] = receipt
    spent = store.read_tagged(_spent(making)) if making.todo else None
    if spent:
        about = {**about, "grind": msgspec.json.decode(spent[0])}
    return fold(store, making, about, made)


def publish_one(planned: Planned, asset: str, folded: Folded) -> Ledger:
    """Publishes the partition of one asset."""
    return publish(planned.job.lake.store(), planned.making(asset), folded)


def make(step: Step, lake: Lake, engine: Engine, token: str, say: Say, *, force: bool = False) -> dict[str, Ledger]:
    """The whole step in plain Python, without an orchestrator: ledgers by asset.

    Raises:
        GristmillError: a shard failed; what was made is kept for the next time.
    """
    planned = plan(step, lake, token, force=force)
    tally = grind(planned, engine, say)
    raise_failures(tally.failed, planned.items)
    return {
        making.place.asset: publish_one(planned, making.place.asset, fold_one(planned, making.place.asset, {}))
        for making in planned.makings
    }
