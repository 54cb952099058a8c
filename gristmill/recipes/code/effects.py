"""What a top-level statement may do beside binding names: fill a table, register a class, set a name of the module."""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence

from gristmill.moved import former_name
from gristmill.recipes.code.reachable import bound_import_name, bound_names, import_of_names

Origins = Callable[[ast.Import | ast.ImportFrom], Iterable[str]]
"""Gives the modules that count among those that an import runs."""

HOME = "gristmill"
PUBLIC = ("api", "errors", "extras", "lake", "readers", "recipes", "text")
"""The rooms of gristmill that recipes use. Their versions are in the recipes, so they are not part of the digest."""

_REACHES_ALL = frozenset({"globals", "locals", "vars", "exec", "eval", "__import__", ".modules"})
"""What gives a statement all names of a module. The last is the attribute, as in `sys.modules`."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_INERT = (
    *(ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Import, ast.ImportFrom, ast.ClassDef, *_FUNCTIONS),
    *(ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr, ast.FormattedValue),
    *(ast.Attribute, ast.UnaryOp, ast.unaryop, ast.expr_context, ast.arguments, ast.arg, ast.keyword, ast.alias),
)
"""The syntax that runs nobody's code. All other syntax may act, also what a later version of Python adds."""

_TYPES = frozenset({"annotation", "returns", "type_params"})
_MODULE = "module "


class Effects:
    """Tells which statements of a module may act on the names that functions use.

    A statement acts if it runs code (a call, a loop, a subscript, a base class, a decorator, ...) and reaches such a
    name: it reads the name, an alias of it, or a function that reaches it; or it reads what it imports from a module
    that shares a module with what the functions import. Making a recipe or an option of gristmill is no act: it keeps
    what it is given. Nobody acts on a name that is bound once, to a constant.
    """

    def __init__(self, body: Sequence[ast.stmt], origins: Origins) -> None:
        """Looks at all names of a module.

        Args:
            body: the top-level statements.
            origins: the modules that an import runs.
        """
        self._origins = origins
        self._by_name: dict[str, list[ast.stmt]] = {}
        self._public: set[str] = set()
        self._reads: dict[str, frozenset[str]] = {}
        self._has_star = False
        declared: set[str] = set()
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._collect_imports(node)
                elif isinstance(node, ast.Global):
                    declared |= {*node.names}
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                for name in bound_names(statement) | _pattern_bound_names(statement):
                    self._by_name.setdefault(name, []).append(statement)
        self._fixed = {
            name
            for name, statements in self._by_name.items()
            if name not in declared and len(statements) == 1 and _is_constant(getattr(statements[0], "value", None))
        }

    def _collect_imports(self, node: ast.Import | ast.ImportFrom) -> None:
        public = isinstance(node, ast.ImportFrom) and not node.level and is_public(node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self._has_star |= not public
            elif public:
                self._public.add(bound_import_name(alias))
            else:
                self._by_name.setdefault(bound_import_name(alias), []).append(import_of_names(node, [alias]))

    def may_act_on(self, statement: ast.stmt, live: set[str]) -> bool:
        """Whether a statement may act on a name that functions use.

        Args:
            statement: a top-level statement.
            live: the names that the functions use, and those that the statements use that bind them.
        """
        if not any(self._node_may_act(node) for node in self._syntax_run_at_import(statement)):
            return False
        reached = self._reached_names(_touched_names(statement))
        shared = reached & self._reached_names(live)
        return bool(reached & _REACHES_ALL or _pattern_bound_names(statement) & live) or any(
            map(self._is_table, shared)
        )

    def _syntax_run_at_import(self, statement: ast.AST) -> Iterator[ast.AST]:
        """The syntax that runs when the module is imported: no body of a function, and no type."""
        todo = [statement]
        while todo:
            node = todo.pop()
            yield node
            for field, value in ast.iter_fields(node):
                if field not in _TYPES and not (field == "body" and isinstance(node, _FUNCTIONS)):
                    todo += filter(_is_syntax, value if isinstance(value, list) else [value])

    def _node_may_act(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            return name not in self._public or name in self._by_name
        if any(getattr(node, field, None) for field in ("decorator_list", "bases", "keywords")):
            return True
        stores = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) and not isinstance(node, ast.Name)
        return stores or not isinstance(node, _INERT)

    def _is_table(self, name: str) -> bool:
        if name in self._by_name:
            return name not in self._fixed
        return name.startswith(_MODULE) or (self._has_star and not hasattr(builtins, name))

    def _reached_names(self, names: Iterable[str]) -> set[str]:
        """These names, and all that is read by the statements that bind them."""
        found: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self._read_for(name)
        return found

    def _read_for(self, name: str) -> frozenset[str]:
        if name not in self._reads:
            self._reads[name] = frozenset(each for one in self._by_name.get(name, ()) for each in self._read_by(one))
        return self._reads[name]

    def _read_by(self, statement: ast.stmt) -> Iterable[str]:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return [f"{_MODULE}{each}" for each in self._origins(statement)]
        return _touched_names(statement)


def is_public(module: str) -> bool:
    """Whether a module is one of gristmill's rooms that recipes use, or in one.

    >>> is_public("gristmill.recipes.tagger"), is_public("gristmill.taggers"), is_public("mill.recipes")
    (True, False, False)
    """
    home, _, inner = former_name(module).partition(".")
    return home == HOME and inner.partition(".")[0] in PUBLIC


def _is_syntax(value: object) -> bool:
    return isinstance(value, ast.AST)


def _is_constant(value: object) -> bool:
    if isinstance(value, ast.Tuple):
        return all(map(_is_constant, value.elts))
    return isinstance(value, ast.Constant) or (isinstance(value, ast.UnaryOp) and _is_constant(value.operand))


def _pattern_bound_names(statement: ast.stmt) -> set[str]:
    """The names that the patterns of a `match` bind."""
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.FunctionDef):
        return set()
    patterns = (n for n in ast.walk(statement) if isinstance(n, ast.MatchAs | ast.MatchStar | ast.MatchMapping))
    return {name for n in patterns if (name := n.rest if isinstance(n, ast.MatchMapping) else n.name)}


def _touched_names(statement: ast.AST) -> Iterator[str]:
    """The names that a statement reads or deletes, and the global ones that it sets, also inside of functions."""
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Attribute) and node.attr == "modules":
            yield ".modules"
        for field, value in ast.iter_fields(node):
            if field not in _TYPES:
                todo += filter(_is_syntax, value if isinstance(value, list) else [value])
