"""MappedNames: what the paths and attributes of a Dolma configuration are called in the lake."""

import re
from collections.abc import Mapping, Sequence

from gristmill.errors import RecipeError, shorten
from gristmill.recipes.rules import Column, field, spans

_KINDS = (
    'the beginning of an entry of documents, to "source/version"; a name of attributes, to a set of the lake; or a key'
    ' of attributes, or the beginning of keys up to "__", to "<set>__<label>" or "<set>__"'
)


class MappedNames:
    """The table of a recipe: from names of Dolma to names of the lake.

    Args:
        table: names of the lake by names of Dolma, as for DolmaMix.
        who: the recipe, for messages.
    """

    def __init__(self, table: Mapping[str, str], who: str) -> None:
        self._table, self._who = table, who
        self._used: set[str] = set()

    def version(self, pattern: str) -> tuple[str, str]:
        """The source and version of the lake that have the files of an entry of `documents`.

        Args:
            pattern: the entry. The longest key of the table that it begins with counts.

        Raises:
            RecipeError: no key of the table fits.
        """
        keys = [key for key in self._table if _is_at_or_below(pattern, key)]
        if not keys:
            raise RecipeError(
                f"{self._who}: paths has nothing for {pattern!r}; name the version of the lake that has these"
                f" documents, such as {{{pattern.rpartition('/')[0]!r}: 'pages/v0'}}"
            )
        key = max(keys, key=len)
        self._used.add(key)
        source, _, version = self._table[key].partition("/")
        if not source or not version or "/" in version:
            raise RecipeError(
                f"{self._who}: {key!r} is {self._table[key]!r}; give 'source/version', such as 'pages/v0'"
            )
        return source, version

    def set(self, name: str) -> str:
        """The attribute set of the lake that an entry of `attributes` is."""
        if name in self._table:
            self._used.add(name)
        return self._table.get(name, name)

    def labels(self, key: str, attributes: Sequence[str]) -> tuple[str, ...]:
        """The labels of the lake, `<set>__<label>`, that may have the values of a key of attributes.

        If the table names none, and no set's name begins it, it may be in any set of the stream.

        Args:
            key: such as `gopher_rules__gopher_v1__word_count`.
            attributes: the entries of `attributes` of the stream.

        Returns:
            The last entry comes first: Dolma takes its value if several sets have the key.
        """
        for entry in sorted((entry for entry in self._table if _is_key(entry, key)), key=len, reverse=True):
            self._used.add(entry)
            return (self._table[entry] + key.removeprefix(entry),)
        sets = [self.set(name) for name in reversed(attributes)]
        own = [name for name in attributes if key.startswith(f"{name}__")]
        if own:
            sets = [self.set(max(own, key=len))]
        return tuple(f"{name}__{key.removeprefix(f'{name}__')}" for name in sets)

    def check_used(self) -> None:
        """Checks that the configuration needs each entry of the table.

        Raises:
            RecipeError: it does not; the entry may be misspelt.
        """
        for key in sorted(self._table.keys() - self._used):
            raise RecipeError(
                f"{self._who}: paths has {shorten(key)!r}, and the configuration nothing that it fits; correct it"
                f" or leave it out. It maps {_KINDS}"
            )


def _is_at_or_below(pattern: str, key: str) -> bool:
    """Whether a path is a key, or is below it."""
    return pattern == key or ("/" in key and pattern.startswith(f"{key.rstrip('/')}/"))


def _is_key(entry: str, key: str) -> bool:
    return entry == key or (entry.endswith("__") and key.startswith(entry) and key != entry)


class LakeColumns:
    """The columns that the rules of one stream read.

    Args:
        names: the table.
        attributes: the entries of `attributes` of the stream.
    """

    def __init__(self, names: MappedNames, attributes: Sequence[str]) -> None:
        self._names, self._attributes = names, attributes
        self._by_path: dict[str, Column] = {}

    @property
    def columns(self) -> tuple[Column, ...]:
        """All of them. A whole shard may lack each, as files of Dolma may."""
        return tuple(self._by_path.values())

    def spans(self, key: str) -> str:
        """The SQL for the spans of a key of attributes; null for a row without it.

        Raises:
            RecipeError: the stream has no attributes.
        """
        labels = self._names.labels(key, self._attributes)
        if not labels:
            raise RecipeError(f"it reads the attribute {key!r}, but the stream names no attributes")
        found = [self._column_sql(spans(label, self._unused_column_name(label), optional=True)) for label in labels]
        return found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"

    def field(self, path: str, kind: str) -> str:
        """The SQL for a field of the documents.

        Args:
            path: such as `metadata.lang`.
            kind: the type of its values: see Column.

        Raises:
            RecipeError: it is no field that rules can read, or is read as two types.
        """
        before = self._by_path.get(path)
        if before is not None and before.type != kind:
            raise RecipeError(f"it compares {path!r} with values of two types, {before.type} and {kind}")
        return self._column_sql(field(path, kind, self._unused_column_name(path), optional=True))

    def _column_sql(self, column: Column) -> str:
        return self._by_path.setdefault(column.path, column).name

    def _unused_column_name(self, path: str) -> str:
        """A name for a column that no other has."""
        if path in self._by_path:
            return self._by_path[path].name
        plain = re.sub(r"[^a-z0-9_]", "_", path.lower())
        name = plain = plain if plain[0].isalpha() else f"s_{plain}"
        taken, number = {column.name for column in self._by_path.values()}, 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        return name
