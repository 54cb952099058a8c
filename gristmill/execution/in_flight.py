"""The objects of a partition that a run is writing, or had written when it was killed: no ledger names them yet."""

from collections.abc import Iterator, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.execution.work import Item
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import unpack_rows
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import objects_of_row, read_receipts
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store


class _Planned(msgspec.Struct):
    """A line of a run's plan: a shard to keep, with its row of the table, or a shard to grind, with its name."""

    name: str = ""
    row: Shard | None = None


def paths_in_flight(store: Store, place: Place) -> set[str]:
    """The paths that receipts and plans beside a partition's ledger name. Other files there name nothing.

    Raises:
        StoreError: the lake does not answer, or a run is being published at this moment: try again.
    """
    named = {path for receipt in read_receipts(store, place) for path, _, _ in objects_of_row(receipt.row, place)}
    for entry in store.list(place.receipts_folder):
        if entry.path.startswith(f"{place.receipts_folder}.plan-"):
            named.update(_paths_of_plan(store, place, entry.path))
    return named


def _paths_of_plan(store: Store, place: Place, path: str) -> Iterator[str]:
    """The paths of the objects of a plan's shards; none if the plan cannot be read: then no run can follow it."""
    try:
        lines = [
            msgspec.json.decode(line, type=_Planned)
            for line in unpack_rows(b"".join(unpack_pieces([store.read(path)], path)))
        ]
    except (DataError, *NOT_DECODED):
        return
    for line in lines:
        if line.row is not None:
            yield from (named for named, _, _ in objects_of_row(line.row, place))
            continue
        yield place.shard(line.name)
        yield from [place.index(line.name)] if place.kind.ids else []
        yield from [place.quarantine_path(line.name)] if place.kind.quarantine else []


def items_to_grind(store: Store, places: Sequence[Place], run: str, items: Sequence[Item]) -> list[Item]:
    """The items that a run has not ground yet, so that a step that is tried again grinds only those.

    Args:
        store: the lake.
        places: the partitions of the step. An item makes a shard of each: it is done when all of them have one.
        run: token of the run. What a late worker of an older run has left does not count.
        items: all items of the step.

    Raises:
        StoreError: the lake does not answer.
    """
    done = list(items)
    for place in places:
        left = {receipt.row.name for receipt in read_receipts(store, place) if receipt.run == run}
        done = [item for item in done if item.name in left]
    names = {item.name for item in done}
    return [item for item in items if item.name not in names]
