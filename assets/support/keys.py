"""Asset keys: the address of an asset, split at its slashes. Names of Dagster's ops and jobs are made from it too."""

import re
from functools import cache

import dagster as dg


def key_of(address: str) -> dg.AssetKey:
    """The asset key of an address in the lake."""
    return dg.AssetKey(address.split("/"))


def address_of(key: dg.AssetKey) -> str:
    """The address of an asset key: the inverse of key_of()."""
    return "/".join(key.path)


def plain(address: str) -> str:
    """Makes a name from an address that is valid for Dagster's ops, outputs and jobs."""
    return re.sub(r"[^A-Za-z0-9]+", lambda match: "__" if "/" in match.group() else "_", address)


@cache
def snapshots_of(source: str) -> dg.DynamicPartitionsDefinition:
    """The partition set of a source: its keys are the snapshots."""
    return dg.DynamicPartitionsDefinition(name=f"snapshots/{source}")
