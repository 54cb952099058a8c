"""Inputs: the files that a run reads, and those that its patterns will match. No run replaces or removes one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from gristmill.dolma.tagging.paths import (
    BUCKET,
    WILDCARD,
    fixed_folders,
    glob_paths,
    pattern_regex,
    resolve_folder_links,
)
from gristmill.errors import RecipeError


class _ReadFile(Protocol):
    @property
    def url(self) -> str: ...


class Inputs:
    """What a run reads.

    Args:
        files: all that it reads.
        patterns: patterns of documents. What comes to match one is read by the next run.
    """

    def __init__(self, files: Iterable[_ReadFile], patterns: Iterable[str]) -> None:
        self._real = lru_cache(resolve_folder_links)
        self._files = {
            place: file.url
            for file in files
            for place in (self._absolute_place(file.url), resolve_folder_links(file.url))
        }
        self._rules: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for pattern in dict.fromkeys(patterns):
            for folder, rest in _search_folders(pattern):
                hidden = "" if "/." in f"/{rest}" else r"(?!(?:.*/)?\.)"  # wildcards match no name with a dot in front
                self._rules.setdefault(folder, []).append((pattern, re.compile(hidden + pattern_regex(rest))))

    def check_written(self, outputs: Iterable[tuple[str, str]]) -> None:
        """Checks that no output replaces a file that is read, by whatever name or link, or becomes one.

        Args:
            outputs: (folder or address, name below it) of each.

        Raises:
            RecipeError: one would.
        """
        for root, name in outputs:
            place = self._absolute_place(f"{root}/{name}")
            url = self._files.get(place)
            if url:
                raise RecipeError(f"{url}: an output would replace this file, which is read; give another destination")
            pattern = self._matching_pattern(place)
            if pattern:
                raise RecipeError(
                    f"{root}/{name}: {pattern} matches this output, so the next run would read it as documents; give"
                    " another destination, or a narrower pattern"
                )

    def check_removed(self, root: str, names: Iterable[str]) -> None:
        """Checks that no output of an earlier run that must go is read.

        Args:
            root: folder or address.
            names: below it.

        Raises:
            RecipeError: one is.
        """
        for name in names:
            url = self._files.get(self._absolute_place(f"{root}/{name}"))
            if url:
                raise RecipeError(
                    f"{url}: an earlier run wrote this file here, and now it is read; give another destination: outputs"
                    " do not go to the folder that they are made from"
                )

    def matches(self, url: str) -> bool:
        """Whether a pattern of documents matches a file, which may be gone.

        Args:
            url: path or address of the file.
        """
        return self._matching_pattern(self._absolute_place(url)) is not None

    def _absolute_place(self, path: str) -> str:
        head, _, name = path.rpartition("/")
        return f"{self._real(head or '/').rstrip('/')}/{name}"

    def _matching_pattern(self, place: str) -> str | None:
        """The pattern that matches a file."""
        folder, slash, _ = place.rpartition("/")
        while slash:
            for pattern, rest in self._rules.get(folder, ()):
                if rest.fullmatch(place, len(folder) + 1):
                    return pattern
            folder, slash, _ = folder.rpartition("/")
        return None


def _search_folders(pattern: str) -> Iterator[tuple[str, str]]:
    """The folders, without links, in which a pattern looks, and what it looks for below each.

    What a run will make has no links yet. So folders that are there are followed as far as the pattern leads, and the
    rest of the pattern is compared with names.
    """
    if pattern.startswith(BUCKET):
        bucket, _, key = pattern.removeprefix(BUCKET).rstrip("/").partition("/")
        yield from ((f"{BUCKET}{bucket}", rest) for rest in _files_of_plain_path(key))
        return
    for path in _files_of_plain_path(str(Path(pattern).absolute())):
        parts = path.split("/")
        first = len(fixed_folders(parts)) if WILDCARD.search(path) else len(parts) - 1
        yield resolve_folder_links("/".join(parts[:first]) or "/").rstrip("/"), "/".join(parts[first:])
        for count in range(first + 1, len(parts)):
            rest = parts[count - 1 :] if parts[count - 1] == "**" else parts[count:]
            for folder in {resolve_folder_links(each) for each in glob_paths("/".join([*parts[:count], ""]))}:
                yield folder.rstrip("/"), "/".join(rest)


def _files_of_plain_path(pattern: str) -> Sequence[str]:
    """A path without wildcards is a file or a folder: of what is not there yet, nobody knows which."""
    return [pattern] if WILDCARD.search(pattern) else [pattern, f"{pattern}/*"]
