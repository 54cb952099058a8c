"""Compares a `data.yaml` with the slices of its index: `verify` has no recipes, but the slices record theirs."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.row_format import Format, Text, format_from_mapping
from gristmill.stages.token_cache.levanter_config import trainer_config

Key = tuple[str, ...]
"""The keys that lead to a value of the configuration, such as ("components", "books", "type")."""

CHOICES = (("pack",), ("format", "pack"), ("format", "slice_strategy"))
"""Options of a component that the trainer applies: no slice records them."""

WEIGHTS = (("train_weights",), ("mixture_block_size",))
"""The mix's own choices."""


def recorded_format(parameters: Mapping[str, Any]) -> Format:
    """The format that the recipe of a token cache's slice records.

    Args:
        parameters: parameters of the recipe, as the slice's ledger has them.

    Raises:
        RecipeError: they hold no valid format.
    """
    declared = parameters.get("format", "text")
    if declared == "text":
        return Text()
    if not isinstance(declared, Mapping):
        raise RecipeError(f"format {declared!r}: not a mapping; make the slices of the token cache again")
    return format_from_mapping(declared)


def first_wrong_value(
    data: bytes, root: str, asset: str, caches: Mapping[str, str], heads: Sequence[Ledger]
) -> str | None:
    """The first value of a `data.yaml` that does not follow from the slices.

    Not derived are the weights, the block, and how documents are packed: they are the mix's own.

    Args:
        data: content of the file.
        root: the lake's address.
        asset: the index or the consolidated copies.
        caches: the folder of the cache of each stream.
        heads: the ledgers of the slices.

    Returns:
        What is wrong, or None.

    Raises:
        RecipeError: a slice records no valid format.
    """
    try:
        config = json.loads(data)
    except (ValueError, RecursionError) as error:
        return f"not JSON ({error})"
    if json.dumps(config, indent=2).encode() + b"\n" != data:
        return "its bytes are not those that Gristmill writes"
    found = dict(_flatten_config(config))
    weighted = {key[1] for key in found if key[:1] == ("train_weights",) and len(key) > 1}
    if weighted != caches.keys():
        return f"it has weights of {sorted(weighted)}, the index has the streams {sorted(caches)}"
    known: set[Key] = set()
    for expected, whose in _expected_config_values(root, asset, caches, heads):
        for key, value in expected.items():
            if found.get(key) != value:
                return f"its {'.'.join(key)} is {found.get(key, 'missing')}, {whose} says {value}"
        known |= expected.keys()
    with_slices = {head.asset.rpartition("/")[2] for head in heads}
    more = [key for key in found if key not in known and not _is_free(key, with_slices)]
    return f"it also has {'.'.join(min(more))}, which Gristmill does not write" if more else None


def _expected_config_values(
    root: str, asset: str, caches: Mapping[str, str], heads: Sequence[Ledger]
) -> Iterator[tuple[dict[Key, str], str]]:
    """The values that follow from the index, and those that follow from each slice; and what they follow from."""
    anyway = dict(
        _flatten_config(trainer_config(root, asset, {key: (cache, Text()) for key, cache in caches.items()}, eos=True))
    )
    by_slice = {key for key in anyway if key == ("enforce_eos",) or key[2:3] == ("format",)}
    yield {key: value for key, value in anyway.items() if key not in by_slice}, "the index"
    for head in heads:
        stream, parameters = head.asset.rpartition("/")[2], head.recipe.parameters
        cache = {stream: (caches.get(stream, head.asset), recorded_format(parameters))}
        config = trainer_config(root, asset, cache, eos=parameters.get("eos") is not None)
        yield (
            {key: value for key, value in _flatten_config(config) if key[2:] not in CHOICES},
            f"the recipe of {head.asset} ({head.snapshot})",
        )


def _is_free(key: Key, with_slices: Collection[str]) -> bool:
    """Whether nothing in the lake says a value: it is the mix's own choice, or no slice exists yet that says it."""
    if key[:1] == ("components",):
        return key[2:] in CHOICES or (key[2:3] == ("format",) and key[1] not in with_slices)
    if key == ("enforce_eos",):
        return not with_slices
    return key[:1] in WEIGHTS


def _flatten_config(value: object, key: Key = ()) -> Iterator[tuple[Key, str]]:
    """Each value that is no mapping, or an empty one, as JSON text; and the keys that lead to it."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flatten_config(inner, (*key, name))
    else:
        yield key, json.dumps(value)
