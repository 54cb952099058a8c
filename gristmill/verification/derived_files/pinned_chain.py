"""What a release pins beside its data: ledgers that its data were not made from, and objects of something else."""

from collections.abc import Iterator

from gristmill.lake.address import tokenizer_asset
from gristmill.lake.asset_kinds import EXPORT, TOKEN_CACHE, is_product, kind_of, report_rank
from gristmill.releases.pinned import PinnedRelease
from gristmill.stages.export.index import release_folder


def pinned_chain_faults(release: PinnedRelease) -> Iterator[str]:
    """The faults, in words, unless a release pins what leads to its data, each ledger once, and objects of these.

    Args:
        release: the release.
    """
    pinned = {(each.asset, each.snapshot): each for each in release.ledgers}
    keys = list(pinned)
    if len(keys) != len(release.ledgers) or keys != sorted(keys, key=lambda key: (report_rank(key[0]), *key)):
        yield "its ledgers are not in the order in which they are made, each once"
    read = _leading_to_data(release)
    yield from (
        f"it pins {asset} {f'({snapshot})' if snapshot else ''}".rstrip() + ", which nothing of its data was made from"
        for asset, snapshot in keys
        if (asset, snapshot) not in read
    )
    folders = tuple(_release_object_folders(release))
    for path in sorted(path for path in release.objects if not path.startswith(folders)):
        yield f"it names {path}, which is no object of its slices, its exports or its tokenizer"


def _leading_to_data(release: PinnedRelease) -> set[tuple[str, str]]:
    """The ledgers that the slices of a release were made from, these too: (asset, snapshot)."""
    pinned = {(each.asset, each.snapshot): each for each in release.ledgers}
    waiting = [key for key in pinned if is_product(key[0])]
    found: set[tuple[str, str]] = set()
    while waiting:
        key = waiting.pop()
        kind = kind_of(key[0])
        if key in found:
            continue
        found.add(key)
        if (
            key in pinned and kind is not None and kind.is_partitioned
        ):  # no release follows what a tokenizer learnt from
            waiting += [(asset, snapshot) for asset, snapshot, _ in pinned[key].inputs]
    return found


def _release_object_folders(release: PinnedRelease) -> Iterator[str]:
    """The folders that the objects of a release lie in."""
    yield f"{tokenizer_asset(release.tokenizer)}/"
    for each in release.ledgers:
        kind = kind_of(each.asset)
        if kind is TOKEN_CACHE:
            yield from (f"{each.asset}/{split}/{each.snapshot}/" for split in kind.splits)
        elif kind is EXPORT:
            yield f"{each.asset}/{each.snapshot}/"
            index = f"{each.asset.rpartition('/')[0]}/index/"
            yield from {
                folder for path in release.objects if path.startswith(index) and (folder := release_folder(path))
            }
