"""ChosenLabels: decodes a few labels of attribute rows in their written form, and skips the others."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from gristmill.lake.rows.attribute import Spans, parse_rows
from gristmill.lake.store.json_object import NOT_DECODED


class ChosenLabels:
    """A decoder of chosen labels of one attribute set.

    Other forms than the written one may give a label too, such as `"toxic": 0.5` or `"toxic": {"mild": 0.5}` for the
    label `toxic__mild`. Rows with a key of such a form are left to the general reader.

    Args:
        name: name of the attribute set.
        labels: names of the labels without the set's name.
    """

    def __init__(self, name: str, labels: Iterable[str]) -> None:
        prefix = f"{name}__"
        written = {label: prefix + label for label in sorted(set(labels))}
        others = {key for label in written for key in _other_keys(label, prefix)} - set(written.values())
        fields: list[Any] = [(f"f{i}", Spans | UnsetType, UNSET) for i in range(len(written))]
        fields += [(f"g{i}", msgspec.Raw | UnsetType, UNSET) for i in range(len(others))]
        keys = [*written.values(), *sorted(others)]
        rename = dict(zip((field[0] for field in fields), keys, strict=True))
        inner = msgspec.defstruct("Chosen", fields, rename=rename)
        row = msgspec.defstruct("ChosenRow", [("id", str), ("attributes", inner), ("source", str, "")])
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(row).decode
        self._labels = [(label, attrgetter(f"attributes.f{i}")) for i, label in enumerate(written)]
        self._others = [attrgetter(f"attributes.g{i}") for i in range(len(others))]

    def read(self, lines: Sequence[bytes]) -> tuple[list[tuple[str, str]], dict[str, list[Spans | None]]] | None:
        """The chosen labels of rows; None if a row may have another form than the written one.

        Args:
            lines: rows in UTF-8 without line feeds.

        Returns:
            The (source, id) of each row, an empty source if it has none; and for each label the spans of each row,
            None for a row without the label.

        >>> line = b'{"id":"d1","source":"wiki","attributes":{"demo__length":[[0,4,4]],"demo__words":[[0,4,1]]}}'
        >>> ChosenLabels("demo", ["words", "lines"]).read([line])
        ([('wiki', 'd1')], {'lines': [None], 'words': [[(0, 4, 1.0)]]})
        >>> ChosenLabels("demo", ["words"]).read([b'{"id":"d1","attributes":{"words":7}}']) is None
        True
        """
        decode = self._decode
        try:
            rows = [decode(line) for line in lines]
        except NOT_DECODED:
            return None
        if any(taken(row) is not UNSET for taken in self._others for row in rows):
            return None
        pairs = [(row.source, row.id) for row in rows]
        found = {
            label: [None if spans is UNSET else spans for spans in map(taken, rows)] for label, taken in self._labels
        }
        return pairs, found


def _other_keys(label: str, prefix: str) -> Iterable[str]:
    """The keys of other forms under which a row may have the label."""
    parts = label.split("__")
    for name in (label, *("__".join(parts[:count]) for count in range(1, len(parts)))):
        yield name
        yield prefix + name


@lru_cache(maxsize=256)
def chosen_labels_decoder(name: str, labels: tuple[str, ...]) -> ChosenLabels:
    """The decoder of labels of a set, made once.

    Args:
        name: name of the attribute set.
        labels: names of the labels without the set's name.
    """
    return ChosenLabels(name, labels)


def read_labels(
    lines: Sequence[bytes], name: str, labels: tuple[str, ...], path: str, first: int, lengths: Sequence[int] | None
) -> tuple[list[tuple[str, str]], dict[str, list[Spans | None]]]:
    """The chosen labels of rows in any form that is read.

    Args:
        lines: rows in UTF-8 without line feeds.
        name: name of the attribute set.
        labels: names of the labels without the set's name.
        path: path of the shard, for messages.
        first: number of the first of these rows in the shard.
        lengths: lengths of the documents' texts in code points: see parse_rows.

    Returns:
        See ChosenLabels.read.

    Raises:
        MalformedRow: a row does not have one of the forms; names file and row.

    >>> read_labels([b'{"id":"d1","attributes":{"toxic":0.5}}'], "demo", ("toxic",), "a.jsonl", 0, [7])
    ([('', 'd1')], {'toxic': [[(0, 7, 0.5)]]})
    """
    found = chosen_labels_decoder(name, labels).read(lines)
    if found is not None:
        return found
    rows = parse_rows(lines, name, path, first, lengths)
    return [(row.source, row.id) for row in rows], {label: [row.labels.get(label) for row in rows] for label in labels}
