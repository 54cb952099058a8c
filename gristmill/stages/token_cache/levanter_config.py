"""Configuration files for the trainer: `data.yaml` and `cache_catalog.json`, as Levanter and Marin read them.

Source: marin-levanter 0.2, `levanter.data.text.datasets.LmDataConfig`, `levanter.store.cache.CacheCatalog`.
"""

import json
from collections.abc import Mapping
from typing import Any

from gristmill.formats.levanter.cache_ledger import CacheLedger
from gristmill.lake.address import cache_asset, cache_index, tokenizer_asset
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Text
from gristmill.recipes.tokenizer import Tokenizer

CATALOG, DATA_YAML = "cache_catalog.json", "data.yaml"
"""The names of the two files."""

Catalog = Mapping[str, Mapping[str, tuple[str, CacheLedger]]]
"""For each split and stream: the folder of the cache, and its ledger."""


def data_yaml(root: str, mix: Mix, tokenizer: Tokenizer, folders: Mapping[str, str] | None = None) -> bytes:
    """Levanter's LmDataConfig for the caches of a mix, as JSON, which is also valid YAML.

    Args:
        root: the lake's address.
        mix: the mix's recipe.
        tokenizer: the tokenizer's recipe.
        folders: the folder of each stream's cache in the lake; None: the folders where the caches were made.

    Returns:
        The bytes of the file.
    """
    catalog = CATALOG if folders is None else f"consolidated/{CATALOG}"
    components: dict[str, Any] = {}
    for stream in mix.streams:
        folder = (folders or {}).get(stream.key) or cache_asset(mix.name, tokenizer.name, stream.key)
        declared = {
            name: value
            for name, value in stream.format.as_levanter().items()
            if value is not None or name == "chat_template_kwargs"  # the one option that is not null by default there
        }
        component: dict[str, Any] = {"type": "cached", "cache_dir": f"{root}/{folder}", "format": declared}
        if isinstance(stream.format, Text) and stream.format.pack is not None:
            component["pack"] = stream.format.pack
        components[stream.key] = component
    config = {
        "tokenizer": f"{root}/{tokenizer_asset(tokenizer.name)}",
        "cache_catalog": f"{root}/{cache_index(mix.name, tokenizer.name)}/{catalog}",
        "enforce_eos": tokenizer.eos is not None,
        "auto_build_caches": False,
        "components": components,
        "train_weights": {stream.key: stream.weight for stream in mix.streams},
        "mixture_block_size": mix.block,
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def cache_catalog(root: str, catalog: Catalog) -> bytes:
    """All ledgers in one object. A trainer reads it instead of the ledger of each cache."""
    splits = {
        split: {name: {"cache_dir": f"{root}/{folder}", "ledger": ledger} for name, (folder, ledger) in streams.items()}
        for split, streams in catalog.items()
    }
    return json.dumps({"splits": splits, "version": 1}, sort_keys=True, separators=(",", ":")).encode()
