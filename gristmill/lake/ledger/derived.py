"""The paths of what is derived from the shards of a partition and lies beside its ledger (gristmill/scores)."""

from gristmill.lake.address import Place


def columns_folder(place: Place) -> str:
    """The folder of the columns of all shards, with its closing slash."""
    return f"{place.ledger_stem}.columns/"


def columns_path(place: Place, shard: str) -> str:
    """The path of a shard's columns."""
    return f"{columns_folder(place)}{shard}.parquet"


def examples_path(place: Place) -> str:
    """The path of the examples: excerpts of documents that people are shown."""
    return f"{place.ledger_stem}.examples.json"
