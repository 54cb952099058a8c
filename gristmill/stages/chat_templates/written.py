"""Tells the text that a template writes from the text that a row brings, character by character.

A template's own strings are `TemplateText`: they compare like other strings, but they print with other characters,
their twins. After rendering, each character of the text that is a twin was written by the template. Twins are lone
surrogates, which no data can hold.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self, SupportsIndex

import jinja2
import jinja2.nodes
import jinja2.runtime
import jinja2.visitor

from gristmill.errors import RecipeError
from gristmill.stages.chat_templates.counted import own_filter_node
from gristmill.stages.chat_templates.sandbox import TemplateSandbox

ROLES = frozenset(("assistant", "developer", "function", "ipython", "model", "system", "tool", "user"))
"""Names of roles. Templates make special tokens of them, such as `<|user|>`, so they count as the template's own."""
_FIRST, _LAST = 0xDC00, 0xDFFF


class TemplateText(str):
    """A string that a template wrote, or that has parts which it wrote.

    Attributes:
        shown: the same string with twins; it is what is printed. It has the same length.
    """

    __slots__ = ("shown",)
    shown: str

    def __new__(cls, plain: str, shown: str) -> Self:
        """From the string and its twins."""
        made = super().__new__(cls, plain)
        made.shown = shown
        return made

    def __str__(self) -> str:
        """What is printed."""
        return self.shown

    def __add__(self, other: str) -> str:
        """Joins two strings."""
        return TemplateText(str.__add__(self, other), self.shown + printed_form(other))

    def __radd__(self, other: str) -> str:
        """Joins two strings."""
        return TemplateText(other + as_plain_string(self), printed_form(other) + self.shown)

    def __getitem__(self, places: SupportsIndex | slice) -> str:
        """A part."""
        return TemplateText(str.__getitem__(self, places), self.shown[places])

    def lstrip(self, chars: str | None = None, /) -> str:
        """The text without characters at the beginning."""
        return self[len(self) - len(str.lstrip(self, chars)) :]

    def rstrip(self, chars: str | None = None, /) -> str:
        """The text without characters at the end."""
        return self[: len(str.rstrip(self, chars))]

    def strip(self, chars: str | None = None, /) -> str:
        """The text without characters at both ends."""
        return TemplateText.lstrip(TemplateText.rstrip(self, chars), chars)  # type: ignore[arg-type] # a part is TemplateText too


def printed_form(text: str) -> str:
    """The printed form of a string."""
    return text.shown if isinstance(text, TemplateText) else text


def as_plain_string(text: str) -> str:
    """The string itself, of Python's own type."""
    return str.__str__(text)


class Writer:
    """Gives characters their twins."""

    def __init__(self) -> None:
        self._twins: dict[int, str] = {}
        self._plain: dict[int, str] = {}

    def with_twins(self, text: str) -> str:
        """A string with twins.

        Raises:
            RecipeError: the template has too many different characters.
        """
        for char in set(text):
            if ord(char) not in self._twins:
                twin = _FIRST + len(self._twins)
                if twin > _LAST:
                    raise RecipeError(
                        f"the chat template has more than {_LAST - _FIRST + 1} different characters; with"
                        " specials='refuse' it may not; give the tokenizer specials='tokens'"
                    )
                self._twins[ord(char)] = chr(twin)
                self._plain[twin] = char
        return text.translate(self._twins)

    def as_template_text(self, text: str) -> TemplateText:
        """A string that the template writes."""
        return TemplateText(text, self.with_twins(text))

    def without_twins(self, shown: str) -> str:
        """The string without twins."""
        return shown.translate(self._plain)

    def has_written(self, shown: str, span: tuple[int, int]) -> bool:
        """Whether the template wrote every character of a span."""
        begin, end = span
        return all(ord(char) in self._plain for char in shown[begin:end])

    def with_role(self, turn: Mapping[str, Any]) -> Mapping[str, Any]:
        """A turn of the same type. Its role counts as written by the template if it is one of ROLES."""
        role = turn.get("role")
        if not isinstance(role, str) or role not in ROLES:
            return turn
        return type(turn)({**turn, "role": self.as_template_text(role)})  # type: ignore[call-arg] # turns are dicts


class _Strings(jinja2.visitor.NodeTransformer):
    """Puts twins into a template's strings."""

    def __init__(self, writer: Writer, strings: list[TemplateText]) -> None:
        self._writer, self._strings = writer, strings

    def visit_TemplateData(self, node: jinja2.nodes.TemplateData) -> jinja2.nodes.Node:  # noqa: N802 - Jinja's name
        """Text outside of blocks is output, so it gets its twins at once."""
        node.data = self._writer.with_twins(node.data)
        return node

    def visit_Const(self, node: jinja2.nodes.Const) -> jinja2.nodes.Node:  # noqa: N802 - see above
        """A string in an expression."""
        if not isinstance(node.value, str):
            return node
        self._strings.append(self._writer.as_template_text(node.value))
        return own_filter_node("string", [jinja2.nodes.Const(len(self._strings) - 1)], node)


class WrittenSandbox(TemplateSandbox):
    """The sandbox, with twins in all that a template writes."""

    def __init__(self, undefined: type[jinja2.Undefined], extensions: list[Any], writer: Writer) -> None:
        self._writer = writer
        self._strings: list[TemplateText] = []
        super().__init__(undefined, extensions)
        self.filters["our string"] = self._strings.__getitem__

    def rewrite(self, source: jinja2.nodes.Template) -> None:
        """See TemplateSandbox."""
        super().rewrite(source)
        _Strings(self._writer, self._strings).visit(source)

    def concat(self, pieces: Iterable[str]) -> str:
        """See TemplateSandbox."""
        shown = super().concat(pieces)
        plain = self._writer.without_twins(shown)
        return shown if plain == shown else TemplateText(plain, shown)

    def collect_limited_pieces(self, pieces: Iterable[str]) -> list[str]:
        """See TemplateSandbox."""
        return super().collect_limited_pieces(map(printed_form, pieces))
