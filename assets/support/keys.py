"""Asset keys: the address of an asset, split at its slashes. Groups and the names of ops and jobs come from it too."""

import re
from collections.abc import Iterable
from functools import cache

import dagster as dg

from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import digest_of

LAKE = "lake"
"""The key of the asset that is the whole lake in totals. It has no address in the lake."""


def key_of(address: str) -> dg.AssetKey:
    """The asset key of an address in the lake."""
    return dg.AssetKey(address.split("/"))


def address_of(key: dg.AssetKey) -> str:
    """The address of an asset key: the inverse of key_of()."""
    return "/".join(key.path)


def plain_name(address: str) -> str:
    """The name that an address has in Dagster's ops, outputs and jobs."""
    return re.sub(r"[^A-Za-z0-9]+", lambda match: "__" if "/" in match.group() else "_", address)


def group_of(address: str) -> str:
    """The group of an asset: its folder in the lake, in short.

    In the lineage, Dagster names an asset by the last part of its key alone, at each zoom. In one group no two names
    are the same: `documents` of v0 and of v1 are in two groups, and so are a stream of a mix and its tokens.

    Args:
        address: the address of an asset that is no raw data. Raw data are in the group of what is made from them.

    >>> group_of("sources/wiki-en/v1/documents"), group_of("token_caches/blend/bpe-1/index"), group_of("models/toxic-1")
    ('wiki_en_v1', 'tokens_blend_bpe_1', 'models')
    """
    names = names_in_asset_address(address)
    top, named, *more = address.split("/")
    if "version" in names:
        return plain_name(f"{names['source']}-{names['version']}")
    if top == "token_caches":
        return plain_name(f"tokens-{names['mix']}-{names['tokenizer']}")
    if top == "exports":
        return plain_name(f"exports-{names['mix']}-{names['export']}")
    if top == "mixes":
        return plain_name(f"mix-{named}")
    return plain_name(f"{top}-{named}") if more else top


def choice_of(word: str, names: Iterable[str]) -> dg.Enum:
    """A value of a run's configuration that is one of some names: the launchpad offers them, and refuses any other.

    Args:
        word: noun for what they are names of, as a part of a name.
        names: the names.
    """
    every = list(names)
    # Dagster keeps one type a name in a process, so the names of another catalogue make another type.
    return dg.Enum(f"{word}_{digest_of(every)[:6]}", [dg.EnumValue(name) for name in every])


@cache
def snapshots_of(source: str) -> dg.DynamicPartitionsDefinition:
    """The partition set of a source: its keys are the snapshots."""
    return dg.DynamicPartitionsDefinition(name=f"snapshots/{source}")
