"""Reads any jq program as a tree of words, and says which functions it calls: in interpolations and arguments too.

Source: the lexer and the grammar of jq 1.8 (src/lexer.l, src/parser.y). Only what decides whether a word is a call is
told apart; whether the program is well-formed is left to jq.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gristmill.errors import RecipeError

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<comment>\#[^\n]*)|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"""|(?P<dots>\.\.)|(?P<field>\.[A-Za-z_]\w*)|(?P<format>@\w+)|(?P<variable>\$(?:\w+::)*\w+)"""
    r"""|(?P<word>(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)|(?P<sign>.)""",
    re.ASCII | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "if": "end"}
_WORDS = "and as break catch def elif else end foreach if label or reduce then try"
_KEYWORDS = frozenset(_WORDS.split())
_KINDS = ("call", "definition", "variable")
_DEEPEST = 100


@dataclass(frozen=True)
class JqNode:
    """A word, or what is between two of them.

    Attributes:
        kind: `word`, `variable`, `text` (its children are interpolations), `group` or `sign`.
        text: the word, the sign, or what a group begins with: a bracket or `if`.
        children: nodes that are inside.
    """

    kind: str
    text: str
    children: tuple["JqNode", ...] = ()


@dataclass(frozen=True)
class JqNames:
    """What a program names.

    Attributes:
        called: the functions that it calls, and its modules' keywords.
        defined: the functions that it defines, and their parameters.
        variables: names of variables, with their `$`.
    """

    called: frozenset[str]
    defined: frozenset[str]
    variables: frozenset[str]


def names_of_jq(text: str) -> JqNames:
    r"""The names in a program.

    Args:
        text: text of the program.

    Raises:
        RecipeError: it is not read: a bracket or a quote is not closed, or a comment could end in two places.

    >>> sorted(names_of_jq(r'{now: 1} | "\(env.now)" | map(.now)').called)
    ['env', 'map']
    """
    found = set(_names_with_roles(_NodeReader(text).read("", 0), ""))
    return JqNames(*(frozenset(name for name, kind in found if kind == each) for each in _KINDS))


def _names_with_roles(nodes: Sequence[JqNode], opening: str) -> Iterator[tuple[str, str]]:
    """Each name, and whether it is a call, a definition or a variable."""
    at = 0
    while at < len(nodes):
        node, is_key = nodes[at], opening == "{" and (at == 0 or nodes[at - 1].text == ",")
        at += 1
        if node.kind == "variable":
            yield node.text, "variable"
        elif node.kind == "word" and node.text == "def" and not is_key:
            defined = nodes[at : at + 2]
            at += 1
            if len(defined) > 1 and defined[1].text == "(":
                defined = (defined[0], *defined[1].children)
                at += 1
            yield from ((each.text, "definition") for each in defined if each.kind == "word")
        elif node.kind == "word" and not is_key and node.text not in _KEYWORDS:
            yield node.text, "call"
        else:
            yield from _names_with_roles(node.children, node.text)


class _NodeReader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self, closing: str, depth: int) -> tuple[JqNode, ...]:
        """The nodes up to a closing word."""
        if depth > _DEEPEST:
            raise RecipeError(f"jq {self._text!r}: more than {_DEEPEST} levels of brackets")
        found: list[JqNode] = []
        while self._at < len(self._text):
            token = _TOKEN.match(self._text, self._at)
            kind, text = (str(token.lastgroup), token[0]) if token else ("sign", self._text[self._at])
            self._at += len(text)
            if text == closing:
                return tuple(found)
            if text == '"':
                found.append(JqNode("text", '"', tuple(self._read_interpolations(depth))))
            elif text in _CLOSING and not (closing == "}" and text == "if" and (not found or found[-1].text == ",")):
                found.append(JqNode("group", text, self.read(_CLOSING[text], depth + 1)))
            elif kind == "comment":
                self._check_comment(text)
            elif text == "$":
                raise RecipeError(f"jq {self._text!r}: a name is missing behind $")
            elif kind != "space":
                found.append(JqNode(kind if kind in {"word", "variable"} else "sign", text))
        if closing:
            raise RecipeError(f"jq {self._text!r}: {closing} is missing at the end")
        return tuple(found)

    def _read_interpolations(self, depth: int) -> Iterator[JqNode]:
        """What a text computes: each as a group. Its opening quote is read."""
        while self._at < len(self._text):
            begun = self._text[self._at : self._at + 2]
            self._at += 2 if begun[0] == "\\" else 1
            if begun[0] == '"':
                return
            if begun == "\\(":
                yield JqNode("group", "(", self.read(")", depth + 1))
        raise RecipeError(f"jq {self._text!r}: a closing quote is missing")

    def _check_comment(self, comment: str) -> None:
        """Refuses a comment that other versions of jq end at another place."""
        if "\\" in comment or "\r" in comment:
            raise RecipeError(f"jq {self._text!r}: a comment with a backslash or a carriage return; leave it out")
