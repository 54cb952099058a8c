"""The grammar of rules: the SQL expressions that depend on the row alone, and the DuckDB that runs them.

A rule cannot use the clock, random numbers, files, other rows or a locale. This file lists what is allowed.
Everything else is refused, also functions that a later DuckDB adds. DuckDB gives the syntax tree
(`json_serialize_sql`). Time and memory are bounded by the process that runs rules (worker.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Left out on purpose:
# - ln, exp, pow and similar functions: their last bit depends on the machine's C library.
# - hash: it may change with DuckDB's version.
# - repeat, range and lpad: a short rule could fill the memory.
# - list_aggr: it names an aggregate in a string, and some aggregates draw samples.
# - list_distinct and list_intersect: their order is that of a hash table.
# - age and current_localtime: they read the clock. DuckDB calls both CONSISTENT, so we also need this list.
_SCALARS = frozenset(
    """
    + - * / // % & | << >> xor || @> <@ && ^@ ~~ !~~ ~~* !~~* ~~~
    like_escape not_like_escape ilike_escape not_ilike_escape
    abs ceil ceiling even floor greatest isfinite isinf isnan least mod round round_even sign sqrt trunc
    ascii bit_length chr concat concat_ws contains damerau_levenshtein ends_with hamming instr jaccard lcase
    left length levenshtein lower ltrim md5 nfc_normalize octet_length ord position prefix replace reverse
    right rtrim sha1 sha256 split starts_with str_split string_split strip_accents strlen strpos substr
    substring suffix translate trim ucase unicode upper
    regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
    regexp_split_to_array string_split_regex str_split_regex
    array_contains array_length element_at flatten len list_apply list_cat list_concat list_contains
    list_element list_extract list_filter list_has list_has_all list_has_any list_indexof list_position
    list_reduce list_reverse_sort list_slice list_sort list_transform list_unique list_value list_zip
    struct_extract struct_pack
    date_diff date_part date_trunc day dayofweek dayofyear hour isodow isoyear last_day make_date
    make_timestamp minute month quarter second strftime strptime try_strptime week year
    to_days to_hours to_minutes to_months to_seconds to_weeks to_years
    """.split()  # noqa: SIM905 - a table of words is easier to read
)
_MACROS = frozenset(
    """
    array_to_string days_in_month if list_any_value list_append list_avg list_bool_and list_bool_or list_count
    list_first list_last list_max list_median list_min list_prepend list_product list_reverse list_sum
    md5_number_lower md5_number_upper nullif split_part
    """.split()  # noqa: SIM905 - a table of words is easier to read
)
_CUT_AT_NUL = ("nfc_normalize", "strip_accents")
_TAKE_LAMBDAS = frozenset(("list_apply", "list_filter", "list_reduce", "list_transform"))
# TIMESTAMPTZ is a fixed point in time, because the sandbox's time zone is UTC. A cast to TIMESTAMP drops the offset.
_CASTS = frozenset(
    """
    BOOLEAN TINYINT SMALLINT INTEGER INT BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE
    DECIMAL VARCHAR TEXT STRING DATE TIME TIMESTAMP TIMESTAMPTZ INTERVAL LIST
    """.split()  # noqa: SIM905 - a table of words is easier to read
)
# The keys that each class of node may have. The tree leaves out defaults, so any other key means something unusual.
_COMMON = frozenset(("class", "type", "alias"))
_NODES: Mapping[str, frozenset[str]] = {
    "BETWEEN": _COMMON | {"input", "lower", "upper"},
    "CASE": _COMMON | {"case_checks", "else_expr"},
    "CAST": _COMMON | {"child", "try_cast", "type_expr"},
    "COLUMN_REF": _COMMON | {"column_names"},
    "COMPARISON": _COMMON | {"left", "right"},
    "CONJUNCTION": _COMMON | {"children"},
    "CONSTANT": _COMMON | {"literal"},
    "FUNCTION": _COMMON | {"function_name", "order_bys", "is_operator", "arguments", "qualified_name"},
    "LAMBDA": _COMMON | {"lhs", "expr", "syntax_type"},
    "OPERATOR": _COMMON | {"children"},
    "TYPE": _COMMON | {"type_name", "children", "qualified_name"},
}
_OPERATORS = frozenset(
    """
    OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL OPERATOR_COALESCE COMPARE_IN COMPARE_NOT_IN
    ARRAY_EXTRACT ARRAY_SLICE ARRAY_CONSTRUCTOR STRUCT_EXTRACT
    """.split()  # noqa: SIM905 - a table of words is easier to read
)
_SELECT = frozenset(("type", "cte_map", "select_list", "from_table", "aggregate_handling"))
_PLACES = frozenset(("query_location", "query_location_length"))

Node = dict[str, Any]
Scope = frozenset[str]


class _NotAllowed(Exception):  # noqa: N818 - never leaves this file
    """Why an expression is not allowed as a rule."""


def open_sandbox() -> "DuckDBPyConnection":
    """A new DuckDB in memory without files, network, extensions or threads. Its settings are locked.

    The optimizer is off, because it may move parts of a rule out of a CASE (a long IN list becomes a join). Then a rule
    could fail on rows that an earlier rule has dropped. Planning a small batch is also twice as fast without it.

    Use the connection itself and not a cursor of it: cursors do not take over that setting and the time zone.
    """
    import duckdb  # noqa: PLC0415 - takes 0.3 s to import

    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",
        "threads": "1",
        "memory_limit": "512MB",
    }
    connection = duckdb.connect(":memory:", config=settings)
    read_whole_texts(connection)
    connection.execute("SET TimeZone = 'UTC'; PRAGMA disable_optimizer; SET lock_configuration = true")
    return connection


def read_whole_texts(connection: "DuckDBPyConnection") -> None:
    """Mends the two functions of DuckDB that end a text at its first U+0000. All others read the whole text.

    They get the pieces between the U+0000: that character joins with no other one, so the result is that of the whole.

    Args:
        connection: connection on which they are mended; SQL calls them by their usual names.
    """
    for name in _CUT_AT_NUL:
        pieces = f"list_transform(string_split(t, chr(0)), lambda piece: system.main.{name}(piece))"
        connection.execute(f"CREATE TEMP MACRO {name}(t) AS array_to_string({pieces}, chr(0))")


def allowed_functions(connection: "DuckDBPyConnection") -> frozenset[str]:
    """The functions that rules may call: those of the lists above that this DuckDB calls free of side effects."""
    kinds: dict[str, set[tuple[str, str | None]]] = {}
    rows = connection.execute(
        "SELECT function_name, function_type, stability FROM duckdb_functions() WHERE database_name = 'system'"
    )
    for name, kind, stability in rows.fetchall():
        kinds.setdefault(name, set()).add((kind, stability))
    scalars = {name for name in _SCALARS if kinds.get(name) == {("scalar", "CONSISTENT")}}
    macros = {name for name in _MACROS if kinds.get(name) == {("macro", None)}}
    return frozenset(scalars | macros)


def check_expressions(
    connection: "DuckDBPyConnection", wheres: Sequence[str], names: Iterable[str], callable_: frozenset[str]
) -> Iterator[str | None]:
    """Checks the form of each expression. Types are not checked here.

    Args:
        connection: any DuckDB connection.
        wheres: the expressions.
        names: the columns that they may name.
        callable_: the functions that they may call.

    Yields:
        For each expression what is wrong with it, or None.
    """
    scope = frozenset(names)
    # Without parentheses it must parse too, and give the same tree: `a) OR (b` and `a AS b` do not.
    statements = [form for where in wheres for form in (f"SELECT (\n{where}\n)", f"SELECT {where}")]
    serialize = "json_serialize_sql(s, skip_default := true, skip_null := true, skip_empty := true)"
    rows = connection.execute(f"SELECT {serialize} FROM (SELECT unnest(?) AS s)", [statements]).fetchall()  # noqa: S608 - a constant
    for (wrapped,), (bare,) in zip(rows[::2], rows[1::2], strict=True):
        try:
            tree = _single_select_expression(wrapped)
            same = tree == _single_select_expression(bare)
            _check_allowed_nodes(tree, scope, callable_)
        except _NotAllowed as refused:
            yield str(refused)
        except RecursionError:
            yield "it is nested too deeply"
        except (AttributeError, IndexError, KeyError, TypeError):  # another DuckDB, another tree
            yield "its syntax tree has an unknown form"
        else:
            yield None if same else "it is not one expression"


def _single_select_expression(answer: str) -> Node:
    """The only expression of a parsed SELECT, without positions in the text.

    Args:
        answer: the result of `json_serialize_sql`.
    """
    try:
        parsed = _without_text_positions(orjson.loads(answer))
    except (orjson.JSONDecodeError, RecursionError):
        raise _NotAllowed("it is nested too deeply") from None
    if parsed.get("error"):
        raise _NotAllowed(f"it is not one SQL expression: {parsed.get('error_message', 'unreadable')}")
    statements = parsed.get("statements", [])
    select = statements[0].get("node", {}) if len(statements) == 1 else {}
    expressions = select.get("select_list", [])
    plain = select.get("type") == "SELECT_NODE" and select.get("from_table") == {"type": "EMPTY"}
    if not plain or len(expressions) != 1 or select.keys() - _SELECT or select.get("cte_map"):
        raise _NotAllowed("it is not one expression")
    return dict(expressions[0])


def _without_text_positions(value: Any) -> Any:
    """A part of a syntax tree without positions in the text."""
    if isinstance(value, dict):
        return {key: _without_text_positions(inner) for key, inner in value.items() if key not in _PLACES}
    return [_without_text_positions(inner) for inner in value] if isinstance(value, list) else value


def _check_allowed_nodes(tree: Node, names: Scope, callable_: frozenset[str]) -> None:
    """Refuses every node that is not allowed. It keeps its own stack, because trees may be deep."""
    stack: list[tuple[Node, Scope]] = [(tree, names)]
    while stack:
        node, scope = stack.pop()
        kind = node.get("class", "nothing")
        unknown = node.keys() - _NODES.get(kind, frozenset())
        if kind not in _NODES:
            raise _NotAllowed(f"{kind.lower().replace('_', ' ')} is not allowed in rules")
        if unknown:
            raise _NotAllowed(f"{', '.join(sorted(unknown))} is not allowed in a {kind.lower()}")
        if kind == "COLUMN_REF":
            _check_name(node, scope)
        elif kind == "FUNCTION":
            stack.extend(_checked_function_arguments(node, scope, callable_))
        elif kind == "CAST":
            _check_type(node["type_expr"])
            stack.append((node["child"], scope))
        elif kind in ("LAMBDA", "TYPE"):
            raise _NotAllowed(f"a {kind.lower()} (or ->) is not allowed here")
        elif kind == "OPERATOR" and node["type"] not in _OPERATORS:
            raise _NotAllowed(f"the operator {node['type']} is not allowed in rules")
        else:
            stack.extend((child, scope) for child in _child_expressions(node))


def _child_expressions(node: Node) -> Iterator[Node]:
    """The expressions directly below an ordinary node."""
    yield from node.get("children", ())
    for check in node.get("case_checks", ()):
        if check.keys() != {"when_expr", "then_expr"}:
            raise _NotAllowed("an unusual CASE")
        yield from check.values()
    for key in ("left", "right", "input", "lower", "upper", "else_expr"):
        if key in node:
            yield node[key]


def _check_name(node: Node, scope: Scope) -> None:
    """Refuses an unknown name.

    The first part must be a column or a parameter of a lambda. The other parts are fields of a struct.
    """
    first = node["column_names"][0]
    if first.lower() not in scope:
        raise _NotAllowed(f"no column {'.'.join(node['column_names'])!r}")


def _checked_function_arguments(node: Node, scope: Scope, callable_: frozenset[str]) -> Iterator[tuple[Node, Scope]]:
    """Refuses a function that is not allowed, or an unusual call.

    Yields:
        The arguments, each with the names that it may use.
    """
    name = node["function_name"].lower()
    if name not in callable_:
        raise _NotAllowed(f"the function {name!r} is not allowed in rules")
    if node["qualified_name"] != {"path": [node["function_name"]]} or node["order_bys"].keys() != {"type"}:
        raise _NotAllowed(f"the function {name!r} is called in an unusual way")
    for argument in node.get("arguments", ()):
        inner = argument["expression"]
        if argument.keys() - {"name", "expression"}:
            raise _NotAllowed(f"the function {name!r} has an unusual argument")
        if inner.get("class") == "LAMBDA" and name in _TAKE_LAMBDAS and inner.keys() <= _NODES["LAMBDA"]:
            yield inner["expr"], scope | _lambda_scope(inner["lhs"], scope)
        else:
            yield inner, scope


def _lambda_scope(node: Node, scope: Scope) -> Scope:
    """The parameters of a lambda: `x`, or several, which DuckDB writes as `row(x, y)`."""
    several = node.get("class") == "FUNCTION" and node.get("function_name") == "row"
    nodes = [argument["expression"] for argument in node["arguments"]] if several else [node]
    if any(n.get("class") != "COLUMN_REF" or len(n["column_names"]) != 1 for n in nodes):
        raise _NotAllowed("an unusual lambda")
    names = frozenset(n["column_names"][0].lower() for n in nodes)
    if names & scope:  # DuckDB would use the column
        raise _NotAllowed(
            f"the lambda's {', '.join(sorted(names & scope))!r} is already the name of a column or parameter"
        )
    return names


def _check_type(node: Node) -> None:
    """Refuses a type that is not allowed in a cast. Allowed are for example `DECIMAL(10, 2)` and `BIGINT[]`."""
    name = str(node.get("type_name", "")).upper()
    usual = node.keys() <= _NODES["TYPE"] and node["qualified_name"] == {"path": [node["type_name"]]}
    if node.get("class") != "TYPE" or name not in _CASTS or not usual:
        raise _NotAllowed(f"a cast to {name or 'this type'} is not allowed; allowed: {', '.join(sorted(_CASTS))}")
    for child in node.get("children", ()):
        if child.get("class") != "CONSTANT":
            _check_type(child)
