"""Pins a release: reads the ledgers of a token cache up to the raw data, and lists every object that trainers read."""

import json
from collections.abc import Callable, Mapping, Sequence

import msgspec

from gristmill.errors import Conflict, DataError, GristmillError, RecipeError
from gristmill.lake.address import cache_index, place
from gristmill.lake.asset_kinds import EXPORT_INDEX, kind_of, report_rank
from gristmill.lake.ledger.files import as_json, read_head
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.ledger.index_ledger import content_digest, read_indexed
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mixture.token_shares import MIXTURE, Reading
from gristmill.releases.pinned import PinnedLedger, PinnedRelease, pinned_path, withdrawn_path
from gristmill.releases.pinned_objects import (
    AGAIN,
    check_kept,
    check_there,
    named_objects,
    read_index_at,
    read_whole_ledger,
)
from gristmill.stages.token_cache.levanter_config import CATALOG, DATA_YAML


def pinned_release(store: Store, name: str, mix: str, tokenizer: str, exports: Sequence[str] = ()) -> PinnedRelease:
    """The release of a token cache as the lake has it now, not yet written; its `files` are empty.

    Args:
        store: the lake.
        name: name of the release.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        exports: names of exports of the mix that belong to it.

    Raises:
        DataError: an index or a ledger is missing, or one does not agree with those that it was made from; or a release
            of this name was withdrawn.
        RecipeError: something was made by a draft, which may change under its name.
    """
    _check_not_withdrawn(store, name)
    index = read_index_at(store, cache_index(mix, tokenizer))
    indexes = [index, *(read_index_at(store, EXPORT_INDEX.at(mix=mix, export=each)) for each in exports)]
    ledgers: dict[tuple[str, str], PinnedLedger] = {}
    for each in indexes:
        for upstream in each.inputs:
            _collect_input_ledgers(store, upstream, each.asset, ledgers)
    ordered = sorted(ledgers.values(), key=lambda ledger: (report_rank(ledger.asset), ledger.asset, ledger.snapshot))
    slices = tuple((upstream.asset.rpartition("/")[2], upstream.snapshot) for upstream in index.inputs)
    objects = named_objects(store, ordered, tokenizer)
    return PinnedRelease(1, name, mix, tokenizer, index.fingerprint, slices, tuple(ordered), objects, {})


def trainer_files(store: Store, release: PinnedRelease) -> dict[str, bytes]:
    """The trainer's configuration of a release, by path: `data.yaml` and the catalogue that it names.

    The catalogue holds the ledgers of all parts, so that a trainer reads none that a later run replaces.

    Args:
        store: the lake.
        release: the release.

    Raises:
        DataError: a file of the index is missing or damaged.
    """
    folder = f"{RELEASES}{release.name}"
    files = {f"{folder}/{name}": _file_of_index(store, release, name)[1] for name in (DATA_YAML, CATALOG)}
    config = json.loads(files[f"{folder}/{DATA_YAML}"])
    config["cache_catalog"] = f"{store.url}/{folder}/{CATALOG}"
    files[f"{folder}/{DATA_YAML}"] = json.dumps(config, indent=2).encode() + b"\n"
    return files


def trainer_reading(store: Store, release: PinnedRelease) -> Reading:
    """The reading of the streams of a release in training, as the index of its token cache has it.

    Args:
        store: the lake.
        release: the release.

    Raises:
        DataError: the index has no such file, or it is damaged.
    """
    path, data = _file_of_index(store, release, MIXTURE)
    return decode_object(data, Reading, path, "the file of an index", AGAIN)


def _file_of_index(store: Store, release: PinnedRelease, name: str) -> tuple[str, bytes]:
    """The path and the bytes of a file of the token cache's index."""
    index = cache_index(release.mix, release.tokenizer)
    path = f"{index}/{name}"
    found = read_indexed(store, index, path, AGAIN)
    if found is None or found[0].fingerprint != release.index:
        raise DataError(f"{index}: was made again while the release was made; give the same command again")
    return path, found[1]


def train_weights(files: Mapping[str, bytes], release: PinnedRelease) -> dict[str, float]:
    """The weight of each stream in the trainer's configuration of a release.

    Args:
        files: content of each file by its name, from trainer_files().
        release: the release.
    """
    config = json.loads(files[f"{RELEASES}{release.name}/{DATA_YAML}"])
    return msgspec.convert(config["train_weights"], dict[str, float])


def write_release(
    store: Store, release: PinnedRelease, files: dict[str, bytes], still: Callable[[], None] = lambda: None
) -> tuple[str, ...]:
    """Writes a release: first its list of objects, which decides which of two runs has the name, then its files.

    Of a release that is there, as after a kill, files that are lost or edited are written again.

    Args:
        store: the lake.
        release: release without files.
        files: the content of each file, by its path below `releases/<name>/`.
        still: function that raises DataError if a new release must be taken back; called when it is written.

    Returns:
        The paths that were written.

    Raises:
        DataError: the lake has another release of this name, lacks an object that this one names, or something that it
            names was made again, or a release of the name withdrawn, meanwhile.
        Conflict: another run wrote a release of this name, and it was withdrawn, at this moment.
    """
    digests = {path: content_digest(data, path, store.url) for path, data in sorted(files.items())}
    whole = msgspec.structs.replace(release, files=digests).with_digest
    path = pinned_path(release.name)
    tagged = store.read_tagged(path)
    if tagged is None:
        check_there(store, release)
        try:
            store.put_if(path, as_json(whole), None)
        except Conflict:  # another run was first, at this moment
            if (tagged := store.read_tagged(path)) is None:
                raise
    if tagged is not None:
        if tagged[0] not in {as_json(whole), as_json(msgspec.structs.replace(whole, digest=""))}:  # of version 0.2
            raise DataError(
                f"{path}: a release never changes, and the mix, its token cache or the words of its card did,"
                " or this file was edited; give another name"
            )
        files = {name: data for name, data in files.items() if not _has_file_with_digest(store, name, digests[name])}
    for name, data in files.items():
        store.put(name, data)
    if tagged is not None:
        return tuple(files)
    try:
        _check_still(store, whole, still)
    except GristmillError:
        store.delete([*files, path])
        raise
    return (*files, path)


def _check_still(store: Store, release: PinnedRelease, still: Callable[[], None]) -> None:
    """Checks that what a release names was kept, and that none of its name was withdrawn, while it was written."""
    check_kept(store, release)
    still()
    _check_not_withdrawn(store, release.name)


def _check_not_withdrawn(store: Store, name: str) -> None:
    record = withdrawn_path(name)
    if store.head(record) is not None:
        raise DataError(
            f"{record}: the release {name} was withdrawn, and its name is not used again; give another name"
        )


def _has_file_with_digest(store: Store, path: str, digest: str) -> bool:
    """Whether the lake has a file with this content."""
    tagged = store.read_tagged(path)
    try:
        return tagged is not None and content_digest(tagged[0], path, store.url) == digest
    except DataError:
        return False


def _collect_input_ledgers(
    store: Store, upstream: Upstream, by: str, found: dict[tuple[str, str], PinnedLedger]
) -> None:
    """Adds the ledger of an input, and those of all its inputs. Raw data and blocklists have no ledger."""
    waiting = [(upstream, by)]
    while waiting:
        each, reader = waiting.pop()
        kind = kind_of(each.asset)
        if (each.asset, each.snapshot) in found or kind is None or not kind.ledger:
            continue
        pinned = pinned_ledger(store, each)
        if pinned.fingerprint != each.fingerprint:
            where = f"{each.asset} ({each.snapshot})" if each.snapshot else each.asset
            raise DataError(f"{where}: has changed since {reader} was made from it; {AGAIN}")
        found[each.asset, each.snapshot] = pinned
        if kind.is_partitioned:  # a tokenizer or a model stays as it is when what it was trained on changes
            waiting += [(Upstream(*named), each.asset) for named in pinned.inputs]


def pinned_ledger(store: Store, upstream: Upstream) -> PinnedLedger:
    """The ledger of an input as the lake has it now.

    Args:
        store: the lake.
        upstream: the input.

    Raises:
        DataError: it has no ledger any more, or a damaged one.
        RecipeError: a draft made it.
    """
    kind = kind_of(upstream.asset)
    totals: dict[str, int] = {}
    dropped: dict[str, int] = {}
    if kind is not None and kind.is_partitioned:
        head = read_head(store, place(upstream.asset, upstream.snapshot))
        if head is None:
            raise DataError(f"{upstream.asset} ({upstream.snapshot}): has no ledger any more; {AGAIN}")
        recipe, fingerprint, totals, dropped = head.recipe, head.fingerprint, head.totals, head.dropped
        inputs = tuple((each.asset, each.snapshot, each.fingerprint) for each in head.inputs)
    else:
        whole = read_whole_ledger(store, upstream.asset)
        recipe, fingerprint, inputs = whole.recipe, whole.fingerprint, whole.inputs
    if recipe.draft:
        raise RecipeError(f"{upstream.asset}: made by a draft, which may change under its name; remove draft=True")
    told = {"name": recipe.name, "version": recipe.version, "parameters": recipe.parameters}
    raw = {key: msgspec.Raw(msgspec.json.encode(value, order="sorted")) for key, value in told.items()}
    return PinnedLedger(upstream.asset, upstream.snapshot, fingerprint, raw, totals, dropped, inputs)
