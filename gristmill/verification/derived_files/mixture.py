"""Compares `mixture.json` with what the recipes on the shelves make of the slices of its index."""

import json
from collections.abc import Iterator, Sequence

from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.index_ledger import IndexLedger, content_digest
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mixture.token_shares import MIXTURE
from gristmill.stages.cache_index.index import reading_files
from gristmill.stages.mixing.index import read_index
from gristmill.stages.token_cache.levanter_config import DATA_YAML


def mixture_contradictions(
    store: Store, ledger: IndexLedger, shelves: Sequence[str], say: Say
) -> Iterator[tuple[str, str]]:
    """A `mixture.json` that does not follow from the slices and the recipes: (path, what is wrong).

    Args:
        store: the lake.
        ledger: ledger of the index of a token cache.
        shelves: the packages that hold the recipes; none: nothing is compared.
        say: function that receives a note if the recipes are not those that the index was written with.
    """
    path, config = (f"{ledger.asset}/{name}" for name in (MIXTURE, DATA_YAML))
    index = read_index(store, ledger.asset)
    if not shelves or index is None or path not in ledger.files:
        return
    names = names_in_asset_address(ledger.asset)
    try:
        catalogue = read_catalogue(tuple(shelves), checked=False)
        mix, tokenizer = catalogue.mixes.get(names["mix"]), catalogue.tokenizers.get(names["tokenizer"])
        if mix is None or tokenizer is None:
            say(f"{path}: not proven, no recipe on the shelves makes it")
            return
        sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
        made = reading_files(store, mix, tokenizer, index, sources)
    except (DataError, RecipeError) as error:
        say(f"{path}: not proven: {error}")
        return
    if content_digest(made[DATA_YAML], config, store.url) != ledger.files.get(config):
        say(f"{config}, {path}: not proven, recipe changed: the shelves have other weights, streams or packing")
    elif content_digest(made[MIXTURE], path, store.url) != ledger.files[path]:
        found, expected = json.loads(store.read(path)), json.loads(made[MIXTURE])
        keys = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
        yield path, f"its {', '.join(keys) or 'form'} do not follow from the slices and the recipes on the shelves"
