"""Chat templates: render the turns of a conversation as one text, and report the spans of the assistant's words.

Templates run in our sandbox, with the settings, filters and globals of Hugging Face's chat templates: `trim_blocks`,
`lstrip_blocks`, loop controls, `tojson` without HTML escapes, `raise_exception`, `strftime_now`, and `{% generation %}`
around the assistant's words.

While a template runs, marks are around the assistant's words. They are lone surrogates. No data can hold one, because
no UTF-8 and no valid JSON has one, and a template that has one is refused.

Source: Hugging Face, "Writing a chat template"; marin-levanter 0.2, `levanter.tokenizers`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.runtime

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.row_format import NULL_KEYS
from gristmill.stages.chat_templates.budget import Unrendered
from gristmill.stages.chat_templates.guards import REMOVED_FILTERS
from gristmill.stages.chat_templates.sandbox import TemplateSandbox
from gristmill.stages.chat_templates.written import Writer, WrittenSandbox

Turn = Mapping[str, Any]
Span = tuple[int, int]
"""Begin and end of a passage of the assistant's words, in code points of the rendered text."""

UNDEFINED = "undefined template variable"
"""The reason counted for rows whose template asks for a variable that does not exist."""
_BEGIN, _END = "\udbfe", "\udbff"
_MARKS = re.compile(f"([{_BEGIN}{_END}])")
_SURROGATES = re.compile("[\ud800-\udfff]")
_HIDING = (
    jinja2.nodes.Macro,
    jinja2.nodes.CallBlock,
    jinja2.nodes.FilterBlock,
    jinja2.nodes.AssignBlock,
    jinja2.nodes.Block,
    jinja2.nodes.For,
)
"""Blocks whose text may be a value before it is output, so that a filter may change or measure it."""


class _LevanterTurn(dict[str, Any]):
    """A turn as Levanter shows it to a template."""

    def __getattr__(self, key: str) -> Any:
        if key in self:
            return self[key]
        if key in NULL_KEYS:
            return None
        raise AttributeError(key)


class _Generation(jinja2.ext.Extension):
    """The block `{% generation %}`."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.marks = (_BEGIN, _END)
        self.count = 0

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("said"), [], [], body).set_lineno(line)

    def said(self, caller: jinja2.runtime.Macro) -> str:
        self.count += 1
        begin, end = self.marks
        text: str = begin + caller() + end
        return text


def _filter_tojson(
    value: object,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - a template's own arguments
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - see above
) -> str:
    if isinstance(value, jinja2.StrictUndefined):
        str(value)  # raises, and names the variable
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class ChatTemplate:
    """One compiled template.

    Args:
        text: the template.
        bos: the tokenizer's BOS token, for the template; "" if it has none.
        eos: the tokenizer's EOS token, for the template; "" if it has none.
        strict: whether an undefined variable is an error, and turns are as Levanter shows them; otherwise an undefined
            variable renders as nothing, as in transformers.
        today: the date that `strftime_now` returns, such as `2026-11-30`.
        specials: a pattern for the special tokens that a row may not bring; None: it may bring all.

    Attributes:
        has_generation: whether the template marks the assistant's words with `{% generation %}`.

    Raises:
        RecipeError: the template is wrong Jinja, has a lone surrogate, or `today` is not a date.
    """

    def __init__(
        self,
        text: str,
        *,
        bos: str = "",
        eos: str = "",
        strict: bool = True,
        today: str | None = None,
        specials: re.Pattern[str] | None = None,
    ) -> None:
        self._strict, self._specials = strict, specials
        undefined = jinja2.StrictUndefined if strict else jinja2.Undefined
        self._writer = None if specials is None else Writer()
        self._environment = (
            TemplateSandbox(undefined, [_Generation])
            if self._writer is None
            else WrittenSandbox(undefined, [_Generation], self._writer)
        )
        self._environment.add_filters_and_functions(
            {"tojson": _filter_tojson},
            {"raise_exception": self._raise_template_error, "strftime_now": _fixed_date_function(today)},
        )
        try:
            self._compile_template(text)
        except RecipeError:
            raise
        except jinja2.TemplateAssertionError as error:
            removed = [name for name in REMOVED_FILTERS if f"'{name}'" in str(error)]
            why = "remove it: this filter is not offered, as it is slow or random" if removed else "correct it"
            raise RecipeError(f"the chat template cannot be used ({error}); {why}") from error
        except Exception as error:  # the parser of Jinja and the compiler of Python fail in many ways
            raise RecipeError(
                f"the chat template is not valid Jinja ({type(error).__name__}: {error}); correct it"
            ) from error
        known: dict[str, Any] = {"bos_token": bos, "eos_token": eos}
        if self._writer is not None:
            known = {name: self._writer.as_template_text(value) for name, value in known.items()}
        self._known = {**known, "add_generation_prompt": False}
        if not strict:
            self._known |= {"tools": None, "documents": None}

    def _raise_template_error(self, message: object) -> NoReturn:
        raise Unrendered("refused by the template", self._without_text_twins(str(message)[:1000]))

    def _without_text_twins(self, text: str) -> str:
        """A text without twins."""
        return text if self._writer is None else self._writer.without_twins(text)

    def _compile_template(self, text: str) -> None:
        environment = self._environment
        self.has_generation = _has_generation(environment, text)
        parsed = environment.parse(text)
        for value in (text, *(node.value for node in parsed.find_all(jinja2.nodes.Const))):
            if isinstance(value, str) and _SURROGATES.search(value):
                raise RecipeError("the chat template has a lone surrogate, which is no text; remove it")
        self._hidden = any(_hides_generation(node) for node in parsed.find_all(_HIDING))
        self._template = environment.from_string(text)
        self._generation: Any = next(each for each in environment.extensions.values() if isinstance(each, _Generation))

    def render(self, messages: Sequence[Turn], variables: Mapping[str, Any]) -> tuple[str, list[Span], str | None]:
        """Renders a conversation.

        Args:
            messages: the turns.
            variables: the row's own variables for the template.

        Returns:
            The text, the spans of the assistant's words in it, and the first special token that comes from the row and
            not from the template. The last is None if there is none, or if the row may bring special tokens.

        Raises:
            Unrendered: a variable is undefined, the template refuses the conversation, or rendering fails.
            DataError: this machine has too little memory.
        """
        turns: list[Turn] = [_LevanterTurn(turn) for turn in messages] if self._strict else list(messages)
        if self._writer is not None:
            turns = [self._writer.with_role(turn) for turn in turns]
        known = {**self._known, **variables, "messages": turns}
        marked = self._rendered_pieces(known, (_BEGIN, _END))
        count = self._generation.count
        text, spans = _remove_marks(marked, count, again=self._hidden)
        del marked  # it may be huge
        if self._hidden and "".join(self._rendered_pieces(known, ("", ""))) != text:
            raise Unrendered(
                "assistant's words are measured",
                "the template changes or measures the text of a generation block; put the block around what is output",
            )
        plain = self._without_text_twins(text)
        if not plain.isascii() and _SURROGATES.search(plain):
            raise Unrendered("not rendered", "the rendered text has a lone surrogate, which is no text")
        if self._writer is None or self._specials is None:
            return plain, spans, None
        brought = (
            match[0] for match in self._specials.finditer(plain) if not self._writer.has_written(text, match.span())
        )
        return plain, spans, next(brought, None)

    def _rendered_pieces(self, known: Mapping[str, Any], marks: tuple[str, str]) -> list[str]:
        """The pieces of the text. They are not joined, because a text with one mark takes twice the memory."""
        environment, generation = self._environment, self._generation
        environment.budget.reset_for_rendering()
        generation.marks, generation.count = marks, 0
        try:
            context = self._template.new_context(dict(known))
            return environment.collect_limited_pieces(self._template.root_render_func(context))
        except Unrendered:
            raise
        except jinja2.UndefinedError as error:
            raise Unrendered(UNDEFINED, self._without_text_twins(str(error))) from error
        except MemoryError as error:
            raise DataError("out of memory while a chat template was rendered; give the worker more memory") from error
        except Exception as error:  # a template may make any function of Python fail
            raise Unrendered(
                "not rendered", f"{type(error).__name__}: {self._without_text_twins(str(error)[:1000])}"
            ) from error


def _hides_generation(node: jinja2.nodes.Node) -> bool:
    """Whether the text of a generation block inside a node is a value before it is output."""
    if _is_generation(node) or (isinstance(node, jinja2.nodes.For) and not node.recursive):
        return False
    return any(map(_is_generation, node.find_all(jinja2.nodes.CallBlock)))


def _is_generation(node: jinja2.nodes.Node) -> bool:
    called = node.call.node if isinstance(node, jinja2.nodes.CallBlock) else None
    return isinstance(called, jinja2.nodes.ExtensionAttribute) and called.name == "said"


def _remove_marks(marked: Sequence[str], count: int, *, again: bool) -> tuple[str, list[Span]]:
    """The text without marks, and the spans between them. Of blocks inside each other the innermost counts.

    Args:
        marked: the pieces of the text with marks.
        count: the number of blocks that the template ran.
        again: whether the template may output the text of a block more than once.
    """
    pieces: list[str] = []
    spans: list[Span] = []
    length, depth, start, seen = 0, 0, -1, 0
    for piece in _split_at_marks(marked):
        if piece == _BEGIN:
            start = length
            depth += 1
            seen += 1
        elif piece == _END:
            if start >= 0:
                spans.append((start, length))
            start = -1
            depth -= 1
            if depth < 0:
                break
        else:
            pieces.append(piece)
            length += len(piece)
    if depth or seen < count or (seen > count and not again):
        raise Unrendered(
            "assistant's words are lost",
            "the template cuts or drops the text of a generation block; put the block around what is output",
        )
    return "".join(pieces), spans


def _split_at_marks(marked: Sequence[str]) -> Iterator[str]:
    for piece in marked:
        if _BEGIN in piece or _END in piece:
            yield from _MARKS.split(piece)
        else:
            yield piece


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


def _fixed_date_function(today: str | None) -> Any:
    """The function `strftime_now`. It never reads a clock or a time zone."""
    if today is None:

        def missing(_: str) -> NoReturn:
            raise Unrendered(
                "asks for the date", "strftime_now: give the format today=, otherwise ids would change daily"
            )

        return missing
    try:
        day = date.fromisoformat(today)
    except ValueError as error:
        raise RecipeError(f"format chat: today is {today!r}; give a date such as 2026-11-30") from error

    def clock(form: str) -> str:
        if re.search(r"%[^a-zA-Z%]*[EO]?s|%[^a-zA-Z%]*\d{3}", form.replace("%%", "")):
            raise Unrendered("asks for the date", f"strftime_now: {form[:100]!r} depends on the machine")
        return day.strftime(form)

    return clock
