"""Puts our counting into a parsed template, around the parts that Jinja gives no other hook for."""

from collections.abc import Sequence

import jinja2.nodes
import jinja2.visitor


class Counted(jinja2.visitor.NodeTransformer):
    """Changes a parsed template, so that its loops, texts, comparisons and dictionaries are counted."""

    def visit_For(self, node: jinja2.nodes.For) -> jinja2.nodes.Node:  # noqa: N802 - Jinja's name
        """The node of a loop, which counts its passes."""
        node.iter = own_filter_node("passes", [node.iter], node)  # type: ignore[list-item] # Jinja's type is too wide
        return self.generic_visit(node)

    def visit_Concat(self, node: jinja2.nodes.Concat) -> jinja2.nodes.Node:  # noqa: N802 - see above
        """The operator `~`: its text."""
        return self.generic_visit(own_filter_node("joined", node.nodes, node))

    def visit_Getitem(self, node: jinja2.nodes.Getitem) -> jinja2.nodes.Node:  # noqa: N802 - see above
        """The node of a slice, which counts its elements; any other node as it is."""
        self.generic_visit(node)
        return own_filter_node("kept", [node], node) if isinstance(node.arg, jinja2.nodes.Slice) else node

    def visit_Pair(self, node: jinja2.nodes.Pair) -> jinja2.nodes.Node:  # noqa: N802 - see above
        """The node of a key and its value, which counts the hashed key."""
        self.generic_visit(node)
        node.key = _variable_read_node(node.key)
        return node

    def visit_Dict(self, node: jinja2.nodes.Dict) -> jinja2.nodes.Node:  # noqa: N802 - see above
        """The node of a dictionary, which counts the places that its keys may share."""
        self.generic_visit(node)
        return own_filter_node("keyed", [node], node) if node.items else node

    def visit_Compare(self, node: jinja2.nodes.Compare) -> jinja2.nodes.Node:  # noqa: N802 - see above
        """The node of a comparison, which counts what it reads. A comparison with a short constant reads no more than
        the constant has.
        """
        self.generic_visit(node)
        if not all(_is_short(operand.expr) for operand in node.ops):
            node.expr = _variable_read_node(node.expr)
        for operand in node.ops:
            if operand.op in {"in", "notin"}:
                operand.expr = own_filter_node("searched", [operand.expr], node)
            else:
                operand.expr = _variable_read_node(operand.expr)
        return node


def own_filter_node(name: str, values: Sequence[jinja2.nodes.Expr], node: jinja2.nodes.Node) -> jinja2.nodes.Filter:
    """The value that one of our own filters makes. Its name has a space, so that no template can write it."""
    made = jinja2.nodes.Filter(values[0], f"our {name}", [*values[1:]], [], None, None)
    made.set_lineno(node.lineno)
    return made


def _variable_read_node(node: jinja2.nodes.Expr) -> jinja2.nodes.Expr:
    return node if _is_short(node) else own_filter_node("read", [node], node)


def _is_short(node: jinja2.nodes.Expr) -> bool:
    return isinstance(node, jinja2.nodes.Const) and (not isinstance(node.value, str) or len(node.value) < 256)
