"""What differs between two releases: slices, tokens, recipes and dropped rows, and how training reads them."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from gristmill.lake.address import cache_asset, cache_index, place
from gristmill.lake.asset_kinds import TOKEN_CACHE, kind_of
from gristmill.lake.ledger.files import change_in_words
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import PinnedLedger, PinnedRelease
from gristmill.releases.training_difference import training_differences

_OTHER = "other content, or made from others"
"""Of a ledger with another fingerprint, of which the release names no objects."""


def release_differences(store: Store, before: PinnedRelease, after: PinnedRelease) -> list[str]:
    """A line for each difference; none if both releases have the same data, made and read in the same way.

    Args:
        store: the lake.
        before: one release.
        after: the other.

    Raises:
        DataError: a file of a release that says how training reads it is lost or edited.
    """
    lines = [*data_differences(before, after), *training_differences(store, before, after)]
    if not lines and before.index != after.index:
        lines.append(f"{cache_index(after.mix, after.tokenizer)}: other files, which no release keeps")
    return lines


def data_differences(before: PinnedRelease, after: PinnedRelease) -> Iterator[str]:
    """Yields a line for each difference of the data and of how they were made.

    Args:
        before: one release.
        after: the other.
    """
    for what, old, new in (("mix", before.mix, after.mix), ("tokenizer", before.tokenizer, after.tokenizer)):
        if old != new:
            yield f"{what}: {old} -> {new}"
    old_tokens, new_tokens = _tokens_by_stream(before), _tokens_by_stream(after)
    if old_tokens.total() != new_tokens.total():
        yield f"tokens: {_change_in_words(old_tokens.total(), new_tokens.total())}"
    streams = dict.fromkeys([*(stream for stream, _ in before.slices), *(stream for stream, _ in after.slices)])
    for stream in streams:
        if old_tokens[stream] != new_tokens[stream]:
            yield f"stream {stream}: {_change_in_words(old_tokens[stream], new_tokens[stream])} tokens"
    yield from (f"slice {stream} ({key}): only in {before.name}" for stream, key in _ledgers_only_in_one(before, after))
    yield from (f"slice {stream} ({key}): only in {after.name}" for stream, key in _ledgers_only_in_one(after, before))
    yield from _ledger_differences(before, after)


def _ledger_differences(before: PinnedRelease, after: PinnedRelease) -> Iterator[str]:
    """What differs in the ledgers that both have, and the assets that only one has."""
    old_assets = dict.fromkeys(ledger.asset for ledger in before.ledgers)
    new_assets = dict.fromkeys(ledger.asset for ledger in after.ledgers)
    yield from (f"{asset}: only in {before.name}" for asset in old_assets if asset not in new_assets)
    yield from (f"{asset}: only in {after.name}" for asset in new_assets if asset not in old_assets)
    told: set[str] = set()
    for new in after.ledgers:
        old = before.pinned_ledger(new.asset, new.snapshot)
        if old is None or old.fingerprint == new.fingerprint:
            continue
        for line in _recipe_differences(old, new):
            if line not in told:  # all snapshots of an asset have one recipe
                told.add(line)
                yield line
        content = [_object_hashes(each, new) for each in (before, after)]
        what = "the same content, made from others" if content[0] and content[0] == content[1] else _OTHER
        yield from _count_differences(old, new, what)


def _object_hashes(release: PinnedRelease, ledger: PinnedLedger) -> list[str]:
    """The sha256 of each object of a partition that a release names: of token caches and exports."""
    folders = place(ledger.asset, ledger.snapshot).folders if ledger.snapshot else ()
    return sorted(sha256 for path, (sha256, _) in release.objects.items() if path.startswith(folders))


def _recipe_differences(old: PinnedLedger, new: PinnedLedger) -> Iterator[str]:
    for key in sorted(old.recipe.keys() | new.recipe.keys()):
        was, is_ = (msgspec.json.decode(each.recipe.get(key, msgspec.Raw(b"null"))) for each in (old, new))
        if was != is_:
            yield f"{new.asset}: recipe: {change_in_words(key, was, is_)}"


def _count_differences(old: PinnedLedger, new: PinnedLedger, what: str) -> Iterator[str]:
    where = f"{new.asset} ({new.snapshot})" if new.snapshot else new.asset
    rows = old.totals.get("rows", 0), new.totals.get("rows", 0)
    yield f"{where}: {_change_in_words(*rows)} rows" if rows[0] != rows[1] else f"{where}: {what}, as many rows"
    for reason in sorted(old.dropped.keys() | new.dropped.keys()):
        counts = old.dropped.get(reason, 0), new.dropped.get(reason, 0)
        if counts[0] != counts[1]:
            yield f"{where}: dropped by {reason}: {_change_in_words(*counts)}"


def _tokens_by_stream(release: PinnedRelease) -> Counter[str]:
    """The tokens of each stream."""
    found: Counter[str] = Counter()
    assets = {cache_asset(release.mix, release.tokenizer, stream): stream for stream, _ in release.slices}
    for ledger in release.ledgers:
        if kind_of(ledger.asset) is TOKEN_CACHE and ledger.asset in assets:
            found[assets[ledger.asset]] += ledger.totals.get("tokens", 0)
    return found


def _ledgers_only_in_one(one: PinnedRelease, other: PinnedRelease) -> list[tuple[str, str]]:
    there = set(other.slices)
    return [each for each in one.slices if each not in there]


def _change_in_words(old: int, new: int) -> str:
    return f"{old:,} -> {new:,} ({new - old:+,})"
