"""Reads the part of jq that filters of Dolma's mixer are written in: paths, comparisons, arithmetic, a few functions.

Source: the manual of jq 1.7, for the precedence of operators.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from gristmill.errors import RecipeError

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<field>\.[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)|(?P<sign>//|==|!=|<=|>=|[-|,<>+*/%().\[\]?;:$]))"""
)
_BINARY: Final = (("//",), ("or",), ("and",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))
"""Operators from the loosest to the tightest; a pipe is looser than all."""
_COMPARING: Final = _BINARY[3]
_WORDS: Final = {"true": True, "false": False, "null": None}
_DEEPEST: Final = 40


@dataclass(frozen=True)
class JqInput:
    """`.`: the value that comes in."""


@dataclass(frozen=True)
class JqLiteral:
    """A number, a text, true, false, null, or the empty list."""

    value: Any


@dataclass(frozen=True)
class JqPlace:
    """`.key` or `.[0]` of a value.

    Attributes:
        of: the value.
        at: the key, or the index.
    """

    of: "JqTerm"
    at: str | int


@dataclass(frozen=True)
class JqBinary:
    """`left sign right`.

    Attributes:
        sign: an operator, or `|`.
        left: an expression.
        right: an expression.
    """

    sign: str
    left: "JqTerm"
    right: "JqTerm"


@dataclass(frozen=True)
class JqCall:
    """A function, such as `length` or `map(.[2])`.

    Attributes:
        name: name of the function.
        argument: an expression, if it has one.
    """

    name: str
    argument: "JqTerm | None" = None


JqTerm: TypeAlias = JqInput | JqLiteral | JqPlace | JqBinary | JqCall


def parse_jq(text: str) -> JqTerm:
    """The expression that a text is.

    Args:
        text: such as `(.attributes.words | length) > 0`.

    Raises:
        RecipeError: it is no jq, or has something that no filter here is written in.

    >>> parse_jq(".metadata.n > 2")
    JqBinary(sign='>', left=JqPlace(of=JqPlace(of=JqInput(), at='metadata'), at='n'), right=JqLiteral(value=2))
    """
    reader = _JqReader(text)
    found = reader.pipe()
    if reader.kind:
        reader.stop(f"{reader.token!r} is not taken here")
    return found


class _JqReader:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self.kind = self.token = ""
        self._next()

    def stop(self, reason: str) -> NoReturn:
        raise RecipeError(f"jq {self._text!r}: {reason}")

    def _next(self) -> str:
        """Goes to the next token. Returns the one before."""
        before = self.token
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            if self._text[self._at :].strip():
                self.stop(f"{self._text[self._at :].strip()[:20]!r} is not taken here")
            self.kind = self.token = ""
        else:
            self.kind, self._at = str(found.lastgroup), found.end()
            self.token = found[self.kind]
        return before

    def _take(self, *tokens: str) -> str:
        if self.kind in {"sign", "word"} and self.token in tokens:
            return self._next()
        return ""

    def _need(self, token: str) -> None:
        if not self._take(token):
            self.stop(f"{token} is missing before {self.token!r}" if self.token else f"{token} is missing at the end")

    def pipe(self) -> JqTerm:
        self._depth += 1
        if self._depth > _DEEPEST:
            self.stop(f"more than {_DEEPEST} levels of parentheses")
        found = self._binary(0)
        while self._take("|"):
            found = JqBinary("|", found, self._binary(0))
        self._depth -= 1
        return found

    def _binary(self, level: int) -> JqTerm:
        if level == len(_BINARY):
            return self._postfix()
        found = self._binary(level + 1)
        while sign := self._take(*_BINARY[level]):
            # `//` is grouped from the right, and comparisons are not grouped at all.
            right = self._binary(level if sign == "//" else level + 1)
            found = JqBinary(sign, found, right)
            if sign in _COMPARING:
                break
        return found

    def _postfix(self) -> JqTerm:
        found = self._term()
        while True:
            if self.kind == "field":
                found = JqPlace(found, self._next()[1:])
            elif self._take("["):
                found = JqPlace(found, self._index())
            elif not self._take("?"):
                return found

    def _index(self) -> str | int:
        """What is between brackets, behind the first of them."""
        sign = -1 if self._take("-") else 1
        if self.kind == "number" and self.token.isdigit():
            found: str | int = sign * int(self._next())
        elif self.kind == "text" and sign > 0:
            found = str(self._written())
        else:
            self.stop("an index is a whole number, or a key in double quotes")
        self._need("]")
        return found

    def _written(self) -> Any:
        """The number or text that is the token."""
        written = self._next()
        try:
            return orjson.loads(written)
        except orjson.JSONDecodeError:
            return self.stop(f"{written} is not taken here: it is no number or text of JSON")

    def _term(self) -> JqTerm:
        if self.kind in {"number", "text"}:
            return JqLiteral(self._written())
        if self.kind == "field":
            return JqPlace(JqInput(), self._next()[1:])
        if self.kind == "word" and self.token not in {"and", "or"}:
            return self._call(self._next())
        return self._signed()

    def _signed(self) -> JqTerm:
        """A term that begins with a sign."""
        if self._take("-") and self.kind == "number":
            return JqLiteral(-self._written())
        if self._take("("):
            found = self.pipe()
            self._need(")")
            return found
        if self._take("["):
            self._need("]")
            return JqLiteral([])
        if self._take("."):
            return JqPlace(JqInput(), str(self._written())) if self.kind == "text" else JqInput()
        return self.stop(f"{self.token!r} is not taken here" if self.token else "it ends too early")

    def _call(self, word: str) -> JqTerm:
        if word in _WORDS:
            return JqLiteral(_WORDS[word])
        if not self._take("("):
            return JqCall(word)
        argument = self.pipe()
        self._need(")")
        return JqCall(word, argument)
