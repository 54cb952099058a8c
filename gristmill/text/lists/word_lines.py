"""The words of word lists: a file for each language, a word or a phrase a line."""

from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from gristmill.errors import RecipeError
from gristmill.text.lists.list_files import list_files

_ENDINGS = {".txt", ".gz", ".csv", ".tsv", ".list"}
_LONGEST = 500


class ListedWord(NamedTuple):
    """A word of a list.

    Attributes:
        text: the word or the phrase, as the list has it.
        language: the name of its file without ending, such as `en`.
        where: its file and line, for errors.
    """

    text: str
    language: str
    where: str


def listed_words(path: Path, languages: Collection[str] = ()) -> Iterator[ListedWord]:
    """The words of a list, such as LDNOOBW's archive: `en`, `de` and so on, each with a word or a phrase a line.

    Args:
        path: path of the list. Blank lines are left out.
        languages: the languages that are read; empty means all.

    Raises:
        RecipeError: the list cannot be read, has a line of more than 500 characters, or lacks a language.
    """
    found: set[str] = set()
    for file in list_files(path):
        name = PurePosixPath(file.name)
        while name.suffix in _ENDINGS:
            name = name.with_suffix("")
        if languages and name.name not in languages:
            continue
        found.add(name.name)
        for number, line in enumerate(file.lines(), 1):
            if len(line) > _LONGEST:
                raise RecipeError(f"{file.shown}:{number}: the line has {len(line)} characters; is this a word list?")
            if line:
                yield ListedWord(line, name.name, f"{file.shown}:{number}")
    missing = sorted(set(languages) - found)
    if missing:
        raise RecipeError(f"list {path} has no file for {', '.join(missing)}; name its files as the languages")
