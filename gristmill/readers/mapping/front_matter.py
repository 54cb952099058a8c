"""The front matter and the title of Markdown.

Front matter is YAML between two lines `---` at the very beginning. Every scalar stays the string that is written there:
`no` is not a boolean, and `2024-05-06` is not a date. Aliases are refused, because with
them a few lines can unfold to gigabytes.
"""

import re
from typing import Any

from gristmill.readers.text import Unfit, fit_text

_LIMIT = 64 << 10
"""Most code points of front matter."""
_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#*)?[ \t]*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_LINES = 200
"""Lines in which a heading is looked for."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    r"""The front matter of a Markdown text, and the text behind it. Without front matter, the text is unchanged.

    Args:
        text: the whole file.

    Raises:
        Unfit: "invalid front matter": it is not valid YAML, has an alias or a key twice, or is longer than 64 Ki; or
            "empty text", if nothing follows it.

    >>> split_front_matter("---\ntitle: Tales\ndraft: no\n---\nOnce\n")
    ({'title': 'Tales', 'draft': 'no'}, 'Once\n')
    """
    if not text.startswith("---"):
        return {}, text
    match = _MATTER.match(text, 0, _LIMIT + 16)
    if match is None:
        if len(text) > _LIMIT and re.search(r"^---[ \t]*\r?$", text[4:], re.MULTILINE) and _begins_with_key(text):
            raise Unfit("invalid front matter", f"it is longer than {_LIMIT} characters")
        return {}, text
    matter = _load_yaml(match[1])
    return (matter, fit_text(text[match.end() :])) if isinstance(matter, dict) else ({}, text)


def _begins_with_key(text: str) -> bool:
    return re.match(r"---[ \t]*\r?\n[\w-]+:", text) is not None


def _load_yaml(yaml_text: str) -> Any:
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - few sources need it

    class Plain(yaml.BaseLoader):  # type: ignore[misc]
        """YAML whose scalars are strings."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has an alias")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - as in the base
            pairs = super().construct_mapping(node, deep)
            if len(pairs) < len(node.value):
                raise yaml.YAMLError("it has a key twice")
            return pairs

    try:
        loader = Plain(yaml_text)  # of BaseLoader, which makes strings, lists and dictionaries only
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise Unfit("invalid front matter", " ".join(str(error).split())[:200]) from error


def first_markdown_heading(text: str) -> str:
    r"""The first heading of a Markdown text; empty if its first 200 lines have no heading. Code blocks are passed over.

    Args:
        text: the text, without front matter.

    >>> first_markdown_heading("```\n# no\n```\nTales\n=====\n"), first_markdown_heading("# Tar #\n")
    ('Tales', 'Tar')
    """
    fence = before = ""
    for line in text.split("\n", _LINES)[:_LINES]:
        opened = _FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1].startswith(fence) else fence
        elif opened:
            fence = opened[1]
        elif match := _ATX.fullmatch(line.rstrip("\r")):
            return match[1]
        elif before.strip() and _UNDERLINE.fullmatch(line.rstrip("\r")):
            return before.strip()
        before = "" if fence or opened else line
    return ""
