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
    found = reader.parse_pipe()
    if reader.kind:
        reader.raise_parse_error(f"{reader.token!r} is not taken here")
    return found


class _JqReader:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self.kind = self.token = ""
        self._next_token()

    def raise_parse_error(self, reason: str) -> NoReturn:
        raise RecipeError(f"jq {self._text!r}: {reason}")

    def _next_token(self) -> str:
        """Goes to the next token. Returns the one before."""
        before = self.token
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            if self._text[self._at :].strip():
                self.raise_parse_error(f"{self._text[self._at :].strip()[:20]!r} is not taken here")
            self.kind = self.token = ""
        else:
            self.kind, self._at = str(found.lastgroup), found.end()
            self.token = found[self.kind]
        return before

    def _take_token(self, *tokens: str) -> str:
        if self.kind in {"sign", "word"} and self.token in tokens:
            return self._next_token()
        return ""

    def _take_required_token(self, token: str) -> None:
        if not self._take_token(token):
            self.raise_parse_error(
                f"{token} is missing before {self.token!r}" if self.token else f"{token} is missing at the end"
            )

    def parse_pipe(self) -> JqTerm:
        self._depth += 1
        if self._depth > _DEEPEST:
            self.raise_parse_error(f"more than {_DEEPEST} levels of parentheses")
        found = self._parse_binary(0)
        while self._take_token("|"):
            found = JqBinary("|", found, self._parse_binary(0))
        self._depth -= 1
        return found

    def _parse_binary(self, level: int) -> JqTerm:
        if level == len(_BINARY):
            return self._parse_postfix()
        found = self._parse_binary(level + 1)
        while sign := self._take_token(*_BINARY[level]):
            # `//` is grouped from the right, and comparisons are not grouped at all.
            right = self._parse_binary(level if sign == "//" else level + 1)
            found = JqBinary(sign, found, right)
            if sign in _COMPARING:
                break
        return found

    def _parse_postfix(self) -> JqTerm:
        found = self._parse_term()
        while True:
            if self.kind == "field":
                found = JqPlace(found, self._next_token()[1:])
            elif self._take_token("["):
                found = JqPlace(found, self._parse_bracket_index())
            elif not self._take_token("?"):
                return found

    def _parse_bracket_index(self) -> str | int:
        """What is between brackets, behind the first of them."""
        sign = -1 if self._take_token("-") else 1
        if self.kind == "number" and self.token.isdigit():
            found: str | int = sign * int(self._next_token())
        elif self.kind == "text" and sign > 0:
            found = str(self._token_value())
        else:
            self.raise_parse_error("an index is a whole number, or a key in double quotes")
        self._take_required_token("]")
        return found

    def _token_value(self) -> Any:
        """The number or text that is the token."""
        written = self._next_token()
        try:
            return orjson.loads(written)
        except orjson.JSONDecodeError:
            return self.raise_parse_error(f"{written} is not taken here: it is no number or text of JSON")

    def _parse_term(self) -> JqTerm:
        if self.kind in {"number", "text"}:
            return JqLiteral(self._token_value())
        if self.kind == "field":
            return JqPlace(JqInput(), self._next_token()[1:])
        if self.kind == "word" and self.token not in {"and", "or"}:
            return self._parse_call(self._next_token())
        return self._parse_signed_term()

    def _parse_signed_term(self) -> JqTerm:
        """A term that begins with a sign."""
        if self._take_token("-") and self.kind == "number":
            return JqLiteral(-self._token_value())
        if self._take_token("("):
            found = self.parse_pipe()
            self._take_required_token(")")
            return found
        if self._take_token("["):
            self._take_required_token("]")
            return JqLiteral([])
        if self._take_token("."):
            return JqPlace(JqInput(), str(self._token_value())) if self.kind == "text" else JqInput()
        return self.raise_parse_error(f"{self.token!r} is not taken here" if self.token else "it ends too early")

    def _parse_call(self, word: str) -> JqTerm:
        if word in _WORDS:
            return JqLiteral(_WORDS[word])
        if not self._take_token("("):
            return JqCall(word)
        argument = self.parse_pipe()
        self._take_required_token(")")
        return JqCall(word, argument)
