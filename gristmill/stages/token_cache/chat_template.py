"""Chat templates: render the turns of a conversation as one text, and report the spans of the assistant's words.

Templates run in Jinja's sandbox, with the settings, filters and globals of Hugging Face's chat templates:
`trim_blocks`, `lstrip_blocks`, loop controls, `tojson` without HTML escapes, `raise_exception`, `strftime_now`, and
`{% generation %}` around the assistant's words.

Source: Hugging Face, "Writing a chat template"; marin-levanter 0.2, `levanter.tokenizers`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.runtime
import jinja2.sandbox

from gristmill.errors import RecipeError

Turn = Mapping[str, Any]
Span = tuple[int, int]
"""Begin and end of a passage of the assistant's words, in code points of the rendered text."""

BEGIN, END = "\x7fgristmill:said\x7f", "\x7fgristmill:end\x7f"
"""Markers around the assistant's words while a template runs; they are removed afterwards. They are not white space,
so that trimming in a template works as without them. JSON does not escape them. They are ASCII, because one wider
character would make Python store a huge text in four times the memory."""
_MARKS = re.compile(f"({BEGIN}|{END})")


class Unrendered(Exception):  # noqa: N818 - caught by chat_rows alone, which counts it by its reason
    """A conversation that a template cannot render.

    Args:
        reason: short and stable, because the ledger counts rows by it.
        detail: what exactly is wrong.
    """

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


class _Generation(jinja2.ext.Extension):
    """The block `{% generation %}`."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    @staticmethod
    def _marked(caller: jinja2.runtime.Macro) -> str:
        return f"{BEGIN}{caller()}{END}"


def _to_json(
    value: object,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - a template's own arguments
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - see above
) -> str:
    if isinstance(value, jinja2.StrictUndefined):
        str(value)  # raises, and names the variable
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise Unrendered("refused by the template", message)


class ChatTemplate:
    """One compiled template.

    Args:
        text: the template.
        bos: the tokenizer's BOS token, for the template; "" if it has none.
        eos: the tokenizer's EOS token, for the template; "" if it has none.
        strict: whether an undefined variable is an error; otherwise it renders as nothing.
        today: the date that `strftime_now` returns, such as `2026-11-30`.

    Attributes:
        has_generation: whether the template marks the assistant's words with `{% generation %}`.

    Raises:
        RecipeError: the template is not valid Jinja, or `today` is not a date.
    """

    def __init__(
        self, text: str, *, bos: str = "", eos: str = "", strict: bool = True, today: str | None = None
    ) -> None:
        self._environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined if strict else jinja2.Undefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[jinja2.ext.loopcontrols, _Generation],
        )
        self._environment.filters["tojson"] = _to_json
        self._environment.globals.update({"raise_exception": _refuse, "strftime_now": _clock(today)})
        try:
            self.has_generation = _has_generation(self._environment, text)
            self._template = self._environment.from_string(text)
        except jinja2.TemplateError as error:
            raise RecipeError(f"the chat template is not valid Jinja ({error}); correct it") from error
        self._known = {"bos_token": bos, "eos_token": eos, "add_generation_prompt": False}
        if not strict:
            self._known |= {"tools": None, "documents": None}

    def render(self, messages: Sequence[Turn], variables: Mapping[str, Any]) -> tuple[str, list[Span]]:
        """Renders a conversation.

        Args:
            messages: the turns.
            variables: the row's own variables for the template.

        Returns:
            The text, and the spans of the assistant's words in it.

        Raises:
            Unrendered: a variable is undefined, the template refuses the conversation, or rendering fails.
        """
        try:
            return _without_marks(self._template.render({**self._known, **variables, "messages": messages}))
        except jinja2.UndefinedError as error:
            raise Unrendered("undefined template variable", str(error)) from error
        except jinja2.TemplateError as error:
            raise Unrendered("not rendered", f"{type(error).__name__}: {error}") from error
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
            raise Unrendered("not rendered", f"{type(error).__name__}: {error}") from error


def _without_marks(rendered: str) -> tuple[str, list[Span]]:
    if BEGIN not in rendered:
        return rendered.replace(END, ""), []
    marked = _MARKS.split(rendered)
    del rendered  # it may be huge
    pieces: list[str] = []
    spans: list[Span] = []
    length, start = 0, -1
    for piece in marked:
        if piece == BEGIN:
            start = length
        elif piece == END:
            if start >= 0:
                spans.append((start, length))
            start = -1
        else:
            pieces.append(piece)
            length += len(piece)
    return "".join(pieces), spans


def _has_generation(environment: jinja2.Environment, text: str) -> bool:
    """Whether a template has the block. Jinja's lexer finds it with every form of white-space control."""
    previous = ""
    for _, kind, value in environment.lex(text):
        if kind == "whitespace":
            continue
        if previous == "block_begin" and kind == "name" and value == "generation":
            return True
        previous = kind
    return False


def _clock(today: str | None) -> Any:
    if today is None:

        def missing(_: str) -> NoReturn:
            raise Unrendered(
                "asks for the date", "strftime_now: give the format today=, otherwise ids would change daily"
            )

        return missing
    try:
        return date.fromisoformat(today).strftime
    except ValueError as error:
        raise RecipeError(f"format chat: today is {today!r}; give a date such as 2026-11-30") from error
