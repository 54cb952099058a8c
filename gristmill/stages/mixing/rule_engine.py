"""RuleEngine applies a set of rules to batches of rows: which rows are kept, and which rule drops each other row.

The values of a batch become an Arrow table with the declared types, and DuckDB evaluates all rules in one query, in a
process of its own with limits of time and memory. A limit fails the batch; it never decides about a row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from gristmill.errors import DataError, RecipeError, shorten
from gristmill.recipes.rules import Column, Rule, check_rules
from gristmill.recipes.sql.process import LIMITS, RuleStopped, ask_rule_process
from gristmill.recipes.sql.worker import TABLE, EvaluateRules, ProcessLimits

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_PYTHON_TYPES: Mapping[str, frozenset[type]] = {
    "VARCHAR": frozenset((str,)),
    "BIGINT": frozenset((int,)),  # type(True) is bool, so a bool is not a BIGINT
    "DOUBLE": frozenset((float, int)),
    "BOOLEAN": frozenset((bool,)),
}
_SLICE = 16 << 20
"""A batch is given to DuckDB in slices of about so many bytes, because a rule may make long strings of each row."""
_SPAN = ("BIGINT", "BIGINT", "DOUBLE")
"""Types of a span's start, end and score."""


class ValueRefused(DataError):  # noqa: N818 - named like MalformedRow
    """A value does not have the declared type of its column.

    The caller catches it and raises MalformedRow, because only the caller knows the file of the row.

    Args:
        row: the row's number in the batch, counted from 0.
        column: the column's name.
        reason: the problem with the value.
    """

    def __init__(self, row: int, column: str, reason: str) -> None:
        self.row, self.column, self.reason = row, column, reason
        super().__init__(f"row {row} of the batch: column {column!r}: {reason}")

    def __reduce__(self) -> tuple[type["ValueRefused"], tuple[int, str, str]]:
        return type(self), (self.row, self.column, self.reason)


class RuleFailed(DataError):  # noqa: N818 - named like MalformedRow
    """A rule cannot be evaluated for a row. Example: it casts a word to a number.

    Args:
        row: the row's number in the batch, counted from 0.
        rule: the rule's name.
        reason: DuckDB's message.
    """

    def __init__(self, row: int, rule: str, reason: str) -> None:
        self.row, self.rule, self.reason = row, rule, reason
        super().__init__(f"row {row} of the batch: rule {rule!r}: {reason}")

    def __reduce__(self) -> tuple[type["RuleFailed"], tuple[int, str, str]]:
        return type(self), (self.row, self.rule, self.reason)


class RulesStopped(DataError):  # noqa: N818 - named like RuleFailed
    """Rules pass their limits of time or memory on some rows.

    Args:
        rows: numbers of the first and the last row in the batch, counted from 0.
        rule: the rule's name.
        reason: name of the limit.
    """

    def __init__(self, rows: tuple[int, int], rule: str, reason: str) -> None:
        self.rows, self.rule, self.reason = rows, rule, reason
        super().__init__(f"rows {rows[0]} to {rows[1]} of the batch: rule {rule!r} {reason}")

    def __reduce__(self) -> tuple[type["RulesStopped"], tuple[tuple[int, int], str, str]]:
        return type(self), (self.rows, self.rule, self.reason)


def typed_array(column: Column, values: Sequence[Any]) -> "pa.Array | pa.ChunkedArray":
    """Converts Python values to an Arrow array of the column's declared type.

    Types must match exactly: a bool or 2.0 is no BIGINT, a number is no VARCHAR. The only conversion is from an int to
    DOUBLE, if a double has exactly its value. The items of a list may be null. The start, end and score of a span must
    not be null.

    Args:
        column: the column.
        values: its values, one per row; None becomes null.

    Returns:
        The array, of shape (n,): one element for each value. Its Arrow type is that of the column's declared type.

    Raises:
        ValueRefused: a value has another type, or is too large, NaN or infinite. It names the first such row. It names
            row 0 if each value is valid, but all together are too large for one array.
    """
    kind = "DOUBLE" if column.type == "score" else column.type
    array = _typed_arrow_array(kind, values)
    if array is not None:
        return array
    for row, value in enumerate(values):
        if _typed_arrow_array(kind, [value]) is None:
            raise ValueRefused(row, column.name, f"{_shorten_value(value)} is not a {kind}")
    raise ValueRefused(0, column.name, f"the {len(values):,} values do not fit into one batch")


def _shorten_value(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length():,} bits"
    return shorten(repr(value))


def _typed_arrow_array(kind: str, values: Sequence[Any]) -> Any:
    """The values as an Arrow array of the type `kind`; None if a value is not valid, without saying which."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import

    if kind == "spans":
        return _list_array(values, _span_array)
    if kind == "VARCHAR[]":
        return _list_array(values, lambda items: _typed_arrow_array("VARCHAR", items))
    if set(map(type, values)) - _PYTHON_TYPES[kind] - {type(None)}:
        return None
    arrow = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}
    try:
        array = pa.array(values, type=arrow[kind])
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):  # too large, or a lone surrogate
        return None
    return None if kind == "DOUBLE" and not _is_all_finite(array) else array


def _is_all_finite(array: Any) -> bool:
    """Whether all numbers are finite; nulls are allowed. NumPy sees them as NaN, so they are counted separately."""
    import numpy as np  # noqa: PLC0415 - comes with pyarrow

    finite = np.isfinite(array.to_numpy(zero_copy_only=False))
    return bool(len(array) - np.count_nonzero(finite) == array.null_count)


def _list_array(values: Sequence[Any], convert_items: Callable[[list[Any]], Any]) -> Any:
    """Lists as an Arrow ListArray; None if a value is not a list, or an item is not valid.

    Args:
        values: one list or None per row.
        convert_items: converts the items of all lists, concatenated, to one Arrow array; None if an item is not valid.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import

    if set(map(type, values)) - {list, tuple, type(None)}:
        return None
    lists = [() if value is None else value for value in values]
    items = convert_items(list(chain.from_iterable(lists)))
    if items is None or isinstance(items, pa.ChunkedArray):  # chunked: too large for the items of one ListArray
        return None
    ends = accumulate(map(len, lists), initial=0)
    # In Arrow, a null offset means that the list which begins there is null.
    offsets = [None if value is None else end for end, value in zip(ends, chain(values, [()]), strict=True)]
    offsets[-1] = len(items)
    return pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), items)


def _span_array(items: list[Any]) -> Any:
    """Spans (each a tuple or list of start, end and score) as an Arrow StructArray; None if a span is not valid."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import

    if not all(issubclass(kind, list | tuple) for kind in set(map(type, items))):
        return None
    if set(map(len, items)) - {len(_SPAN)}:
        return None
    columns = list(zip(*items, strict=True)) or [()] * len(_SPAN)
    parts = [_typed_arrow_array(kind, column) for kind, column in zip(_SPAN, columns, strict=True)]
    if any(part is None or part.null_count for part in parts):
        return None
    return pa.StructArray.from_arrays(parts, names=["start", "end", "score"])


def table_slices(table: "pa.Table") -> "Iterator[tuple[int, pa.Table]]":
    """A table in pieces for DuckDB: the number of the first row of each, and its rows. An empty table is one piece."""
    rows = max(1, table.num_rows * _SLICE // max(1, table.nbytes))
    for first in range(0, max(1, table.num_rows), rows):
        yield first, table.slice(first, rows)


class RuleEngine:
    """A checked set of rules. A worker makes one engine, for many batches.

    A row is kept if every include rule is TRUE and no exclude rule is TRUE; null is not TRUE. If several rules drop a
    row, the first is its reason: include rules come before exclude rules, in the given order.

    Args:
        columns: the columns that rules may name.
        include: rules that must be TRUE.
        exclude: rules that must not be TRUE.
        limits: time and memory for about 16 MB of values; by default LIMITS.

    Raises:
        RecipeError: a rule is wrong (see check_rules). Or there are no columns: then a batch does not say how many
            rows it has.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        include: Sequence[Rule],
        exclude: Sequence[Rule],
        limits: ProcessLimits | None = None,
    ) -> None:
        check_rules(columns, include, exclude)
        if not columns:
            raise RecipeError("a rule engine without columns cannot tell how many rows there are")
        self._columns = tuple(columns)
        self._rules = (*include, *exclude)
        self._limits = limits or LIMITS
        self.reasons = tuple(rule.name for rule in self._rules)
        """The names of the rules. A decision k > 0 means that `reasons[k - 1]` dropped the row."""
        drops = rule_drop_conditions(include, exclude)
        cases = " ".join(f"WHEN {drop} THEN {k}" for k, drop in enumerate(drops, 1))
        self._query = _decision_query(f"CASE {cases} ELSE 0 END" if cases else "0")
        self._queries = [_decision_query(drop) for drop in drops]

    def decide_rows(self, rows: Mapping[str, Sequence[Any]]) -> "NDArray[np.int16]":
        """Applies the rules to a batch.

        Args:
            rows: the values of each column, by its name; None is null. All columns have the same number of values.

        Returns:
            One decision per row, shape (rows,): 0 if it is kept, k > 0 if rule `reasons[k - 1]` drops it.

        Raises:
            ValueRefused: a value does not have the declared type.
            RuleFailed: a rule has no result for a row.
            RulesStopped: a rule passes the limits.
            DataError: a column is missing, unknown, or of another length.
        """
        import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import

        names = {column.name for column in self._columns}
        if rows.keys() != names:
            raise DataError(f"a batch has the columns {sorted(rows)}, the rules declare {sorted(names)}")
        lengths = {name: len(values) for name, values in rows.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"a batch's columns are not equally long: {lengths}")
        arrays = [typed_array(column, rows[column.name]) for column in self._columns]
        return self.decide_table_rows(pa.table(arrays, names=[column.name for column in self._columns]))

    def decide_table_rows(self, table: "pa.Table") -> "NDArray[np.int16]":
        """Applies the rules to a batch as an Arrow table, whose columns are those of typed_array().

        Returns and raises: see `decisions`.

        Returns:
            int16, one decision for each row of the table.
        """
        import numpy as np  # noqa: PLC0415 - comes with pyarrow

        return np.concatenate([self._evaluate_slice(piece, first) for first, piece in table_slices(table)])

    def _evaluate_slice(self, table: "pa.Table", first: int) -> "NDArray[np.int16]":
        """The decisions of a slice of the batch.

        DuckDB does not say which row failed. Upon an error, both halves are evaluated, and so on down to a single row.

        Args:
            table: the slice.
            first: number of its first row in the batch.
        """
        import numpy as np  # noqa: PLC0415 - comes with pyarrow

        if not table.num_rows:
            return np.empty(0, dtype=np.int16)
        try:
            words, decisions = self._send_rule_query(self._query, table)
        except RuleStopped as stopped:
            raise self._rule_limit_error(table, first, str(stopped)) from stopped
        if words:
            if table.num_rows == 1:
                raise self._failing_rule_error(table, first, words)
            half = table.num_rows // 2
            first_half = self._evaluate_slice(table.slice(0, half), first)
            return np.concatenate([first_half, self._evaluate_slice(table.slice(half), first + half)])
        if len(decisions) != 2 * table.num_rows:
            raise DataError(f"{table.num_rows:,} rows have {len(decisions):,} bytes of decisions, not two for each")
        return np.frombuffer(decisions, dtype=np.int16)

    def _failing_rule_error(self, table: "pa.Table", row: int, words_of_all: str) -> RuleFailed:
        """The error that names the failing rule; it names all rules if they fail only together.

        Args:
            table: a single row.
            row: its number in the batch.
            words_of_all: DuckDB's error for all rules in one query.
        """
        for rule, query in zip(self._rules, self._queries, strict=True):
            try:
                words, _ = self._send_rule_query(query, table)
            except RuleStopped as stopped:
                words = f"it {stopped}"
            if words:
                return RuleFailed(row, rule.name, words)
        return RuleFailed(row, ", ".join(self.reasons), words_of_all)

    def _rule_limit_error(self, table: "pa.Table", first: int, reason_of_all: str) -> RulesStopped:
        """The error that names the rule that passes the limits; it names all rules if they pass them only together."""
        rows = first, first + table.num_rows - 1
        for rule, query in zip(self._rules, self._queries, strict=True):
            try:
                self._send_rule_query(query, table)
            except RuleStopped as stopped:
                return RulesStopped(rows, rule.name, str(stopped))
        return RulesStopped(rows, ", ".join(self.reasons), reason_of_all)

    def _send_rule_query(self, query: str, table: "pa.Table") -> tuple[str, bytes]:
        return run_rule_query(query, table, self._limits)


def run_rule_query(query: str, table: "pa.Table", limits: ProcessLimits) -> tuple[str, bytes]:
    """The fault, or else the values of the query's column `decision` for a slice of rows.

    Raises:
        RuleStopped: the rules pass the limits.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    answer, decisions = ask_rule_process(EvaluateRules(query, limits), sink.getvalue())
    limit = f" (its limit is {limits.memory >> 20:,} MiB)" if answer.wrong == "memory" else ""
    return answer.words + limit, decisions


def rule_drop_conditions(include: Sequence[Rule], exclude: Sequence[Rule]) -> list[str]:
    """The SQL condition under which each rule drops a row, include rules first."""
    drops = [f"(\n{rule.where}\n) IS NOT TRUE" for rule in include]
    return [*drops, *(f"(\n{rule.where}\n) IS TRUE" for rule in exclude)]


def _decision_query(decision: str) -> str:
    return f"SELECT ({decision})::SMALLINT AS decision FROM {TABLE}"  # noqa: S608 - rules are checked
