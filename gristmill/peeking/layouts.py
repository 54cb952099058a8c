"""Folders that a draft must know as a whole: datasets of Dolma and of the Hugging Face Hub, and trees of code."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill.errors import shorten
from gristmill.peeking.archives import CODE
from gristmill.peeking.draft import Call, source_name_from_words
from gristmill.peeking.head import read_head
from gristmill.readers.hugging_face import data_files
from gristmill.readers.mapping.front_matter import split_front_matter
from gristmill.readers.oscar.lines import CHECKSUMS
from gristmill.readers.text import Unfit

_MOST = 0.5
_SHOWN = 100
_BY_NAME = frozenset({"HeadedTexts", "HtmlFiles", "IrcLogs", "TextFiles"})
"""Readers whose ids are the names of files below their snapshot, so that equal names are equal ids."""


def dolma_datasets(root: Path, files: Iterable[Path]) -> dict[Path, tuple[str, ...]]:
    """The folders that hold `documents/` and `attributes/`, with the names of their attribute sets.

    Args:
        root: the folder that is looked at.
        files: files of Dolma's documents and attributes.
    """
    documents: set[Path] = set()
    sets: dict[Path, set[str]] = {}
    for path in files:
        parts = path.relative_to(root).parts
        if "documents" in parts[:-1]:
            documents.add(root.joinpath(*parts[: parts.index("documents")]))
        elif "attributes" in parts[:-2]:
            at = parts.index("attributes")
            sets.setdefault(root.joinpath(*parts[:at]), set()).add(parts[at + 1])
    return {base: tuple(sorted(sets[base])) for base in sorted(documents) if base in sets}


def code_files_options(root: Path, files: Iterable[Path]) -> dict[str, Any] | None:
    """The options of CodeFiles for a folder of programs; None if most files are something else.

    If a file lies at the top, the folder is one repository. Else its folders are repositories, or those of owners.

    Args:
        root: the folder.
        files: files in the folder.
    """
    names = [path.relative_to(root) for path in files]
    programs = sum(name.suffix[1:].lower() in CODE for name in names)
    if not programs or programs < _MOST * len(names):
        return None
    depth = min(len(name.parts) for name in names) - 1
    return (
        {"folders": min(depth, 2)}
        if depth
        else {"repository": source_name_from_words(root.resolve().name), "folders": 0}
    )


def hub_options(root: Path, names: Iterable[str]) -> dict[str, Any]:
    """The options of a source for a dataset of the Hugging Face Hub: the split `train`, and the licence of its card.

    Args:
        root: the folder.
        names: paths of the data files, below the folder.

    Returns:
        The options; empty if the folder has no card, or no split `train`.
    """
    card = root / "README.md"
    if not card.is_file() or not any(re.search(data_files("train"), name) for name in names):
        return {}
    try:
        matter, _ = split_front_matter(read_head(card).text)
    except Unfit:
        return {}
    licence = matter.get("license")
    found = {"licence": licence} if isinstance(licence, str) and licence else {}
    call = Call("gristmill.readers.hugging_face", "data_files", given=("train",))
    return {"select": call, **found} if matter else {}


def oscar_options(names: Iterable[str], beside: Iterable[str]) -> Mapping[str, Any]:
    """The options of a source for a release of OSCAR: its folders are languages, and it may have checksum files.

    Args:
        names: paths of the parts, below the folder.
        beside: paths of all files.
    """
    first = {name.partition("/")[0] for name in names if "/" in name}
    dated = bool(first) and all(re.search(r"\d{2}", each) for each in first)
    rule = {} if dated else {"partition": Call("gristmill.recipes.source", "Everything")}
    listed = any(re.search(CHECKSUMS, name) for name in beside)
    return {**rule, **({"checksums": CHECKSUMS} if listed else {})}


def look_like_snapshots(names: Iterable[str]) -> bool:
    """Whether the first folders of the names look like snapshots: there are several, or its name has a digit."""
    folders = [name.partition("/")[0] if "/" in name else "" for name in names]
    return all(folders) and (len(set(folders)) > 1 or any(map(str.isdigit, "".join(folders))))


def snapshot_folder_rule(names: Sequence[Path], reader: str) -> tuple[Mapping[str, Any], str]:
    """The rule for files whose first folders look like snapshots.

    They count as one snapshot if equal names in them would be equal ids.

    Args:
        names: paths of the files, below the raw data.
        reader: the name of its class.

    Returns:
        (options, note): those of the source, empty if first folders are its snapshots; and what a person must know.
    """
    below = Counter(Path(*each.parts[1:]) for each in names)
    twice = next((each for each in sorted(below) if below[each] > 1), None)
    if reader in _BY_NAME and twice is not None:
        return {"partition": Call("gristmill.recipes.source", "Everything")}, (
            f"several first folders have a file {twice.as_posix()}. As snapshots they would give equal ids, so"
            " partition=Everything() takes all files as one snapshot; remove it only if the folders are editions"
        )
    first = shorten(", ".join(sorted({each.parts[0] for each in names})), _SHOWN)
    ids = "; ids are the names below it, so files of one name in several folders would have equal ids"
    return {}, (
        f"the first folder of a file becomes its snapshot ({first}){ids if reader in _BY_NAME else ''};"
        " partition=Everything() takes all files as one snapshot"
    )
