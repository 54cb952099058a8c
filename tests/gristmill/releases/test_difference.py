import msgspec
from releasekit import release_of_whole
from testkit import Mill

from gristmill.releases.difference import data_differences, release_differences
from gristmill.releases.pinned import PinnedLedger, PinnedRelease

STREAM = "mixes/even/documents/pages"
CACHE = "token_caches/even/tiny-1/pages"


def changed(release: PinnedRelease, asset: str, **fields: object) -> PinnedRelease:
    def one(ledger: PinnedLedger) -> PinnedLedger:
        return msgspec.structs.replace(ledger, **fields) if ledger.asset == asset else ledger

    return msgspec.structs.replace(release, ledgers=tuple(map(one, release.ledgers)), name="second")


def test_a_release_does_not_differ_from_one_of_the_same_data(whole: Mill) -> None:
    assert release_differences(whole.store, release_of_whole(whole), release_of_whole(whole, "second")) == []


def test_rows_reasons_and_tokens_are_compared(whole: Mill) -> None:
    first = release_of_whole(whole)
    second = changed(first, STREAM, fingerprint="x", totals={"rows": 9}, dropped={"by-four": 7})
    assert list(data_differences(first, second)) == [
        f"{STREAM} (2024): 8 -> 9 (+1) rows",
        f"{STREAM} (2024): dropped by by-four: 8 -> 7 (-1)",
    ]
    cache = first.pinned_ledger(CACHE, "2024")
    assert cache is not None
    tokens = cache.totals["tokens"]
    more = changed(first, CACHE, fingerprint="x", totals={**cache.totals, "tokens": tokens + 5})
    assert list(data_differences(first, more)) == [
        f"tokens: {tokens} -> {tokens + 5} (+5)",
        f"stream pages: {tokens} -> {tokens + 5} (+5) tokens",
        f"{CACHE} (2024): the same content, made from others, as many rows",
    ]
    objects = {path: ("0" * 64, size) for path, (_, size) in first.objects.items()}
    told = list(data_differences(first, msgspec.structs.replace(more, objects=objects)))
    assert told[-1] == f"{CACHE} (2024): other content, or made from others, as many rows"


def test_changed_recipes_slices_and_assets_are_told(whole: Mill) -> None:
    first = release_of_whole(whole)
    cache = first.pinned_ledger(CACHE, "2024")
    assert cache is not None
    recipe = cache.recipe | {"version": msgspec.Raw(b"7")}
    second = changed(first, CACHE, fingerprint="x", recipe=recipe)
    assert f"{CACHE}: recipe: version was 1, is 7" in data_differences(first, second)
    fewer = msgspec.structs.replace(first, slices=(), ledgers=first.ledgers[:-1], name="second")
    told = list(data_differences(first, fewer))
    assert "slice pages (2024): only in first" in told
    assert f"{CACHE}: only in first" in told


def test_an_index_of_other_files_is_told_if_nothing_else_is(whole: Mill) -> None:
    first = release_of_whole(whole)
    second = msgspec.structs.replace(first, index="another", name="second")
    assert release_differences(whole.store, first, second) == [
        "token_caches/even/tiny-1/index: other files, which no release keeps"
    ]
