"""From wikitext to text that people read, by mwparserfromhell.

Left out: references, templates (but those that only dress a text), files, categories, links to other languages,
comments, and headings of sections that hold nothing else. Links and formulas keep their words, lists a dash.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from gristmill.extras import extra
from gristmill.readers.text import Unfit
from gristmill.readers.wiki.interlanguage import ALWAYS_LEFT_OUT, is_interlanguage

with extra():
    import mwparserfromhell
    from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Node, Tag, Template, Text, Wikilink
    from mwparserfromhell.parser import ParserError
    from mwparserfromhell.wikicode import Wikicode

_DROPPED_TAGS = re.compile(
    "ref|references|gallery|timeline|imagemap|templatedata|templatestyles|score|graph|mapframe|maplink|hiero|indicator"
    "|inputbox|categorytree|section|style|script|noinclude"
)
_BREAKS = frozenset({"br", "hr", "p", "div", "tr", "blockquote", "poem", "pre", "li", "dd", "dt"})
_SINGLE = frozenset({"br", "hr", "wbr"})
_CELLS = frozenset({"td", "th"})
_DRESSING = {
    "nowrap": 0, "nobr": 0, "small": 0, "big": 0, "em": 0, "strong": 0, "sup": 0, "sub": 0, "lang": 1, "transl": -1,
    "transliteration": -1, "abbr": 0, "code": 0, "mono": 0, "var": 0,
}  # fmt: skip
"""Templates that only dress one of their parameters, with its number."""
_PAGE_NAMES = frozenset({"PAGENAME", "FULLPAGENAME", "BASEPAGENAME", "SUBJECTPAGENAME"})
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(
    r"<ref(?:\s(?:[^<>/\"]|\"[^\"<>]*\"|/(?!>))*)?"  # with attributes; a slash in them does not end the tag
    r"(?:/>|>(?:(?!<ref[\s>]|</?nowiki).)*?</ref\s*>)",
    re.DOTALL | re.IGNORECASE,
)
_VERBATIM = re.compile(r"<(?:nowiki|pre|source|syntaxhighlight|code)\b", re.IGNORECASE)
_SWITCH = re.compile(r"__(?!_)(\w{3,40}?)__")
_EMPTY_BRACKETS = re.compile(r" ?\((?:[\s,;:/\u2013-]|&nbsp;)*\)| ?\[(?:[\s,;])*\]")
_SPACES_BEFORE_END = re.compile(r"(?<![ \t])[ \t]+\n")
_MANY_LINES = re.compile(r"\n{3,}")
_HEADING, _LIST = "\x01", "\x02"
_ITEM = re.compile(rf"{_LIST}+[ \t]*")
_SECTION = re.compile(rf"{_HEADING}([1-6])([^{_HEADING}\n]*)\n?([^{_HEADING}]*)")
_DEPTH = 60
_TAG = re.compile(r"<(/?)([A-Za-z][^\s<>/\"']*)((?:[^<>\"']|\"[^\"<>]*\"|'[^'<>]*')*>)?")
_PAIRS = ((r"\[\[", r"\]\]"), (r"\[(?:[A-Za-z]+:|//)", r"\]"), (r"\{\|", r"\|\}"), (r"\{\{", r"\}\}"), ("<!--", "-->"))
_PAIRS_FOUND = tuple(re.compile(f"({opener})|{closer}") for opener, closer in _PAIRS)
_EQUALS = re.compile("^=.*", re.MULTILINE)
OPEN_LIMIT = 1000
"""Most links, tables, templates, comments or tags that are open at one place, and most `=` of a heading.

The parser takes time by the square of their number, and a stack that grows with it."""


def wikitext_to_plain(
    wikitext: str, title: str = "", left_out: Collection[str] = ALWAYS_LEFT_OUT, *, tables: bool = False
) -> str:
    """The text of a page.

    Args:
        wikitext: the source of the page.
        title: title of the page, for templates such as `{{PAGENAME}}`.
        left_out: namespaces, in lower case, whose links are not text.
        tables: whether tables become lines, with ` | ` between the cells. By default they are left out.

    Raises:
        Unfit: "malformed wikitext": the parser fails, or elements are nested too deeply.

    >>> wikitext_to_plain("'''Rye''' is a [[cereal|grass]].<ref>x</ref> {{stub}}[[Category:Rye]]")
    'Rye is a grass.'
    """
    closed = wikitext.rfind("-->")  # behind it no comment is closed, so none is looked for
    source = _COMMENT.sub("", wikitext[: closed + 3]) + wikitext[closed + 3 :] if closed >= 0 else wikitext
    if not _VERBATIM.search(source):
        source = _REFERENCE.sub("", source)  # they are up to half of a page, and parsing takes most of the time
    _check_open(source)
    try:
        code = mwparserfromhell.parse(source.replace(_HEADING, "").replace(_LIST, ""))
        text = _Writer(title, left_out, tables=tables).code(code, 0)
    except (ParserError, RecursionError) as error:
        raise Unfit("malformed wikitext", str(error)[:100]) from error
    return _tidy_blank_lines(text)


class _Writer:
    """Writes parsed wikitext as text."""

    def __init__(self, title: str, left_out: Collection[str], *, tables: bool) -> None:
        self._title, self._left_out, self._tables = title, left_out, tables
        self._writers: dict[type[Node], Callable[[Any, int], str]] = {
            Wikilink: self._write_link,
            Tag: self._write_tag,
            Template: self._write_template,
            Heading: self._write_heading,
            ExternalLink: self._write_external_link,
        }

    def code(self, code: Wikicode, depth: int) -> str:
        if depth > _DEPTH:
            raise Unfit("malformed wikitext", f"more than {_DEPTH} elements inside each other")
        return "".join([self._write_node(node, depth + 1) for node in code.nodes])

    def _write_node(self, node: Node, depth: int) -> str:
        if isinstance(node, Text):
            return node.value
        writer = self._writers.get(type(node))
        return (
            writer(node, depth) if writer is not None else _decode_entity(node) if isinstance(node, HTMLEntity) else ""
        )

    def _write_heading(self, heading: Heading, depth: int) -> str:
        title = self.code(heading.title, depth).replace("\n", " ").strip()
        return f"{_HEADING}{heading.level}{title}\n"

    def _write_external_link(self, link: ExternalLink, depth: int) -> str:
        if not link.brackets:
            return str(link.url)
        return self.code(link.title, depth) if link.title is not None else ""

    def _write_link(self, link: Wikilink, depth: int) -> str:
        target = str(link.title).strip()
        if target.startswith(":"):
            target = target[1:]
        elif ":" in target:
            prefix, _, rest = target.partition(":")
            space = prefix.strip().replace("_", " ").lower()
            if space in self._left_out or (link.text is None and is_interlanguage(prefix, rest)):
                return ""
        return self.code(link.text, depth) if link.text is not None else target.replace("_", " ")

    def _write_tag(self, tag: Tag, depth: int) -> str:
        name = str(tag.tag).strip().lower()
        if _DROPPED_TAGS.fullmatch(name):
            return ""
        if name == "table":
            return self._write_table(tag, depth) if self._tables else ""
        if name == "li" and tag.wiki_markup in {"*", "#"}:
            return _LIST
        inner = "" if tag.contents is None or tag.self_closing else self.code(tag.contents, depth)
        if name in {"br", "hr"}:
            return "\n"
        return f"\n{inner}\n" if name in _BREAKS and not tag.wiki_markup else inner

    def _write_table(self, table: Tag, depth: int) -> str:
        rows: list[list[str]] = [[]]  # the first row needs no mark of its own
        for tag in table.contents.ifilter_tags(recursive=False):
            if str(tag.tag) == "tr":
                cells = tag.contents.ifilter_tags(recursive=False) if tag.contents is not None else ()
                rows.append([self._write_table_cell(cell, depth) for cell in cells if str(cell.tag) in _CELLS])
            elif str(tag.tag) in _CELLS:
                rows[-1].append(self._write_table_cell(tag, depth))
        return "\n" + "\n".join(" | ".join(row) for row in rows if any(row)) + "\n"

    def _write_table_cell(self, cell: Tag, depth: int) -> str:
        return " ".join(self.code(cell.contents, depth).split()) if cell.contents is not None else ""

    def _write_template(self, template: Template, depth: int) -> str:
        name = str(template.name).strip()
        if name in _PAGE_NAMES:
            return self._title
        number = _DRESSING.get(name.lower())
        parameters = [each.value for each in template.params if not each.showkey]
        if number is None or not -len(parameters) <= number < len(parameters):
            return ""
        return self.code(parameters[number], depth)


def _check_open(source: str) -> None:
    most = max(_deepest_nesting(source, pair) for pair in _PAIRS_FOUND)
    if source.count("<") > OPEN_LIMIT:
        most = max(most, _count_unclosed_tags(source))
    if most > OPEN_LIMIT:
        raise Unfit("malformed wikitext", f"more than {OPEN_LIMIT} links, tables, templates or tags are open")
    if source.count("=") > OPEN_LIMIT and any(line[0].count("=") > OPEN_LIMIT for line in _EQUALS.finditer(source)):
        raise Unfit("malformed wikitext", f"more than {OPEN_LIMIT} equals signs in a heading")


def _deepest_nesting(source: str, pair: re.Pattern[str]) -> int:
    """How many are open at once, where most are. One that nothing closes stays open to the end."""
    now = most = 0
    for match in pair.finditer(source):
        now = now + 1 if match[1] else max(now - 1, 0)
        most = max(most, now)
    return most


def _count_unclosed_tags(source: str) -> int:
    """How many tags are not closed by one of their name behind them, or are not complete themselves."""
    cut, open_by_name = 0, Counter[str]()
    for match in _TAG.finditer(source):
        closes, name, rest = match[1], match[2].lower(), match[3]
        if rest is None:
            cut += 1
        elif closes:
            open_by_name[name] = max(open_by_name[name] - 1, 0)
        elif not rest.endswith("/>") and name not in _SINGLE:
            open_by_name[name] += 1
    return cut + open_by_name.total()


def _decode_entity(node: HTMLEntity) -> str:
    try:
        found = str(node.normalize())
    except (ValueError, OverflowError):
        return str(node)
    return str(node) if found == "\0" or "\ud800" <= found <= "\udfff" else found.replace("\xa0", " ")


def _tidy_blank_lines(text: str) -> str:
    text = _SWITCH.sub(lambda match: "" if match[1].isupper() else match[0], text)
    text = _EMPTY_BRACKETS.sub("", text)
    text = _ITEM.sub("- ", text)
    if _HEADING in text:
        text = _without_empty_sections(text)
    return _MANY_LINES.sub("\n\n", _SPACES_BEFORE_END.sub("\n", text)).strip()


def _without_empty_sections(text: str) -> str:
    """The text with its headings, but for those of sections that hold nothing, not even a section with words."""
    first = text.partition(_HEADING)[0]
    kept: list[str] = []
    level_with_words = 7  # the level of the section below that holds words
    for match in reversed(list(_SECTION.finditer(text))):
        level, title, body = int(match[1]), match[2].strip(), match[3].strip()
        if body or level < level_with_words <= 6:
            kept.append(f"\n\n{title}\n\n{body}" if body else f"\n\n{title}")
            level_with_words = level
        elif level <= level_with_words:
            level_with_words = 7
    return first + "".join(reversed(kept))
