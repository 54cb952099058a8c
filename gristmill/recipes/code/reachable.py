"""The statements of a module that its functions can reach, by the names that they use."""

import ast
from collections.abc import Iterable, Iterator, Sequence

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def without_docstrings(tree: ast.Module) -> ast.Module:
    """The tree without the docstrings of its module, classes and functions. Changes and returns it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_SCOPES)) and node.body and _is_string(node.body[0]):
            del node.body[0]
    return tree


def _is_string(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def reachable(tree: ast.Module, functions: Sequence[str]) -> list[ast.stmt]:
    """The top-level statements that the functions of a recipe can reach, in their order.

    A statement counts if it binds a name that a counted statement uses. It always counts if it may act by itself: it
    binds no name, has a decorator, or is `import a.b`. Of the recipe's declaration only these functions count. Of
    `from a import b, c` only the used names count.

    Args:
        tree: the module.
        functions: the keywords of the declaration that are functions. A module in which no call has one of them counts
            whole.

    >>> text = '''
    ... import re, math
    ... LIMIT = 3
    ... RULES = (1, 2)
    ... def tag(document): return {"many": re.findall("a{%d}" % LIMIT, document.text)}
    ... TAGGER = Tagger(name="many-1", document=tag, description="counts", columns=RULES)
    ... '''
    >>> [ast.unparse(each) for each in reachable(ast.parse(text), ["document"])][:2]
    ['import re', 'LIMIT = 3']
    >>> ast.unparse(reachable(ast.parse(text), ["document"])[-1])
    "TAGGER = ('document', tag)"
    """
    body = [_declaration(statement, functions) or statement for statement in tree.body]
    roots = [new for new, old in zip(body, tree.body, strict=True) if new is not old]
    if not roots:
        return tree.body
    live = {name for root in roots for name in _used(root)}
    kept: set[int] = set()
    while True:
        more = [each for each in body if id(each) not in kept and (each in roots or _acts(each) or _bound(each) & live)]
        if not more:
            return [_only(each, live) for each in body if id(each) in kept]
        kept |= {id(each) for each in more}
        live |= {name for each in more for name in _used(each)}


def _acts(statement: ast.stmt) -> bool:
    """Whether running a statement may do more than bind names: it may fill a table, or register a function."""
    if isinstance(statement, _SCOPES):
        return bool(statement.decorator_list)
    if isinstance(statement, ast.Import):
        return any("." in each.name for each in statement.names)
    bound = _bound(statement)
    return not bound or "*" in bound


def _declaration(statement: ast.stmt, functions: Sequence[str]) -> ast.stmt | None:
    """The declaration of a recipe with its functions alone; None for another statement, or for one with ** in it."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    chosen = [keyword for keyword in call.keywords if keyword.arg in functions]
    if not chosen or call.args or any(keyword.arg is None for keyword in call.keywords):
        return None
    pairs = [part for keyword in chosen for part in (ast.Constant(keyword.arg), keyword.value)]
    targets: list[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return ast.copy_location(ast.Assign(targets, ast.Tuple(pairs, ast.Load())), statement)


def _only(statement: ast.stmt, live: set[str]) -> ast.stmt:
    """An import of the names that are used; another statement as it is."""
    if isinstance(statement, ast.Import):
        return ast.Import([each for each in statement.names if _name(each) in live or "." in each.name])
    if isinstance(statement, ast.ImportFrom):
        names = [each for each in statement.names if _name(each) in live or each.name == "*"]
        return ast.ImportFrom(statement.module, names, statement.level)
    return statement


def _name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _used(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement may read, also inside of functions."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id


def _bound(statement: ast.stmt) -> set[str]:
    """The names of the module that a statement binds, also in its branches."""
    names: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, _SCOPES):
            names.add(node.name)
            continue  # what it binds inside belongs to it
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {_name(each) for each in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        todo += ast.iter_child_nodes(node)
    return names


def imported(body: Iterable[ast.stmt], module: str, *, is_package: bool) -> Iterator[str]:
    """The names of all modules that statements may import, absolute. A name may turn out to be a function.

    Args:
        body: the statements.
        module: the name of their module.
        is_package: whether it is the `__init__` of a package.

    >>> sorted(imported(ast.parse("from . import words; import a.b").body, "mill.taggers.x", is_package=False))
    ['a.b', 'mill.taggers', 'mill.taggers.words']
    """
    package = module if is_package else module.rpartition(".")[0]
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package.split(".")
            around = around[: len(around) - node.level + 1] if node.level else []
            origin = ".".join([*around, *([node.module] if node.module else [])])
            yield origin
            yield from (f"{origin}.{each.name}" for each in node.names)
