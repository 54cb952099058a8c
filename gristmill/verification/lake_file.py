"""The audit of files that belong to no ledger: `lake.json`, which holds the lake's id, and the releases."""

from collections.abc import Iterator

import msgspec

from gristmill.errors import DataError
from gristmill.execution.finding import Finding
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.lake_id import LAKE_FILE, read_lake_id
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.plain_files import NoFile, Unlisted
from gristmill.lake.store.protocol import Store

_MEND = "restore it from a copy; or remove it and run Dagster's job `sync`, which draws a new id"


def lake_file_findings(store: Store) -> Iterator[Finding]:
    """A finding if `lake.json` is not valid, or is lost.

    Dagster gives an id to each lake that it opens. So the file is lost if a run of Dagster made one of the partitions.
    A lake that only plain Python has written needs none.
    """
    try:
        if read_lake_id(store) is not None:
            return
    except (DataError, NoFile):
        yield Finding(LAKE_FILE, None, "it does not contain a lake's id", _MEND)
        return
    for partition in list_ledgers(store):
        run = read_run_note(store, partition).about.get("run")
        if run:
            what = (
                f"there is no such object, but Dagster's run {run} made {partition.asset} ({partition.snapshot}) here"
            )
            yield Finding(LAKE_FILE, None, what, _MEND)
            return


def release_findings(store: Store) -> Iterator[Finding]:
    """A finding for each release that is not a JSON object. `gc` keeps the parts that releases name.

    Args:
        store: the lake.
    """
    unfit: list[Unlisted] = []
    entries = list(store.list("releases/", "", unfit.append))
    yield from (Finding(each.path, None, each.reason) for each in unfit)
    for entry in entries:
        if entry.path.endswith(".json"):
            try:
                msgspec.json.decode(store.read(entry.path), type=dict[str, msgspec.Raw])
            except NOT_DECODED as error:
                yield Finding(entry.path, None, f"not a JSON object ({error})", "restore it from a copy")
