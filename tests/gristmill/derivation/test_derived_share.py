"""The share of the bytes that follows from raw data, counted by eye."""

from testkit import Mill
from wholelake import CACHE, DOCUMENTS, REVISED, STREAM, WORDS, table

from gristmill.derivation.derived_share import DerivedShare, derived_share
from gristmill.lake.address import Place, place
from gristmill.verification.audit import audited_ledgers

CHAIN = (DOCUMENTS, WORDS, REVISED, STREAM, CACHE)


def shares(mill: Mill, *places: Place, names: str = "ab") -> DerivedShare:
    """The share if these shards of these partitions were derived again."""
    proven = {(each.asset, each.snapshot, name) for each in places for name in names}
    return derived_share(mill.store, audited_ledgers(mill.store), proven, ())


def size(mill: Mill, where: Place) -> int:
    """Bytes of the shards, and of the refused rows."""
    rows = table(mill, where)
    return sum(row.bytes + (row.quarantine.bytes if row.quarantine else 0) for row in rows)


def test_all_shards_of_a_chain_count_once(whole: Mill) -> None:
    share = shares(whole, *CHAIN)
    assert share.derived == {
        "documents": size(whole, DOCUMENTS) + size(whole, REVISED),
        "attributes": size(whole, WORDS),
        "mix": size(whole, STREAM),
        "token cache": size(whole, CACHE),
    }
    other = size(whole, place("sources/pages/v0/attributes/characters-1", "2024"))
    assert share.bytes == {**share.derived, "attributes": share.derived["attributes"] + other}


def test_what_was_made_from_something_that_was_not_derived_does_not_count(whole: Mill) -> None:
    without_labels = shares(whole, DOCUMENTS, REVISED, STREAM, CACHE)
    assert without_labels.derived == {
        "documents": size(whole, DOCUMENTS),
        "attributes": 0,
        "mix": 0,
        "token cache": 0,
    }
    assert sum(shares(whole, WORDS, REVISED, STREAM, CACHE).derived.values()) == 0


def test_one_shard_of_two_is_half_of_the_tokens(whole: Mill) -> None:
    share = shares(whole, *CHAIN, names="b")
    tokens = table(whole, CACHE)[0].extra["shards"]
    counts = {name: sum(bounds[3] for bounds in shard["ranges"].values()) for name, shard in tokens.items()}
    assert set(counts) == {"a", "b"}
    assert share.derived["token cache"] == size(whole, CACHE) * counts["b"] // sum(counts.values())
    assert share.derived["mix"] == next(row.bytes for row in table(whole, STREAM) if row.name == "b")
