"""Files that a source's `select` does not match, counted by the endings of their names."""

import posixpath

NOT_SELECTED = "that select does not match"
"""Words in the remark on such files. If nothing can be made, the planner finds the remark by them, and says it."""

MOST = 20
"""The largest number of endings that are counted apart. Files with a further ending count under the empty one."""

NAMED = 3
"""The largest number of endings that a remark names."""


def count_ending(endings: dict[str, int], name: str) -> None:
    """Counts a file under the ending of its name.

    Args:
        endings: the counts so far, which change.
        name: name of the file.

    >>> endings = {".rst": 1}
    >>> count_ending(endings, "peps/pep-0008.rst")
    >>> endings
    {'.rst': 2}
    """
    ending = posixpath.splitext(name)[1]
    known = ending in endings or len(endings) < MOST
    endings[ending if known else ""] = endings.get(ending if known else "", 0) + 1


def unselected_in_words(endings: dict[str, int]) -> str:
    """The number of files, and their most frequent endings, in words.

    >>> unselected_in_words({".rst": 736, "": 1})
    '737 files that select does not match (.rst: 736, others: 1)'
    """
    ordered = sorted(endings.items(), key=lambda each: (-each[1], each[0]))
    listed = [f"{ending or 'others'}: {count:,}" for ending, count in ordered[:NAMED]]
    shown = ", ".join([*listed, *(["..."] if len(ordered) > NAMED else [])])
    count = sum(endings.values())
    return f"{count:,} file{'' if count == 1 else 's'} {NOT_SELECTED} ({shown})"
