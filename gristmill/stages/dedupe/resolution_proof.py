"""Compares the result of a resolution with the order, and with the ledgers of all that it compared."""

from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.as_written import why_not_as_written
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.resolution import compose_resolution, read_dedupe_order, read_resolution, resolution_path
from gristmill.stages.fingerprints.order import Order, dedupe_order_path
from gristmill.stages.near_duplicates.shared_numbers import shared_cluster_numbers_line


def resolution_contradictions(store: Store, ledger: IndexLedger, say: Say) -> Iterator[tuple[str, str]]:
    """A result that does not follow from the order and the ledgers: (path, what is wrong).

    Snapshots that the order has and the result has not are no contradiction: their resolution has not ended yet.

    Args:
        store: the lake.
        ledger: ledger of the resolution.
        say: function that receives lines about clusters that have one number.
    """
    name = names_in_asset_address(ledger.asset)["dedupe"]
    path = resolution_path(name)
    try:
        order, etag = read_dedupe_order(store, name)
    except DataError as error:
        yield dedupe_order_path(name), str(error).removeprefix(f"{dedupe_order_path(name)}: ")
        return
    if etag is None:
        yield dedupe_order_path(name), "it is lost; the resolution was made with it"
        return
    try:
        result = read_resolution(store, name)
        begun = order.entries[: len(result.snapshots if result else ())]
        expected, marks = compose_resolution(store, name, Order(begun))
        alike = shared_cluster_numbers_line(store, name, Order(begun).round_count)
    except DataError as error:
        yield path, str(error).removeprefix(f"{path}: ")
        return
    if alike:
        say(f"{ledger.asset}: {alike}")
    if tuple(marks) != ledger.inputs:
        yield path, "its marks are not those that its ledger names"
    if why := why_not_as_written(store.read(dedupe_order_path(name)), order):
        yield dedupe_order_path(name), why
    if result is None or as_json(result) != as_json(expected):
        yield path, "it does not follow from the ledgers of what it compared"
    elif why := why_not_as_written(store.read(path), result):
        yield path, why
