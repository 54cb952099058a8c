"""The audit of files that belong to no ledger: `lake.json`, which holds the lake's id, and the releases."""

from collections.abc import Iterator, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.execution.finding import AuditedStore, Finding, guard_proof
from gristmill.execution.mend import add_mend_to_finding
from gristmill.execution.work import Say
from gristmill.lake.ledger.as_written import why_not_as_written
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.folders.pinned_upload import RELEASES, name_of_release
from gristmill.lake.ledger.lake_id import LAKE_FILE, read_lake_id
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.json_object import NOT_DECODED, decode_object
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import PinnedRelease
from gristmill.releases.proof import pinned_findings
from gristmill.releases.withdrawal import find_withdrawn
from gristmill.verification.derived_files.pinned_release import release_contradictions

_MEND = "restore it from a copy; or remove it and run Dagster's job `sync`, which draws a new id"

_LOST = (
    "restore it from a copy; or write the release again, which a killed `gristmill release` needs, or remove its files"
)


def audit_unledgered(store: Store, say: Say, shelves: Sequence[str] = ()) -> list[Finding]:
    """The findings on `lake.json` and on the releases; on an object that cannot be read as well.

    Args:
        store: the lake.
        say: function that receives notes on the releases of a copied lake, and on what of them cannot be derived again.
        shelves: the packages that hold the recipes, which a data card repeats.

    Raises:
        StoreError: the lake does not answer.
    """
    audited = AuditedStore(store)
    lake_file = guard_proof(audited, LAKE_FILE, lake_file_findings(audited))
    releases = guard_proof(audited, RELEASES, release_findings(audited, say, shelves))
    return [add_mend_to_finding(store, finding) for finding in (*lake_file, *releases, *audited.left_out())]


def lake_file_findings(store: Store) -> Iterator[Finding]:
    """A finding if `lake.json` is not valid, or is lost.

    Dagster gives an id to each lake that it opens. So the file is lost if a run of Dagster made one of the partitions.
    A lake that only plain Python has written needs none.
    """
    try:
        lake_id = read_lake_id(store)
        if lake_id is not None:
            if why := why_not_as_written(store.read(LAKE_FILE), lake_id):
                yield Finding(LAKE_FILE, None, why, _MEND)
            return
    except DataError:
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


def release_findings(store: Store, say: Say, shelves: Sequence[str] = ()) -> Iterator[Finding]:
    """Findings on the releases: one that is not a JSON object, was withdrawn, or names lost or changed objects.

    `gc` keeps the parts that releases name. A file that people wrote by hand needs no more than to be JSON; but a
    folder of files that a trainer or a person reads needs the release that has their digests.

    Args:
        store: the lake.
        say: function that receives notes on the releases of a copied lake, and on what of them cannot be derived again.
        shelves: the packages that hold the recipes, which a data card repeats.
    """
    paths = [entry.path for entry in store.list(RELEASES)]
    below = (path.removeprefix(RELEASES).partition("/") for path in paths)
    folders = {f"{RELEASES}{folder}.json" for folder, slash, _ in below if slash}
    withdrawn = find_withdrawn(store)
    for path in sorted({path for path in paths if path.endswith(".json")} | folders):
        if path in withdrawn:
            yield withdrawn[path]
        elif path in paths:
            yield from guard_proof(store, path, _release_findings(store, path, say, shelves, has_files=path in folders))
        else:
            folder = path.removesuffix(".json")
            yield Finding(path, None, f"no such object, so nothing proves the files in {folder}/", _LOST)


def _release_findings(
    store: Store, path: str, say: Say, shelves: Sequence[str], *, has_files: bool
) -> Iterator[Finding]:
    data = store.read(path)
    try:
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except NOT_DECODED as error:
        yield Finding(path, None, f"not a JSON object ({error})", "restore it from a copy")
        return
    if (has_files or "schema" in found) and name_of_release(path) is not None:
        yield from _pinned_release_findings(store, path, data, say, shelves)


def _pinned_release_findings(
    store: Store, path: str, data: bytes, say: Say, shelves: Sequence[str]
) -> Iterator[Finding]:
    try:
        release = decode_object(data, PinnedRelease, path, "a release")
    except DataError as error:
        yield Finding(path, None, str(error).removeprefix(f"{path}: "), "restore it from a copy")
        return
    if what := why_not_as_written(data, release):
        yield Finding(path, None, what, "restore it from a copy")
    if release.name != name_of_release(path):
        yield Finding(path, None, f"it says that its name is {release.name!r}", "restore it from a copy")
        return
    wrong = list(pinned_findings(store, release, say))
    yield from wrong
    if not wrong:
        yield from release_contradictions(store, release, shelves, say)
