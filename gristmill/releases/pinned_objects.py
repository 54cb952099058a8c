"""The objects that a release names: which they are, whether the lake has each of them, and will keep it."""

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.execution.claim import is_claimed_by_run
from gristmill.lake.address import Place, export_index, place, tokenizer_asset
from gristmill.lake.asset_kinds import EXPORT, is_product, kind_of, ledger_of_asset, names_in_asset_address
from gristmill.lake.ledger.files import read_head, read_table
from gristmill.lake.ledger.index_ledger import TEXTS, IndexLedger, content_digest, read_index_ledger
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.ledger.receipts import objects_of_row
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import PinnedLedger, PinnedRelease, pinned_path
from gristmill.stages.export.index import release_folder
from gristmill.stages.export.release import WRITING

AGAIN = "make the mix again, then the release"
"""What to do if the lake is not as its ledgers say."""


class WholeLedger(msgspec.Struct, frozen=True):
    """What the ledgers of tokenizers, models and labelled sets have in common."""

    fingerprint: str
    recipe: Recipe
    inputs: tuple[tuple[str, str, str], ...]
    files: dict[str, str]


def read_whole_ledger(store: Store, asset: str) -> WholeLedger:
    """The ledger of a tokenizer, a model or a labelled set.

    Args:
        store: the lake.
        asset: address of the asset.

    Raises:
        DataError: the ledger is gone, or it is damaged.
    """
    path = ledger_of_asset(asset)
    tagged = store.read_tagged(path)
    if tagged is None:
        raise DataError(f"{path}: there is no such ledger any more; {AGAIN}")
    return decode_object(tagged[0], WholeLedger, path, "a ledger")


def read_index_at(store: Store, asset: str) -> IndexLedger:
    """The ledger of an index.

    Args:
        store: the lake.
        asset: address of the index.

    Raises:
        DataError: the lake has no such index, or its ledger is damaged.
    """
    ledger = read_index_ledger(store, ledger_of_asset(asset))
    if ledger is None:
        raise DataError(f"{asset}: not made yet; make it first (gristmill make)")
    return ledger


def named_objects(store: Store, ledgers: Sequence[PinnedLedger], tokenizer: str) -> dict[str, tuple[str, int]]:
    """The objects that the lake names now under the ledgers of a release: sha256 and size in bytes, by path.

    Args:
        store: the lake.
        ledgers: ledgers of the release. They say which assets are read; their contents are not compared.
        tokenizer: name of the tokenizer.

    Raises:
        DataError: a ledger is lost or damaged, an object is lost, or a file of an export's release is not the one that
            its index names.
    """
    objects: dict[str, tuple[str, int]] = {}
    for each in ledgers:
        if is_product(each.asset):
            objects |= dict(objects_of_slice(store, place(each.asset, each.snapshot)))
        elif each.asset == tokenizer_asset(tokenizer):
            for name, sha256 in read_whole_ledger(store, each.asset).files.items():
                path = f"{each.asset}/{name}"
                objects[path] = sha256, _object_size(store, path)
    for index in _export_indexes(ledgers):
        objects |= dict(_release_objects(store, read_index_at(store, index)))
    return dict(sorted(objects.items()))


def objects_of_slice(store: Store, partition: Place) -> Iterator[tuple[str, tuple[str, int]]]:
    """The objects of the parts of a slice: path, and sha256 and size.

    Args:
        store: the lake.
        partition: a slice of a token cache or of an export.

    Raises:
        DataError: its table is damaged, or an object is lost.
    """
    for row in read_table(store, partition):
        for path, sha256, size in objects_of_row(row, partition):
            yield path, (sha256, _object_size(store, path) if size is None else size)


def _export_indexes(ledgers: Sequence[PinnedLedger]) -> list[str]:
    """The addresses of the indexes of the exports that belong to a release."""
    exports = (names_in_asset_address(each.asset) for each in ledgers if kind_of(each.asset) is EXPORT)
    return sorted({export_index(names["mix"], names["export"]) for names in exports})


def _release_objects(store: Store, index: IndexLedger) -> Iterator[tuple[str, tuple[str, int]]]:
    """The files of an index that are never changed: those in the folder of an export's release."""
    for path, digest in index.files.items():
        if not release_folder(path):
            continue
        sha256 = digest
        if path.endswith(TEXTS):  # the digest of a text is over its content without the lake's root
            data = store.read(path)
            if content_digest(data, path, store.url) != digest:
                raise DataError(f"{path}: is not the file that the index names; {AGAIN}")
            sha256 = hashlib.sha256(data).hexdigest()
        yield path, (sha256, _object_size(store, path))


def _object_size(store: Store, path: str) -> int:
    entry = store.head(path)
    if entry is None:
        raise DataError(f"{path}: a ledger names it, but there is no such object; {AGAIN}")
    return entry.size


def first_lost_object(store: Store, release: PinnedRelease) -> str:
    """The path of the first object of a release that the lake does not have in its size; empty if it has all.

    Objects are listed, not read: `verify` reads them.

    Args:
        store: the lake.
        release: the release.
    """
    slices = [place(each.asset, each.snapshot) for each in _slice_ledgers(release)]
    folders = {folder for each in slices for folder in each.folders}
    there = {entry.path: entry for folder in sorted(folders) for entry in store.list(folder)}
    for path, (_, size) in sorted(release.objects.items()):
        entry = there.get(path) or store.head(path)  # few are no part: a tokenizer's, and those of an export's release
        if entry is None or entry.size != size:
            return path
    return ""


def check_there(store: Store, release: PinnedRelease) -> None:
    """Checks that the lake has the objects of a release that is not written yet, and that no run is making them.

    Args:
        store: the lake.
        release: the release.

    Raises:
        DataError: an object is lost, or a run is at work there, or was killed.
    """
    _check_free(store, release)
    if lost := first_lost_object(store, release):
        raise DataError(f"{lost}: a ledger names it, and the lake does not have it in its size; {AGAIN}")


def _check_free(store: Store, release: PinnedRelease) -> None:
    """Checks that no run is making what a release names: it may have replaced an object, and has no ledger yet."""
    slices = [place(each.asset, each.snapshot) for each in _slice_ledgers(release)]
    folders = (*_export_indexes(release.ledgers), tokenizer_asset(release.tokenizer))
    marks = {each.claim_path: f"{each.asset} ({each.snapshot})" for each in slices}
    for path, what in (marks | {f"{folder}/{WRITING}": folder for folder in folders}).items():
        if is_claimed_by_run(store, path):
            raise DataError(
                f"{what}: is being made, or the run that made it has died, so the release {release.name} is not"
                " written; give the same command again when it is finished, or make it again"
            )


def check_kept(store: Store, release: PinnedRelease) -> None:
    """Checks that a release that was just written names what the ledgers name, and that the lake has these objects.

    A run that began before the release was written does not know it. It replaces objects of a part that is made again.
    A `gc` that began before removes what no ledger names. Who looks for runs does so before: a run that ended in
    between has written its ledgers.

    Args:
        store: the lake.
        release: the release.

    Raises:
        DataError: an object is lost, or something was made again meanwhile.
    """
    _check_free(store, release)
    named = named_objects(store, release.ledgers, release.tokenizer)
    lost = first_lost_object(store, release) or _first_changed_slice(store, release)
    lost = lost or next(iter(dict(named.items() ^ release.objects.items())), "")
    if lost:
        raise DataError(
            f"{lost}: was made again or removed while {pinned_path(release.name)} was written, so that release was"
            " taken back; give the same command again"
        )


def _slice_ledgers(release: PinnedRelease) -> list[PinnedLedger]:
    """The ledgers of slices of token caches and exports."""
    return [each for each in release.ledgers if is_product(each.asset)]


def _first_changed_slice(store: Store, release: PinnedRelease) -> str:
    """The first slice whose ledger is another one now, so that objects may be of both; empty if all are the same."""
    for each in _slice_ledgers(release):
        head = read_head(store, place(each.asset, each.snapshot))
        if head is None or head.fingerprint != each.fingerprint:
            return f"{each.asset} ({each.snapshot})"
    return ""
