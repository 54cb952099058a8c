"""Which statements act on a table that a function of a recipe reads."""

import ast

import pytest

from gristmill.recipes.code.effects import Effects, is_public
from gristmill.recipes.code.reachable import reachable_statements

BEFORE = """
import re
from mill._fill import filled
from gristmill.recipes.tagger import Tagger
LIMIT = 3
SIZES = (1, -2)
WORDS = {}
class Fruit:
    kinds = []
    def __init_subclass__(cls): Fruit.kinds.append(cls)
def fill(word): WORDS[word] = re.compile(word)
def raised():
    global LIMIT
    LIMIT = 4
def unread(word): return len(word)
def tag(document): return {"found": float(len(WORDS) + LIMIT + len(Fruit.kinds) + SIZES[0])}
"""
RECIPE = "FRUIT = Tagger(name='fruit-1', document=tag)\n"


def counts(statement: str, before: str = BEFORE) -> bool:
    """Whether the last of these statements is among those that count."""
    tree = ast.parse(before + statement + "\n" + RECIPE)
    origins = {
        "from mill._fill import filled": ["mill._fill", "mill._words"],
        "from mill._words import MORE": ["mill._words"],
    }
    acting = Effects(tree.body, lambda node: origins.get(ast.unparse(node), [])).may_act_on
    return ast.unparse(ast.parse(statement).body[-1]) in map(
        ast.unparse, reachable_statements(tree, ("document",), (), acting)
    )


@pytest.mark.parametrize(
    "statement",
    [
        "for word in ('apple',):\n    WORDS[word] = re.compile(word)",
        "with open('words') as file:\n    WORDS['a'] = file.read()",
        "try:\n    WORDS['a'] = n = 1\nexcept KeyError:\n    n = 2",
        "if n := 1:\n    WORDS['a'] = n",
        "while (n := len(WORDS)) < 3:\n    WORDS[n] = n",
        "match 'apple':\n    case word:\n        n = WORDS.setdefault(word, 1)",
        "match 3:\n    case LIMIT:\n        n = 1",
        "_ = WORDS.update(apple=1)",
        "one = two = WORDS.setdefault('apple', 1)",
        "one: object = WORDS.setdefault('apple', 1)",
        "WORDS['apple'], one = 1, 2",
        "for WORDS['apple'] in (1, 2):\n    one = 1",
        "one, *WORDS['apple'] = 1, 2",
        "one = (WORDS.update(apple=1), 2)",
        "one = [WORDS.update({word: 1}) for word in ('apple',)]",
        "one = [word for WORDS['apple'] in (1,) for word in ()]",
        "one = WORDS['apple']",
        "one = 0\none += WORDS.setdefault('apple', 1)",
        "one = f'{WORDS.setdefault(1, 2)}'",
        "one = list(map(lambda word: WORDS.update({word: 1}), ('apple',)))",
        "one = fill('apple')",
        "for word in ('apple',):\n    fill(word)",
        "one = raised()",
        "many = lambda word: fill(word)\none = many('apple')",
        "alias = WORDS\none = alias.update(apple=1)",
        "alias = WORDS\nfor word in ('apple',):\n    alias[word] = 1",
        "every = (fill(word) for word in ('apple',))\none = [*every]",
        "one = globals().update(LIMIT=4)",
        "for name in ('LIMIT',):\n    globals()[name] = 4",
        "import sys\nme = sys.modules[__name__]\nfor name in ('LIMIT',):\n    setattr(me, name, 4)",
        "one = exec('LIMIT = 4')",
        "class Apple(Fruit):\n    word = 'apple'",
        "class Filler:\n    WORDS['apple'] = 1",
        "class Filler:\n    def fill():\n        WORDS['apple'] = 1\n    fill()",
        "def other(words=WORDS.update(apple=1)):\n    return words",
        "for each in (tag,):\n    each.limit = 4",
        "async def later(document): return fill('apple')\none = run(later(1))",
    ],
)
def test_a_statement_that_may_act_on_what_a_function_uses_counts(statement: str) -> None:
    assert counts(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "OTHER = 4",
        "OTHER = {'apple': 1, **{}}",
        "OTHER: list[str] = ['apple']",
        "RULES = (rule('short', f'n < {SIZES[0]}'), rule('long', SIZES))",
        "OTHER = {}\nfor each in ('apple',):\n    OTHER[each] = 1",
        "OTHER = unread('apple')",
        "OTHER = sorted({'apple', 'berry'})",
        "alias = WORDS",
        "BERRY = Tagger(name='berry-1', description=WORDS)",
        "class Other:\n    limit: int = 3\n    def size(self): return len(WORDS)",
        "def other(document): return WORDS.update(apple=1)",
        "other = lambda word: WORDS.update({word: 1})",
    ],
)
def test_a_statement_that_cannot_reach_what_a_function_uses_does_not_count(statement: str) -> None:
    assert not counts(statement)


OPTIONS = [
    ("Tagger(document=tag, description=fill('apple'))", "fill('apple')"),
    ("Tagger(document=tag, needs=tuple(WORDS.setdefault(one, 1) for one in ('apple',)))", "tuple("),
    ("Tagger(document=tag, needs=tuple(sorted(('apple',), key=fill)))", "tuple("),
    ("made(document=tag, description='apple')", "BERRY = made("),
    ("made(document=tag, reason='apple', same_output=True, draft='apple' > '')", ""),
    ("Tagger(document=tag, description=unread('apple'))", ""),
    ("Tagger(document=tag, name=f'{LIMIT}', needs=tuple(f'apple {word}' for word in sorted(WORDS)))", ""),
]


@pytest.mark.parametrize(("call", "counted"), OPTIONS)
def test_of_a_declaration_count_options_that_act_and_all_if_a_function_of_ones_own_makes_it(
    call: str, counted: str
) -> None:
    tree = ast.parse(f"{BEFORE}def made(**options): return Tagger(**options)\nBERRY = {call}\n")
    acting = Effects(tree.body, lambda _: []).may_act_on
    found = [ast.unparse(each) for each in reachable_statements(tree, ("document",), (), acting)]
    with_apple = [each for each in found if "apple" in each]
    assert [each.startswith(counted) for each in with_apple] == ([True] if counted else [])
    before = [ast.unparse(each) for each in reachable_statements(tree, ("document",), (), acting, calls=False)]
    assert before[-1] == "BERRY = ('document', tag)"
    assert not any("apple" in each for each in before)


def test_a_function_of_another_module_acts_if_it_shares_a_module_with_what_is_used() -> None:
    shared = BEFORE.replace("WORDS = {}", "from mill._words import MORE").replace("WORDS", "MORE")
    assert counts("one = filled('apple')", shared)
    assert not counts("one = filled('apple')")


def test_names_of_a_star_may_be_tables() -> None:
    text = "from {} import *\ndef tag(document): return MORE\none = MORE.update(apple=1)\nFRUIT = Tagger(document=tag)"
    for module, more in (("mill._words", True), ("gristmill.recipes.tagger", False)):
        tree = ast.parse(text.format(module))
        found = reachable_statements(tree, ("document",), (), Effects(tree.body, lambda _: []).may_act_on)
        assert ("one = MORE.update(apple=1)" in map(ast.unparse, found)) is more


def test_rooms_that_recipes_use_are_public() -> None:
    assert is_public("gristmill.text")
    assert not is_public("gristmill")
    assert not is_public("gristmill.taggers.length")
