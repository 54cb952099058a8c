"""The asset key is the address, split at its slashes; names for Dagster's ops and jobs come from it."""

import re
from functools import cache

import dagster as dg


def key_of(address: str) -> dg.AssetKey:
    """The key of an address of the lake."""
    return dg.AssetKey(address.split("/"))


def address_of(key: dg.AssetKey) -> str:
    """The inverse of key_of()."""
    return "/".join(key.path)


def plain(address: str) -> str:
    """An address as a name that Dagster takes for an op, an output or a job."""
    return re.sub(r"[^A-Za-z0-9]+", lambda found: "__" if "/" in found.group() else "_", address)


@cache
def snapshots_of(source: str) -> dg.DynamicPartitionsDefinition:
    """The partition set of a source."""
    return dg.DynamicPartitionsDefinition(name=f"snapshots/{source}")
