"""Sniffers of archives: what most of their files are."""

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gristmill.peeking.head import MEMBERS, Head
from gristmill.peeking.packing import guess_packing
from gristmill.peeking.sniffers import Facts, sniff_headed, sniff_html, sniff_irc, sniff_markdown, sniff_plain_text

CODE = frozenset(
    re.findall(
        r"\w+",
        "py rs c h cc cpp hpp java js ts jsx tsx go rb php cs swift kt scala sh pl r jl lua hs ml ex erl clj sql toml"
        " cmake gradle vue dart m zig nim",
    )
)
"""Endings of the names of programs, and of files beside them."""
_DOCUMENTS = {"md", "rst", "txt", "html", "htm", "xhtml", "tex", "adoc"}
_MOST = 0.6


@lru_cache(maxsize=8)
def _count_entry_kinds(head: Head) -> Counter[str]:
    """How many of an archive's first files are of each kind, by content."""
    kinds: Counter[str] = Counter()
    for member in head.members:
        if member.data is None:
            continue
        inner = Head(Path(member.name), guess_packing(member.data), member.data, len(member.data) < 64 << 10)
        found = next((kind for kind, sniff in _INNER.items() if sniff(inner)), "other")
        kinds["packed" if inner.packing else found] += 1
    return kinds


_INNER = {
    "irc": sniff_irc,
    "headed": sniff_headed,
    "html": sniff_html,
    "markdown": sniff_markdown,
    "text": sniff_plain_text,
}


def count_endings(head: Head) -> Counter[str]:
    """The number of an archive's first files by ending, without the dot."""
    return Counter(PurePosixPath(member.name).suffix[1:].lower() for member in head.members)


def describe_members(head: Head) -> tuple[str, ...]:
    """The lines that tell people about an archive: the number of its files, their endings, and its damage."""
    count = f"{len(head.members)}{' or more' if len(head.members) >= MEMBERS else ''} files"
    named = ", ".join(
        f"{number} .{end}" if end else f"{number} without an ending"
        for end, number in count_endings(head).most_common(4)
    )
    return (f"{count}: {named}", *([f"damaged: {head.damage}"] if head.damage else []))


def _is_mostly_one_kind(head: Head, *kinds: str) -> bool:
    counted = _count_entry_kinds(head)
    return bool(head.archive) and sum(counted[kind] for kind in kinds) >= _MOST * max(sum(counted.values()), 1)


def _common_ending_pattern(head: Head) -> str:
    """A pattern for the names of the files that have the most frequent ending."""
    [(end, _)] = count_endings(head).most_common(1)
    return rf"\.{re.escape(end)}$" if end else "."


def sniff_epub(head: Head) -> Facts | None:
    """A book in EPUB's form: an .epub file, or its folder in another archive."""
    names = [member.name for member in head.members]
    book = any(name.endswith(".opf") for name in names) and any(name.endswith(".xhtml") for name in names)
    return Facts(fields=describe_members(head)) if head.archive and book else None


def sniff_code(head: Head) -> Facts | None:
    """A repository of programs."""
    counted = count_endings(head)
    programs = sum(counted[end] for end in CODE)
    fits = head.archive and programs >= 0.5 * max(sum(counted.values()), 1) and programs
    tops = {member.name.removeprefix("./").partition("/")[0] for member in head.members}
    one = len(tops) == 1 and all("/" in member.name.removeprefix("./") for member in head.members)
    return Facts({"strip": 1} if one else {}, describe_members(head)) if fits else None


def sniff_irc_archive(head: Head) -> Facts | None:
    """The facts of an archive with logs of a channel; None for another archive."""
    return (
        Facts(fields=describe_members(head))
        if head.archive and _is_mostly_one_kind(head, "irc") and _count_entry_kinds(head)
        else None
    )


def sniff_headed_archive(head: Head) -> Facts | None:
    """The facts of an archive with texts that have header fields; None for another archive."""
    return (
        Facts({"select": _common_ending_pattern(head)}, describe_members(head))
        if _entry_kinds_of_head(head) and _is_mostly_one_kind(head, "headed")
        else None
    )


def sniff_html_archive(head: Head) -> Facts | None:
    """The facts of an archive with web pages as files; None for another archive."""
    return (
        Facts(fields=describe_members(head))
        if _entry_kinds_of_head(head) and _is_mostly_one_kind(head, "html")
        else None
    )


def sniff_text_archive(head: Head) -> Facts | None:
    """The facts of an archive with texts and Markdown; None for another archive."""
    fits = _entry_kinds_of_head(head) and _is_mostly_one_kind(head, "text", "markdown", "headed")
    texts = sorted(count_endings(head).keys() & _DOCUMENTS)
    others = count_endings(head).keys() - _DOCUMENTS
    members = {"members": rf"\.({'|'.join(texts)})$"} if others else {}
    front = any(
        (member.data or b"").startswith(b"---\n") and member.name.lower().endswith((".md", ".markdown"))
        for member in head.members
    )
    more = {"front_matter": True} if front else {}
    titles = {"title": True} if front or _is_mostly_one_kind(head, "markdown") else {}
    return Facts({**members, **more, **titles}, describe_members(head)) if fits and texts else None


def sniff_other_archive(head: Head) -> Facts | None:
    """An archive of something else."""
    if not head.archive:
        return None
    return Facts(
        fields=describe_members(head), notes=("no reader knows what most of its files are: unpack it and look again",)
    )


def _entry_kinds_of_head(head: Head) -> Counter[str]:
    return _count_entry_kinds(head) if head.archive else Counter()
