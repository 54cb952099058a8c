"""Configuration files for the trainer: `data.yaml` and `cache_catalog.json`, as Levanter and Marin read them.

Source: marin-levanter 0.2, `levanter.data.text.datasets.LmDataConfig`, `levanter.store.cache.CacheCatalog`.
"""

import json
from collections.abc import Mapping
from typing import Any

from gristmill.formats.levanter.cache_ledger import CacheLedger
from gristmill.lake.address import cache_asset, cache_index, tokenizer_asset
from gristmill.lake.asset_kinds import CONSOLIDATED, names_in_asset_address
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Format, Text
from gristmill.recipes.tokenizer import Tokenizer

CATALOG, DATA_YAML = "cache_catalog.json", "data.yaml"
"""The names of the two files."""

Catalog = Mapping[str, Mapping[str, tuple[str, CacheLedger]]]
"""For each split and stream: the folder of the cache, and its ledger."""


def levanter_data_yaml(
    root: str,
    mix: Mix,
    tokenizer: Tokenizer,
    weights: Mapping[str, float],
    folders: Mapping[str, str] | None = None,
) -> bytes:
    """Levanter's LmDataConfig for the caches of a mix, as JSON, which is also valid YAML.

    Args:
        root: the lake's address.
        mix: the mix's recipe.
        tokenizer: the tokenizer's recipe.
        weights: weight of each stream in training.
        folders: the folder of each stream's cache in the lake; None: the folders where the caches were made.

    Returns:
        The bytes of the file.
    """
    index = cache_index(mix.name, tokenizer.name)
    caches = {
        stream.key: (
            (folders or {}).get(stream.key) or cache_asset(mix.name, tokenizer.name, stream.key),
            stream.format,
        )
        for stream in mix.streams
    }
    place = index if folders is None else CONSOLIDATED.at(**names_in_asset_address(index))
    config = trainer_config(root, place, caches, eos=tokenizer.eos is not None) | {
        "train_weights": dict(weights),
        "mixture_block_size": mix.block,
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def trainer_config(root: str, asset: str, caches: Mapping[str, tuple[str, Format]], *, eos: bool) -> dict[str, Any]:
    """What `data.yaml` holds except the weights, which are the mix's own.

    Args:
        root: the lake's address.
        asset: the index, or the consolidated copies: the catalogue lies there.
        caches: folder of the cache of each stream, and the format of its rows.
        eos: whether the tokenizer ends each document with a token.

    Returns:
        The configuration, in the order of the file.
    """
    components: dict[str, Any] = {}
    for stream, (folder, form) in caches.items():
        declared = {
            name: value
            for name, value in form.as_levanter().items()
            if value is not None or name == "chat_template_kwargs"  # the one option that is not null by default there
        }
        components[stream] = {"type": "cached", "cache_dir": f"{root}/{folder}", "format": declared}
        if isinstance(form, Text) and form.pack is not None:
            components[stream]["pack"] = form.pack
    return {
        "tokenizer": f"{root}/{tokenizer_asset(names_in_asset_address(asset)['tokenizer'])}",
        "cache_catalog": f"{root}/{asset}/{CATALOG}",
        "enforce_eos": eos,
        "auto_build_caches": False,
        "components": components,
    }


def cache_catalog(root: str, catalog: Catalog, tokenizer: str, *, earlier: bool = False) -> bytes:
    """All ledgers in one object. A trainer reads it instead of the ledger of each cache.

    Levanter compares the tokenizer's path in a ledger with that in its configuration, and warns if they differ. Parts
    may be copied elsewhere, so their ledgers have no path of a machine; the catalogue has the one of `data.yaml`.

    Args:
        root: the lake's address.
        catalog: the ledgers.
        tokenizer: name of the tokenizer.
        earlier: whether to write it as earlier versions of Gristmill wrote it: the tokenizer's path is that in the
            parts.
    """
    path = tokenizer_asset(tokenizer) if earlier else f"{root}/{tokenizer_asset(tokenizer)}"
    splits = {
        split: {
            name: {"cache_dir": f"{root}/{folder}", "ledger": _ledger_with_tokenizer(ledger, path)}
            for name, (folder, ledger) in streams.items()
        }
        for split, streams in catalog.items()
    }
    return json.dumps({"splits": splits, "version": 1}, sort_keys=True, separators=(",", ":")).encode()


def _ledger_with_tokenizer(ledger: CacheLedger, path: str) -> CacheLedger:
    """The ledger with this path of the tokenizer, if it has one: prebuilt rows have none."""
    metadata = ledger["metadata"]["preprocessor_metadata"]
    if metadata is None or "tokenizer" not in metadata:
        return ledger
    named: CacheLedger = {**ledger, "metadata": {"preprocessor_metadata": {**metadata, "tokenizer": path}}}
    return named


def is_earlier_catalog(data: bytes, tokenizer: str) -> bool:
    """Whether an earlier Gristmill wrote a catalogue: its ledgers name the tokenizer as the parts do.

    Args:
        data: content of the catalogue. Inside a JSON string, such as a chat template, quotes are escaped.
        tokenizer: name of the tokenizer.
    """
    return f'"tokenizer":"{tokenizer_asset(tokenizer)}"'.encode() in data
