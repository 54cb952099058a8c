"""Comparison: a tagger of ours beside the taggers of Dolma that it replaces. See bench/taggers/comparisons."""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import taggers

Attributes = Mapping[str, Any]
"""The attributes of one document by key, without Dolma's name of the experiment: `gopher-1__word_count`."""


def by_label(attributes: Attributes) -> Attributes:
    """The spans by label alone. A label without spans is as good as no label.

    >>> by_label({"gopher-1__word_count": [[0, 9, 2.0]], "gopher-1__lines": []})
    {'word_count': [[0, 9, 2.0]]}
    """
    return {key.rpartition("__")[2]: spans for key, spans in attributes.items() if spans}


def renamed(names: Mapping[str, str]) -> Callable[[Attributes], Attributes]:
    """What takes the named keys alone, under their new names. A label without spans is as good as no label.

    >>> renamed({"length-1__chars": "length"})({"length-1__chars": [[0, 4, 4.0]], "length-1__lines": [[0, 4, 1.0]]})
    {'length': [[0, 4, 4.0]]}
    """
    return lambda attributes: {new: attributes[old] for old, new in names.items() if attributes.get(old)}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One row of the bench.

    Attributes:
        name: of the row.
        modules: the modules that declare our taggers, one each. All are made in one pass.
        sets: the names of our taggers.
        peer: the names of Dolma's taggers.
        bar: how many times more CPU Dolma must take at least; None if there is no bar.
        ours: brings the attributes of our row to the form in which both are compared.
        theirs: the same for Dolma's row.
        close: greatest difference of two scores that counts as equal.
        most_mb: of the corpus, in millions of bytes of text; None if it has no limit. Some of Dolma's are slow.
    """

    name: str
    modules: Sequence[str]
    sets: Sequence[str]
    peer: Collection[str]
    bar: float | None = None
    ours: Callable[[Attributes], Attributes] = by_label
    theirs: Callable[[Attributes], Attributes] = by_label
    close: float = 0.0
    most_mb: int | None = None


def comparisons() -> dict[str, Comparison]:
    """All comparisons by name: the constants of that type in the modules of `bench.taggers.comparisons`."""
    found: dict[str, Comparison] = {}
    room = f"{taggers.__name__}.comparisons"
    for module in pkgutil.iter_modules(importlib.import_module(room).__path__, f"{room}."):
        declared = vars(importlib.import_module(module.name)).values()
        found |= {each.name: each for each in declared if isinstance(each, Comparison)}
    return found
