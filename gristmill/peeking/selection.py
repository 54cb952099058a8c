"""Patterns for the names of the files that a draft reads."""

import re


def name_ending(name: str) -> str:
    """The ending of a file's name, with that of its packing.

    >>> name_ending("part-1.en.jsonl.gz"), name_ending("README"), name_ending("1342-0.txt")
    ('.jsonl.gz', '', '.txt')
    """
    found = re.search(r"(\.[A-Za-z][A-Za-z0-9]{0,9})?(\.(gz|bz2|xz|zst|zstd))?$", name)
    return found[0] if found and found.start() else ""


def name_pattern(names: list[str], shared: set[str] | None, bad: set[str]) -> str:
    """A pattern for the names of the raw objects.

    Args:
        names: names of the files.
        shared: endings that files of other formats have too; None: all files have this format.
        bad: names of all other files with these endings, if the pattern leaves them out by name.
    """
    if shared is None or (not bad and any(name_ending(name) in {*shared, ""} for name in names)):
        each = [re.escape(name) for name in sorted(set(names))]
        return rf"(^|/){each[0]}$" if len(each) == 1 else rf"(^|/)({'|'.join(each)})$"
    ends = sorted({name_ending(name) for name in names})
    end = rf"({'|'.join(map(re.escape, ends))})$" if len(ends) > 1 else rf"{re.escape(ends[0])}$"
    return rf"(^|/)(?!({'|'.join(map(re.escape, sorted(bad)))})$)[^/]+{end}" if bad else end
