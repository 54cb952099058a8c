"""The statements of a module that its functions can reach, by the names that they use."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

Acting = Callable[[ast.stmt, set[str]], bool] | None
"""Tells whether a statement may act on live names: see Effects. None: nobody does."""

_READING = frozenset({"dict", "frozenset", "len", "list", "set", "sorted", "str", "tuple"})
"""Builtins that act on nothing; `sorted` without a key."""

_SAYS = frozenset({"draft", "reason", "same_output"})
"""Options that say whether a change counts, and change nothing that a recipe makes."""

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


def reachable_statements(
    tree: ast.Module, functions: Sequence[str], names: Sequence[str] = (), acting: Acting = None, *, calls: bool = True
) -> list[ast.stmt]:
    """The top-level statements that the functions of a recipe can reach, in their order.

    A statement counts if it binds a name that a counted statement uses, or may act on one. It always counts if it binds
    no name, has a decorator, or is `import a.b`. Of the recipe's declaration these functions count, and options whose
    calls may act on such a name; all of it, if a function of one's own makes it. Of an import the used names count.

    Args:
        tree: the module.
        functions: the keywords of the declaration that are functions. A module in which no call has one of them counts
            whole.
        names: the names of the recipe in the module. What else binds them counts, whatever call makes the recipe.
        acting: function that tells whether a statement may act on live names. None: as in the first digests of code.
        calls: whether it is asked of the declaration too. False: as in the second digests.

    >>> text = '''
    ... import re, math
    ... LIMIT = 3
    ... RULES = (1, 2)
    ... def tag(document): return {"many": re.findall("a{%d}" % LIMIT, document.text)}
    ... TAGGER = Tagger(name="many-1", document=tag, description="counts", columns=RULES)
    ... '''
    >>> [ast.unparse(each) for each in reachable_statements(ast.parse(text), ["document"])][:2]
    ['import re', 'LIMIT = 3']
    >>> ast.unparse(reachable_statements(ast.parse(text), ["document"])[-1])
    "TAGGER = ('document', tag)"
    """
    declared = [_declaration_statements(each, functions, acting if calls else None) for each in tree.body]
    body = [each for parts, statement in zip(declared, tree.body, strict=True) for each in parts or [statement]]
    roots = {id(parts[-1]) for parts in declared if parts}
    options = {id(each): [*_acting_option_calls(each)] for parts in declared for each in parts[:-1]}
    if not roots:
        return tree.body
    binds = {id(each): set() if id(each) in options else bound_names(each) for each in body}
    live = {name for name in names if any(name in binds[id(each)] for each in body if id(each) not in roots)}
    kept = roots | {id(each) for each in body if _statement_may_act(each) and id(each) not in options}
    live |= {name for each in body if id(each) in kept for name in _names_read(each)}
    while True:
        left = [each for each in body if id(each) not in kept]
        more = [each for each in left if binds[id(each)] & live]
        if not more and acting is not None:
            more = [each for each in left if any(acting(one, live) for one in options.get(id(each), (each,)))]
        if not more:
            return [_only_used_imports(each, live) for each in body if id(each) in kept]
        kept |= {id(each) for each in more}
        live |= {name for each in more for name in _names_read(each)}


def _statement_may_act(statement: ast.stmt) -> bool:
    """Whether running a statement may do more than bind names: it may fill a table, or register a function."""
    if isinstance(statement, _SCOPES):
        return bool(statement.decorator_list)
    if isinstance(statement, ast.Import):
        return any("." in each.name for each in statement.names)
    names = bound_names(statement)
    return not names or "*" in names


def _declaration_statements(statement: ast.stmt, functions: Sequence[str], acting: Acting) -> list[ast.stmt]:
    """A recipe's options, and it with its functions alone; the whole recipe if a function of one's own makes it.

    Empty for another statement, or for one with ** in it.
    """
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Call):
        return []
    call = statement.value
    chosen = [keyword for keyword in call.keywords if keyword.arg in functions]
    if not chosen or call.args or any(keyword.arg is None for keyword in call.keywords):
        return []
    made = ast.Expr(ast.Call(call.func, [], []))
    targets: list[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if acting is not None and acting(made, {*_names_read(call.func)}):
        whole = ast.Call(call.func, [], [each for each in call.keywords if each.arg not in _SAYS])
        return [ast.copy_location(ast.Assign(targets, whole), statement)]
    options: list[ast.stmt] = [ast.Expr(each.value) for each in call.keywords if acting and each not in chosen]
    pairs = [part for keyword in chosen for part in (ast.Constant(keyword.arg), keyword.value)]
    return [*options, ast.copy_location(ast.Assign(targets, ast.Tuple(pairs, ast.Load())), statement)]


def _acting_option_calls(option: ast.stmt) -> Iterator[ast.stmt]:
    """The calls in an option that may act on something."""
    for node in ast.walk(option):
        if isinstance(node, ast.Call):
            reads = isinstance(node.func, ast.Name) and node.func.id in _READING and not node.keywords
            if not reads:
                yield ast.Expr(node)


def unread_imports(tree: ast.Module) -> list[ast.stmt]:
    r"""The imports of names that nothing in a module reads: the module is imported for what it does then.

    Args:
        tree: the module.

    >>> text = "import a, b\nfrom . import c, d\nprint(b, d)"
    >>> [ast.unparse(each) for each in unread_imports(ast.parse(text))]
    ['import a', 'from . import c']
    """
    read = set(_names_read(tree))
    found: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [each for each in node.names if bound_import_name(each) not in read]
            found += [import_of_names(node, names)] if names else []
    return found


def import_of_names(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    """An import of some names alone.

    Args:
        node: the import.
        names: some of its names.
    """
    return ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


def _only_used_imports(statement: ast.stmt, live: set[str]) -> ast.stmt:
    """An import of the names that are used; another statement as it is."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return statement
    always = "." if isinstance(statement, ast.Import) else "*"
    return import_of_names(
        statement, [each for each in statement.names if bound_import_name(each) in live or always in each.name]
    )


def bound_import_name(alias: ast.alias) -> str:
    """The name that a part of an import binds.

    >>> [bound_import_name(each) for each in ast.parse("import a.b, c as d").body[0].names]
    ['a', 'd']
    """
    return alias.asname or alias.name.partition(".")[0]


def _names_read(statement: ast.AST) -> Iterator[str]:
    """The names that a statement may read, also inside of functions."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id


def bound_names(statement: ast.stmt) -> set[str]:
    """The names of the module that a statement binds, also in its branches.

    Args:
        statement: a top-level statement.
    """
    names: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, _SCOPES):
            names.add(node.name)
            continue  # what it binds inside belongs to it
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {bound_import_name(each) for each in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        todo += ast.iter_child_nodes(node)
    return names


def imported_modules(body: Iterable[ast.stmt], module: str, *, is_package: bool) -> Iterator[str]:
    """The names of all modules that statements may import, absolute. A name may turn out to be a function.

    Args:
        body: the statements.
        module: the name of their module.
        is_package: whether it is the `__init__` of a package.

    >>> sorted(imported_modules(ast.parse("from . import words; import a.b").body, "mill.taggers.x", is_package=False))
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
