"""RowsKind: the base of the kinds of assets that installed packages add. Provisional: may change.

An asset of such a kind has a shard of rows for each shard of documents. A package writes how the rows are made; step,
audit, trace, gc, takedown and the asset in Dagster come with the base, and each answer of KindBehaviour can be another.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import orjson

from gristmill.errors import DataError, RecipeError, raise_named
from gristmill.execution.checks import Verdict
from gristmill.execution.finding import Finding, difference_in_words
from gristmill.lake.address import Place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.code import Code
from gristmill.lake.ledger.model import Recipe, Shard
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import first_non_utf8_string, not_json_reason, short_repr
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.code.digest import code_of_plugin
from gristmill.recipes.rows_recipe import RowsRecipe
from gristmill.stages.kind import HeldDocument, KindBehaviour, KnownPart, WantedDocuments, behaviour_of_kind

Row = dict[str, Any]
"""A row: a JSON object."""


class RowsKind(KindBehaviour, ABC):
    """A kind of rows.

    Attributes:
        recipe: class of its recipes, which stand on the shelf of its name.
        version: version of the way it makes rows. Raising it makes all of them again.
    """

    recipe: ClassVar[type[RowsRecipe]]
    version: ClassVar[int] = 1

    @abstractmethod
    def rows(self, recipe: Any, documents: Iterable[Document]) -> Iterable[Row]:
        """The rows of a shard. The same documents give the same rows.

        Args:
            recipe: the recipe, of the class `recipe`.
            documents: documents of the shard, in order.
        """

    def counts(self, rows: Iterable[Row]) -> Mapping[str, int]:  # noqa: ARG002 - a kind may have none
        """The counters of a shard, by name: facts for people, which an audit computes again. None by default.

        Args:
            rows: rows of the shard.
        """
        return {}

    def findings(self, part: KnownPart) -> Iterator[Finding]:
        """Findings on a shard: its rows are JSON objects, and its counters follow from them. See KindBehaviour."""
        partition, row = part.place, part.row
        counts = dict(self.counts(read_rows(part)))
        if row.counts != counts:
            yield Finding(
                partition.table, None, f"shard {row.name}: {difference_in_words('its counts are', counts, row.counts)}"
            )
        if row.ids or row.dropped or row.extra:
            yield Finding(
                partition.table, None, f"shard {row.name} has ids, dropped or extra, but no shard of rows has"
            )

    def held_documents(self, part: KnownPart, wanted: WantedDocuments) -> Iterator[HeldDocument]:
        """The wanted documents that the rows of a shard were made from. See KindBehaviour."""
        path = part.place.shard(part.row.name)
        for pair, number in wanted.read_by(part.row):
            yield HeldDocument(pair, f"{path}: made from document {number} of its shard")


def check_rows_proven(store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
    """The verdict of findings() on the shards of a partition. It is a Check.

    Args:
        store: the lake.
        partition: the partition.
        shards: rows of its table.

    Raises:
        DataError: a row is not a JSON object, or the kind itself fails.
        RecipeError: the kind cannot be loaded.
    """
    kind, rows = rows_kind(partition.kind), sum(shard.rows for shard in shards)
    found = (each for shard in shards for each in kind.findings(KnownPart(store, partition, shard)))
    try:
        wrong = next(found, None)
    except BaseException as error:  # noqa: BLE001 - it is raised again
        raise_named(error, f"{_in_words(partition.kind)}, its findings()", kind)
    text = str(wrong or f"{rows} rows in {len(shards)} shards")
    return Verdict("rows_proven", passed=wrong is None, description=text, metadata={"rows": rows})


def rows_kind(kind: AssetKind) -> RowsKind:
    """The kind of an installed package.

    Args:
        kind: one of PACKAGED.

    Raises:
        RecipeError: it cannot be loaded.
    """
    found = behaviour_of_kind(kind)
    if not isinstance(found, RowsKind):
        raise RecipeError(f"{kind.name}: {kind.package} makes no rows; its class must be below RowsKind")
    return found


def _in_words(kind: AssetKind) -> str:
    return f"the kind {kind.name!r} of the package {kind.package}"


def counts_of(kind: AssetKind, rows: Sequence[Row], path: str) -> dict[str, int]:
    """The counters of a shard, as the kind gives them.

    Args:
        kind: one of PACKAGED.
        rows: rows of the shard.
        path: path of the shard, for messages.

    Raises:
        DataError: they are no integers of 64 bits by names, so that no ledger can hold them.
        RecipeError: the kind cannot be loaded.
    """
    counts: object = rows_kind(kind).counts(rows)
    mend = f"mend the function counts() of {_in_words(kind)}"
    if not isinstance(counts, Mapping):
        raise DataError(f"{path}: counts() gives {short_repr(counts)}, and no dict; {mend}")
    for name, count in counts.items():
        if type(name) is not str or type(count) is not int or not -(1 << 63) <= count < 1 << 63:
            said = f"{short_repr(count)} for {short_repr(name)}"
            raise DataError(f"{path}: counts() gives {said}; give integers of 64 bits by names; {mend}")
    return dict(counts)


def ledger_recipe(kind: AssetKind, declared: RowsRecipe) -> Recipe:
    """The recipe for the ledgers of a kind.

    Args:
        kind: one of PACKAGED.
        declared: one of its recipes.

    Raises:
        RecipeError: the kind cannot be loaded.
    """
    return Recipe(declared.name, rows_kind(kind).version, declared.options, declared.draft)


def code_of_rows(kind: AssetKind, declared: RowsRecipe) -> Code:
    """The code of a kind, which makes the rows.

    Args:
        kind: one of PACKAGED.
        declared: one of its recipes.

    Raises:
        RecipeError: the kind cannot be loaded.
    """
    return code_of_plugin(type(rows_kind(kind)), declared)


def read_rows(part: KnownPart) -> Iterator[Row]:
    """The rows of a shard.

    Raises:
        DataError: a row is not a JSON object, or the file is not that of the ledger.
    """
    file = open_shard(part.store, part.place, part.row)
    for block in file.blocks():
        for line in split_rows(block):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise DataError(f"{file.path}: a row is no JSON ({error}); make it again") from error
            if not isinstance(row, dict):
                raise DataError(f"{file.path}: a row is no JSON object; make it again")
            yield row


def encode_row_line(row: object, path: str) -> bytes:
    r"""The line of a row.

    Args:
        row: the row, as a package made it.
        path: path of the shard, for messages.

    Raises:
        DataError: it is not a JSON object, or cannot be written as one.

    >>> encode_row_line({"b": 1, "a": [2]}, "lengths/short-1/tales/1/a.jsonl.gz")
    b'{"b":1,"a":[2]}\n'
    """
    try:
        why = not_json_reason(row, "row") if isinstance(row, dict) else "row is no dict"
        line = b"" if why else orjson.dumps(row)
    except RecursionError as error:
        why = f"row has {error}"
    except orjson.JSONEncodeError as error:  # a lone surrogate, or more than 64 bits
        why = first_non_utf8_string(row, "row") or f"row cannot be written ({error})"
    if why:
        raise DataError(f"{path}: {why}; mend the package's function rows()")
    return line + b"\n"
