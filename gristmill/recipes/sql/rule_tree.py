"""What a checked rule reads: the columns that it names, and the numbers that it compares columns with.

Its text alone does not tell: `2 * words < 50` compares no column with 50. So DuckDB's syntax tree is asked.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson

from gristmill.recipes.sql.rule_sql import Node, open_sandbox

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ORDERS = {
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def named_columns(where: str) -> frozenset[str]:
    """The names of columns in a rule, in lower case; also those of the parameters of lambdas, which differ from them.

    Args:
        where: the expression; checked before.

    >>> sorted(named_columns("Words > 3 AND text LIKE '%share%'"))
    ['text', 'words']
    """
    with open_sandbox() as connection:
        found = [
            node
            for node, _ in _nodes_with_negation(_parse_condition(connection, where))
            if node.get("class") == "COLUMN_REF"
        ]
    return frozenset(node["column_names"][0].lower() for node in found)


def column_comparisons(connection: "DuckDBPyConnection", where: str) -> Iterator[tuple[str, str, float]]:
    """The comparisons of a column alone, or of coalesce() of it and a constant, with a constant: a number or its cast.

    Args:
        connection: the sandbox.
        where: the expression; checked before.

    Yields:
        The column's name in lower case; `<`, `<=`, `>` or `>=`, written between column and number; the number. A NOT of
        the comparison turns the sign, also if AND and OR stand between them.

    >>> list(column_comparisons(open_sandbox(), "words BETWEEN 5 AND 9 OR 2 * words < 50"))
    [('words', '>=', 5.0), ('words', '<=', 9.0)]
    """
    parsed = _parse_condition(connection, where)
    for node, negated in _nodes_with_negation(parsed):
        kind = node.get("type")
        sides: list[tuple[Node, str, Node]] = []
        if kind == "COMPARE_BETWEEN":
            sides = [(node["input"], ">=", node["lower"]), (node["input"], "<=", node["upper"])]
        elif kind in _ORDERS:
            sides = [(node["left"], _ORDERS[kind], node["right"])]
        for left, order, right in sides:
            for side, sign, other in ((left, order, right), (right, _MIRRORED[order], left)):
                column = _column_of_node(side)
                number = _cast_constant(connection, parsed, other) if column else None
                if number is not None:
                    yield column, _NEGATED[sign] if negated else sign, number


def _parse_condition(connection: "DuckDBPyConnection", where: str) -> Any:
    [(answer,)] = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [f"SELECT (\n{where}\n)"]).fetchall()
    return orjson.loads(answer)


def _nodes_with_negation(tree: Any) -> Iterator[tuple[Node, bool]]:
    """All nodes in the order of the text, and whether a NOT turns them. It keeps its own stack: trees may be deep."""
    stack = [(tree, False)]
    while stack:
        node, negated = stack.pop()
        if isinstance(node, dict):
            yield node, negated
            negates = node.get("type") == "OPERATOR_NOT"
            below = negated != negates and (negates or node.get("class") == "CONJUNCTION")
            stack.extend((child, below) for child in reversed(node.values()))
        elif isinstance(node, list):
            stack.extend((child, negated) for child in reversed(node))


def _is_constant(node: Node) -> bool:
    while node["class"] == "CAST":
        node = node["child"]
    return bool(node["class"] == "CONSTANT")


def _column_of_node(node: Node) -> str:
    """The name of the column that a node is; empty: it is something else."""
    if node["type"] == "OPERATOR_COALESCE" and all(map(_is_constant, node["children"][1:])):
        node = node["children"][0]
    names = node.get("column_names", ())
    return names[0].lower() if len(names) == 1 else ""


def _cast_constant(connection: "DuckDBPyConnection", parsed: Any, node: Node) -> float | None:
    """The number that a constant is, as DuckDB casts it: `3.7::INTEGER` is 4; None: it is something else, or fails."""
    if not _is_constant(node):
        return None
    tried = {"class": "OPERATOR", "type": "OPERATOR_TRY", "children": [node]}
    select = {"statements": [{"node": parsed["statements"][0]["node"] | {"select_list": [tried]}}]}
    run = "SELECT * FROM json_execute_serialized_sql(?::VARCHAR)"
    [(value,)] = connection.execute(run, [json.dumps(select)]).fetchall()  # orjson writes no deep tree
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
