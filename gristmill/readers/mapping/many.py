"""Many rows become documents at once, column by column: what is asked of each row is asked of a whole column.

`Plan` knows the plain cases of RowDocuments, in which no row of a batch is refused. It gives up on all others, and then
the rows are taken one by one. Both ways give the same bytes.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.row_blocks import ROW_LIMIT
from gristmill.readers.mapping.fields import IdTemplate, RowTrouble, TimeUnit, field_as_time
from gristmill.recipes.row_format import Text

ROWS = 256
"""Most rows of a batch."""

_ID_TYPES = frozenset({str, int})
_TIME_TYPES = frozenset({str, type(None)})


class GiveUp(Exception):  # noqa: N818 - the tree reads as English
    """A batch that must be taken row by row."""


class Plan(NamedTuple):
    """The options of RowDocuments as far as they are plain; see there.

    Attributes:
        source: name of the source.
        text_key: the field with the text.
        id_key: the field with the id; None: `template` makes it.
        template: template of the ids.
        added_key: the field with the time of acquisition; None: `added`.
        created_key: the field with the time of writing; None: `created`.
        time_unit: unit of the numbers in both columns of times.
        added: the time of acquisition of rows that give none.
        leave_out: fields that do not become metadata.
        rename: the new names of fields.
    """

    source: str
    text_key: str
    id_key: str | None
    template: IdTemplate | None
    added_key: str | None
    created_key: str | None
    time_unit: TimeUnit
    added: str | None
    leave_out: Sequence[str]
    rename: Mapping[str, str]

    def encode_documents(self, rows: list[dict[str, Any]]) -> tuple[bytes, list[tuple[str, str]]]:
        """The documents of rows as JSON lines, and their pairs.

        Args:
            rows: values of JSON. They and the objects in them are changed, so they cannot be taken again.

        Raises:
            GiveUp: they must be taken one by one.
        """
        try:
            ids, documents = self._documents_of_rows(rows)
            lines = _encode_lines(documents)
        except (RowTrouble, KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
            raise GiveUp from error
        if len(lines) > ROW_LIMIT:
            raise GiveUp
        source = self.source
        return lines, [(source, each) for each in ids]

    def _documents_of_rows(self, rows: list[dict[str, Any]]) -> tuple[list[str], list[Document]]:
        if set(map(type, rows)) != {dict}:
            raise GiveUp
        shapes = set(map(tuple, rows))
        self._check_uniform_rows(shapes)
        made = self._made_ids(rows)
        ids = made if self.id_key is None else _values_as_ids(_take_key(rows, self.id_key))
        texts = _take_key(rows, self.text_key)
        if set(map(type, texts)) != {str} or True in ["\x00" in each for each in ids]:
            raise GiveUp
        added = self._time_column(rows, shapes, "added", self.added_key)
        created = self._time_column(rows, shapes, "created", self.created_key)
        if self.added is not None:
            added = [self.added if each is UNSET or each is None else each for each in added]
        if any("source" in shape for shape in shapes):
            for row in rows:
                if row.get("source") == self.source:
                    del row["source"]
        self._rename_fields(rows, shapes)
        source = self.source
        return ids, [
            Document(id_, text, source, acquired, written, row or UNSET)
            for id_, text, acquired, written, row in zip(ids, texts, added, created, rows, strict=True)
        ]

    def _check_uniform_rows(self, shapes: set[tuple[str, ...]]) -> None:
        """Gives up unless every field is in every row, is taken once, and leaves room for the new names."""
        taken = [self.text_key, *filter(None, (self.id_key, self.added_key, self.created_key))]
        named = [*taken, *self.leave_out, *self.rename]
        implied = {name for name, key in (("added", self.added_key), ("created", self.created_key)) if key is None}
        if len(set(named)) < len(named) or not implied.isdisjoint(named) or "source" in named:
            raise GiveUp
        gone, new = set(named), set(self.rename.values())
        for shape in shapes:
            here = set(shape)
            if "metadata" in here or not here.issuperset(taken) or not new.isdisjoint(here - gone):
                raise GiveUp

    def _made_ids(self, rows: list[dict[str, Any]]) -> list[str]:
        if self.template is None:
            return []
        columns = [_values_as_ids(list(map(itemgetter(key), rows))) for key in self.template.keys]
        return self.template.joined(columns)

    def _time_column(
        self, rows: list[dict[str, Any]], shapes: set[tuple[str, ...]], name: str, key: str | None
    ) -> Sequence[Any]:
        if key is None:
            if not any(name in shape for shape in shapes):
                return [UNSET] * len(rows)
            times = _take_key(rows, name)
            if not _TIME_TYPES.issuperset(map(type, times)):
                raise GiveUp
            return times
        times = _take_key(rows, key)
        if self.time_unit == "text" and _TIME_TYPES.issuperset(map(type, times)):
            return times
        return [field_as_time(each, key, self.time_unit) for each in times]

    def _rename_fields(self, rows: list[dict[str, Any]], shapes: set[tuple[str, ...]]) -> None:
        """Gives the renamed fields their new names, at the end of each row, and leaves out what is not wanted."""
        renamed = [(name, self._take_column(rows, shapes, key)) for key, name in self.rename.items()]
        for key in self.leave_out:
            if "." in key:
                self._take_column(rows, shapes, key)
                continue
            for row in rows:
                row.pop(key, None)
        for name, values in renamed:
            for row, value in zip(rows, values, strict=True):
                row[name] = value

    @staticmethod
    def _take_column(rows: list[dict[str, Any]], shapes: set[tuple[str, ...]], path: str) -> list[Any]:
        """The values of a field of all rows, which lose it. It may be in an object that has other fields too."""
        name, _, key = path.partition(".")
        if not key:
            return _take_key(rows, name)
        if "." in key or any(path in shape for shape in shapes):
            raise GiveUp
        below = list(map(itemgetter(name), rows))
        if set(map(type, below)) != {dict} or min(map(len, below)) < 2:
            raise GiveUp
        return _take_key(below, key)


def plan_of_options(options: Any, template: IdTemplate | None) -> Plan | None:
    """The plan of a reader's options; None if they are not plain.

    Args:
        options: the reader, a RowDocuments.
        template: template of the ids; None if the id is one field.
    """
    named = options.named()
    several = options.text_keys or options.turns or options.source_key or options.optional
    heads = {key.partition(".")[0] for key in (*options.rename, *options.leave_out) if "." in key}
    whole = {*named, *options.leave_out} - {key for key in options.rename if "." in key}
    dotted = any("." in key for key, option in named.items() if option != "rename")
    if several or not isinstance(options.format, Text) or options.keep is not None or dotted or heads & whole:
        return None
    if options.id_key is None and template is None:
        return None
    return Plan(
        source=options.source,
        text_key=options.format.text_key,
        id_key=None if template else options.id_key,
        template=template,
        added_key=options.added_key,
        created_key=options.created_key,
        time_unit=options.time_unit,
        added=options.added,
        leave_out=options.leave_out,
        rename=options.rename,
    )


_encode_lines = msgspec.json.Encoder().encode_lines


def _take_key(rows: list[dict[str, Any]], key: str) -> list[Any]:
    return [row.pop(key) for row in rows]


def _values_as_ids(values: list[Any]) -> list[str]:
    """Values as ids."""
    kinds = set(map(type, values))
    if not kinds <= _ID_TYPES or "" in values:
        raise GiveUp
    return values if kinds == {str} else list(map(str, values))
