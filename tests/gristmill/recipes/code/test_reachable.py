import ast

from gristmill.recipes.code.reachable import imported_modules, reachable_statements, without_docstrings


def kept(text: str) -> list[str]:
    return [ast.unparse(each) for each in reachable_statements(without_docstrings(ast.parse(text)), ("convert",))]


def test_of_a_declaration_only_the_functions_count() -> None:
    assert kept("def f(raw): yield 1\nX = Source(name='x', convert=f, licence='CC0')") == [
        "def f(raw):\n    yield 1",
        "X = ('convert', f)",
    ]


def test_a_helper_of_a_helper_counts_and_a_table_of_rules_does_not() -> None:
    text = "A = 1\ndef g(): return A\ndef f(raw): yield g()\nRULES = (Rule(),)\nX = Source(convert=f, revisions=RULES)"
    assert [line.split("\n")[0] for line in kept(text)] == ["A = 1", "def g():", "def f(raw):", "X = ('convert', f)"]


def test_a_statement_that_binds_no_name_always_counts() -> None:
    assert kept("T = {}\nT['a'] = 1\nT.update(b=2)\nX = Source(convert=T.get)")[:3] == [
        "T = {}",
        "T['a'] = 1",
        "T.update(b=2)",
    ]


def test_of_an_import_the_used_names_count() -> None:
    assert kept("from a import b, c as d\nimport e.f, g\nX = Source(convert=lambda raw: d(e.f))") == [
        "from a import c as d",
        "import e.f",
        "X = ('convert', lambda raw: d(e.f))",
    ]


def test_a_name_that_is_bound_in_a_branch_counts_with_the_whole_branch() -> None:
    text = "try:\n    import fast as j\nexcept ImportError:\n    import slow as j\nX = Source(convert=j.read)"
    assert len(kept(text)) == 2


def test_a_function_with_a_decorator_counts_although_nothing_names_it() -> None:
    text = (
        "R = {}\ndef reg(f): R[f.__name__] = f\n@reg\ndef step(t): return t\nX = Source(convert=lambda raw: R['step'])"
    )
    assert [line.split("\n")[0] for line in kept(text)][:3] == ["R = {}", "def reg(f):", "@reg"]


def test_a_bare_import_of_a_module_in_a_package_counts_for_it_may_patch_another() -> None:
    assert kept("import mill._patch, re\nX = Source(convert=read)")[0] == "import mill._patch"


def test_a_star_import_counts() -> None:
    assert kept("from a import *\nX = Source(convert=read)")[0] == "from a import *"


def test_a_declaration_with_hidden_parts_makes_all_count() -> None:
    assert len(kept("A = 1\nX = Source(**OPTIONS)")) == 2
    assert len(kept("A = 1\nX = made('x')")) == 2


def test_docstrings_go_and_other_strings_stay() -> None:
    tree = without_docstrings(
        ast.parse('"""M."""\nA = "a"\nclass C:\n    """C."""\n    def f(self):\n        """F."""')
    )
    assert len(tree.body) == 2
    assert "M." not in ast.dump(tree)
    assert "C." not in ast.dump(tree)
    assert "F." not in ast.dump(tree)


def test_imports_are_made_absolute() -> None:
    body = ast.parse("from .. import up\nfrom .near import one\ndef f():\n    import late").body
    assert sorted(imported_modules(body, "mill.taggers.x", is_package=False)) == [
        "late",
        "mill",
        "mill.taggers.near",
        "mill.taggers.near.one",
        "mill.up",
    ]
    assert sorted(imported_modules(ast.parse("from . import a").body, "mill.taggers", is_package=True)) == [
        "mill.taggers",
        "mill.taggers.a",
    ]


def test_another_name_that_binds_the_recipe_counts_although_no_call_shows_its_function() -> None:
    text = "A = make(open=1)\nB = made('apple')\nB = wrap(B)"
    for names, found in ((), 1), (("B",), 3), (("A",), 1):
        assert len(reachable_statements(ast.parse(text), ("open",), names)) == found
