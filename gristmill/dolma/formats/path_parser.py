"""Reads a JSONPath as Dolma's engine does: the grammar of jsonpath-rust 0.3.5.

What that engine refuses is refused. So is what it accepts and does not do: the message says what to write instead.
"""

import re
from dataclasses import replace
from typing import Final, NoReturn

import re2

from gristmill.dolma.formats.path_conditions import (
    QUIET,
    SIGNS,
    AllHold,
    AnyHolds,
    Condition,
    FilterStep,
    NotHolds,
    PathComparison,
    WrittenValue,
    parse_number_literal,
)
from gristmill.dolma.formats.path_steps import (
    DescendantStep,
    FieldStep,
    IndexStep,
    JsonPath,
    PathStep,
    SliceStep,
    UnionStep,
    WildcardStep,
)
from gristmill.errors import RecipeError

_SPACE = re.compile(r"(?: |\t|\r\n|\n)*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r"""'((?:[^"'\\]|\\["'\\/bfnrt]|\\u[0-9a-fA-F]{4})*)'""")
_KEY: Final = r"[A-Za-z0-9_\-/\\#]+"
_QUOTED = re.compile(r"\.?\[" + _STRING.pattern + r"\]")
_PLAIN = re.compile(rf"\.({_KEY})")
_DESCENDANT = re.compile(rf"\.\.(?:({_KEY})|\[{_STRING.pattern}\]|(\*))")
_WILDCARD = re.compile(r"\.?\[\*\]|\.\*")
_LENGTH = re.compile(r"\.length\(")
_SIGN = re.compile("|".join(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True)))
_WORD = re.compile(r"true|false|null")
_WORDS: Final = {"true": True, "false": False, "null": None}
_SLICE = re.compile(r"(-?(?:0|[1-9][0-9]*))?\s*:\s*(-?(?:0|[1-9][0-9]*))?\s*(?::\s*(0|[1-9][0-9]*))?\s*\]")
_INDEX = re.compile(r"(0|[1-9][0-9]*)\s*\]")
_DEEPEST: Final = 32
_LONGEST: Final = 100_000


def parse_path(text: str) -> JsonPath:
    """The path that a text is. It begins at the document, also if it is written from `@`.

    Args:
        text: such as `$.attributes[?(@.words && @.words[0][2] < 50)]`.

    Raises:
        RecipeError: Dolma's engine does not read it, or reads it and does something else.

    >>> parse_path("$.metadata.tags[0]").matches({"metadata": {"tags": ["a"]}})
    True
    """
    if len(text) > _LONGEST:
        raise RecipeError(f"a JSONPath of {len(text):,} characters; give one of at most {_LONGEST:,}")
    parser = _PathReader(text)
    path = parser.path()
    parser.skip_space()
    if parser.at < len(text):
        parser.raise_parse_error("this is no step of a path")
    return replace(path, from_root=True)


class _PathReader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self._depth = text, 0, 0

    def raise_parse_error(self, reason: str) -> NoReturn:
        raise RecipeError(f"JSONPath {self.text!r}, at character {self.at + 1}: {reason}")

    def skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take_pattern(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def take_word(self, word: str) -> bool:
        self.skip_space()
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def path(self) -> JsonPath:
        """A path from `$` or `@`; `$@` is `$`."""
        begin = self.at
        from_root = self.take_word("$")
        current = self.take_word("@")
        if not (from_root or current):
            self.raise_parse_error("a path begins with $, or with @ in a filter")
        steps = []
        while (step := self.step()) is not None:
            steps.append(step)
        return JsonPath(self.text[begin : self.at], tuple(steps), from_root)

    def step(self) -> PathStep | None:
        before = self.at
        self.skip_space()
        if found := self.take_pattern(_DESCENDANT):
            key, quoted, _ = found.groups()
            return DescendantStep(quoted if key is None else key)
        if self.take_pattern(_WILDCARD):
            return WildcardStep()
        if _LENGTH.match(self.text, self.at):
            self.raise_parse_error("Dolma's engine ignores the value of length(); write `size`, or use jq")
        if found := self.take_pattern(_QUOTED) or self.take_pattern(_PLAIN):
            return FieldStep(found[1])
        for bracket in (".[", "["):
            if self.text.startswith(bracket, self.at):
                self.at += len(bracket)
                return self.parse_bracket()
        if self.text.startswith(("$", "@"), self.at):
            self.raise_parse_error("$ or @ inside a path; Dolma's engine would begin anew there")
        self.at = before
        return None

    def parse_bracket(self) -> PathStep:
        """What is between brackets, behind the first of them."""
        self.skip_space()
        if self.text.startswith("?", self.at):
            self.at += 1
            return self.filter()
        if found := self.take_pattern(_SLICE):
            start, end, step = (int(number) if number else 0 for number in found.groups())
            if found[3] and step == 0:
                self.raise_parse_error("a slice with step 0, at which Dolma's engine fails")
            return SliceStep(start, end, step or 1)
        if found := self.take_pattern(_INDEX):
            return IndexStep(int(found[1]))
        return UnionStep(tuple(self._parse_field_or_index(value) for value in self.values()))

    def _parse_field_or_index(self, value: str | float) -> FieldStep | IndexStep:
        if isinstance(value, str):
            return FieldStep(value)
        if not isinstance(value, int) or value < 0:
            self.raise_parse_error(f"{value} is no index: Dolma's engine takes whole numbers from 0, so it fails here")
        return IndexStep(value)

    def values(self) -> list[str | float]:
        """Two or more strings or numbers with commas between them, and the bracket that closes."""
        values: list[str | float] = []
        while True:
            self.skip_space()
            pattern = _NUMBER if not values or not isinstance(values[0], str) else _STRING
            found = self.take_pattern(_STRING) if not values else None
            if found:
                values.append(found[1])
            elif found := self.take_pattern(pattern):
                values.append(found[1] if pattern is _STRING else parse_number_literal(found[0]))
            else:
                self.raise_parse_error(
                    "Dolma's engine takes 'text' in single quotes, a number from 0, a slice or a filter here"
                )
            if self.take_word("]"):
                break
            if not self.take_word(","):
                self.raise_parse_error("a comma or ] is missing")
        if len(values) == 1:
            self.raise_parse_error(
                "Dolma's engine does not take this for a list of one value, nor for a step; write == or two values"
            )
        return values

    def filter(self) -> FilterStep:
        if not self.take_word("("):
            self.raise_parse_error("Dolma's engine takes a filter in parentheses: [?(...)]")
        condition = self.parse_or_condition()
        if not self.take_word(")") or not self.take_word("]"):
            self.raise_parse_error("a filter ends with )]; strings are in single quotes")
        return FilterStep(condition)

    def parse_or_condition(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            self.raise_parse_error(f"more than {_DEEPEST} levels of parentheses")
        condition = self.parse_and_condition()
        while self.take_word("||"):
            condition = AnyHolds(condition, self.parse_and_condition())
        self._depth -= 1
        return condition

    def parse_and_condition(self) -> Condition:
        condition = self.parse_not_condition()
        while self.take_word("&&"):
            condition = AllHold(condition, self.parse_not_condition())
        return condition

    def parse_not_condition(self) -> Condition:
        if self.take_word("!"):
            return NotHolds(self.parse_simple_condition())
        return self.parse_simple_condition()

    def parse_simple_condition(self) -> Condition:
        if self.take_word("("):
            condition = self.parse_or_condition()
            if not self.take_word(")"):
                self.raise_parse_error("a closing parenthesis is missing")
            return condition
        left = self.parse_operand()
        self.skip_space()
        sign = self.take_pattern(_SIGN)
        if sign is None:
            return PathComparison(left)
        right = self.parse_operand()
        if sign[0] == "~=":
            self._check_pattern(right)
        return PathComparison(left, sign[0], right)

    def parse_operand(self) -> JsonPath | WrittenValue:
        self.skip_space()
        if self.text.startswith(("$", "@"), self.at):
            return self.path()
        if found := self.take_pattern(_STRING):
            return WrittenValue(found[1])
        if found := self.take_pattern(_NUMBER):
            return WrittenValue(parse_number_literal(found[0]))
        if found := self.take_pattern(_WORD):
            return WrittenValue(_WORDS[found[0]])
        if found := self.take_pattern(_QUOTED):
            return WrittenValue([found[1]])
        if self.take_word("["):
            return WrittenValue(self.values())
        return self.raise_parse_error(
            "an operand is a path from @ or $, a number, 'text' in single quotes, true, false or null"
        )

    def _check_pattern(self, right: JsonPath | WrittenValue) -> None:
        if not isinstance(right, WrittenValue) or not isinstance(right.value, str):
            self.raise_parse_error("the pattern of ~= is written in the path, in single quotes")
        try:
            re2.compile(right.value, QUIET)
        except re2.error as error:
            self.raise_parse_error(
                f"the pattern of ~= is not read by RE2 ({error}); Dolma's engine would match nothing"
            )
