"""Looks at raw data: guesses the format of each file, drafts a recipe, and reads the first documents by the draft."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from gristmill.errors import DataError, GristmillError, error_in_words, is_failure
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry, ObjectVersion
from gristmill.peeking.draft import ADOPTED, SOURCE, Call, source_name_from_words, source_text
from gristmill.peeking.formats import FORMATS, Format, recognise_format
from gristmill.peeking.head import Head, read_head
from gristmill.peeking.layouts import (
    code_files_options,
    dolma_datasets,
    hub_options,
    look_like_snapshots,
    oscar_options,
    snapshot_folder_rule,
)
from gristmill.peeking.selection import name_ending, name_pattern
from gristmill.peeking.sniffers import Facts
from gristmill.recipes.raw_object import Copied, LeftOut, Limits, RawObject, Refused
from gristmill.recipes.raw_rules import is_hidden

DOCUMENTS = 3
"""Documents that are shown."""
LOOKED_AT = 60
"""Files of a folder that are opened."""
MANY, SMALL = 200, 1 << 20
"""From so many files on, of at most so many bytes on average, a draft collects them in shards."""
_SHARD_BYTES = 256 << 20
"""Bytes of raw data in such a shard."""
_RESULTS = 5000
"""Results of a reader after which no further document is waited for."""
_FEW = 0.1
"""So many files that no reader knows, for each one that is read, are left out by name."""
_BESIDE = re.compile(r"(?i)(readme|licen[cs]e|notice|changelog)\b")
"""Names of files that say something about the data beside them."""
_RULES = "gristmill.recipes.source"
LONGEST_ROW = 8 << 20
"""Longest row in bytes that is read for the documents: a small file may unpack to a huge row."""


@dataclass(frozen=True)
class Guess:
    """What is known of one file.

    Attributes:
        head: its beginning.
        format: the row of the table of formats.
        facts: facts that the sniffer found.
    """

    head: Head
    format: Format
    facts: Facts


@dataclass
class FirstResults:
    """The first results of a draft.

    Attributes:
        documents: the first documents.
        files: the file of each of them, below the folder.
        refused: number of refused rows until then, by reason.
        left_out: number of records that were left out until then, by reason.
        error: reason why the reader stopped; empty if it did not.
    """

    documents: list[Document] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    error: str = ""


@dataclass(frozen=True)
class Draft:
    """A recipe for the files of one format.

    Attributes:
        guesses: the files, the first of which is the example.
        reader: the call of the reader.
        options: the other options of the source.
        top: the folder of the raw data.
        kind: SOURCE or ADOPTED.
        notes: notes on what a person must know of its rules.
    """

    guesses: tuple[Guess, ...]
    reader: Call
    options: Mapping[str, Any]
    top: Path
    kind: Call = SOURCE
    notes: tuple[str, ...] = ()

    def raw_name(self, each: Guess) -> str:
        """The name of a file as a run gives it to the reader: below its snapshot."""
        name = each.head.path.with_name(each.head.name).relative_to(self.top).as_posix()
        rule = self.options.get("partition", Call(_RULES, "Folders")).made()
        snapshot, _ = rule.split(name) or ("", "")
        return name.removeprefix(rule.prefix(snapshot)) if snapshot else name

    @property
    def text(self) -> str:
        """The module of the recipe."""
        what = f"{self.guesses[0].format.name}. A draft of `peek`: check it."
        return source_text(self.reader, self.options, what, self.kind)


def guess_format(path: Path) -> Guess:
    """Guesses the format of a file.

    Returns:
        The format, and its facts.

    Raises:
        DataError: it cannot be read.
    """
    head = read_head(path)
    return Guess(head, *recognise_format(head))


def visible_files(folder: Path) -> list[Path]:
    """The files of a folder and those below it that are not hidden, sorted."""
    below = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return [each for each in below if not is_hidden(each.relative_to(folder).as_posix())]


def irregular_files(folder: Path) -> list[Path]:
    """The paths of what is in a folder, or below it, and is neither a regular file nor a folder: FIFOs, devices, broken
    links.
    """
    below = (each for each in sorted(folder.rglob("*")) if not each.is_file() and not each.is_dir())
    return [each for each in below if not is_hidden(each.relative_to(folder).as_posix())]


def files_to_open(files: Iterable[Path]) -> list[Path]:
    """The files that are opened: of each folder and ending some, so that each format is among them."""
    by_kind: dict[tuple[Path, str], list[Path]] = {}
    for path in files:
        by_kind.setdefault((path.parent, name_ending(path.name)), []).append(path)
    groups = list(by_kind.values())
    rounds = max(map(len, groups), default=0)
    ordered = (group[number] for number in range(rounds) for group in groups if number < len(group))
    return sorted(islice(ordered, LOOKED_AT))


def draft_sources(root: Path, guesses: Iterable[Guess], files: Sequence[Path] = ()) -> list[Draft]:
    """A draft for each format that a reader knows, that of the most files first. Cards and licences get no draft.

    Args:
        root: the folder, or the file.
        guesses: guesses of its files.
        files: all files of the folder, also those that were not opened. Their number and size choose the shards.
    """
    found = list(guesses)
    options = code_files_options(root, [each.head.path for each in found]) if root.is_dir() else None
    if options is not None:
        return [_draft_with_shards(_draft_for_programs(root, found, options), files)]
    made = _drafts_for_dolma_datasets(root, found) if root.is_dir() else []
    bases = [draft.top / each for draft in made for each in ("documents", "attributes")]
    left = [each for each in found if not any(each.head.path.is_relative_to(base) for base in bases)]
    groups: dict[tuple[str, str], list[Guess]] = {}
    for each in left:
        same = {key: value for key, value in each.facts.options.items() if key != "front_matter"}
        groups.setdefault((each.format.name, repr(same)), []).append(each)
    ordered = sorted(groups.values(), key=len, reverse=True)
    known = [group for group in ordered if group[0].format.module]
    data = [group for group in known if not all(_BESIDE.match(each.head.path.name) for each in group)]
    ends = Counter(end for group in ordered for end in {name_ending(each.head.name) for each in group})
    shared = {end for end, count in ends.items() if count > 1}
    for group in data or ([] if made else known):
        taken = {str(draft.options["name"]) for draft in made}
        draft = _draft_for_files(root, group, [each for each in left if each not in group], shared, taken)
        made.append(_draft_with_shards(_draft_with_snapshots(draft, files), files))
    return made


def files_of_draft(draft: Draft, files: Iterable[Path]) -> list[Path]:
    """The files that a draft reads."""
    select = draft.options.get("select", "")
    pattern = re.compile(select.made() if isinstance(select, Call) else select)
    below = (each for each in files if each.is_relative_to(draft.top))
    return [each for each in below if pattern.search(each.relative_to(draft.top).as_posix())]


def _draft_with_snapshots(draft: Draft, files: Sequence[Path]) -> Draft:
    """The draft with a note on its snapshots, and with a rule for them if names decide so."""
    if draft.kind != SOURCE or "partition" in draft.options:
        return draft
    paths = files_of_draft(draft, files) or [each.head.path for each in draft.guesses]
    options, note = snapshot_folder_rule(
        [each.relative_to(draft.top) for each in paths], draft.guesses[0].format.reader
    )
    return replace(draft, options={**draft.options, **options}, notes=(*draft.notes, note))


def _draft_with_shards(draft: Draft, files: Sequence[Path]) -> Draft:
    """The draft with a rule for its shards, if its files are so many and small that a shard for each would be slow."""
    sizes = [each.stat().st_size for each in files_of_draft(draft, files)]
    if len(sizes) < MANY or sum(sizes) > len(sizes) * SMALL:
        return draft
    shards = Call(_RULES, "Hashed", {}, (max(1, -(-sum(sizes) // _SHARD_BYTES)),))
    return replace(draft, options={**draft.options, "shards": shards})


def _draft_for_programs(root: Path, found: list[Guess], options: Mapping[str, Any]) -> Draft:
    """The draft for a tree of programs."""
    row = next(each for each in FORMATS if each.reader == "CodeFiles")
    name = source_name_from_words(root.resolve().name)
    reader = row.reader_call(name, Facts(options)) or Call("", "")
    asked = {"name": name, "partition": Call(_RULES, "Everything"), "raw": str(root.resolve())}
    return Draft(tuple(Guess(each.head, row, each.facts) for each in found), reader, asked, root)


def _drafts_for_dolma_datasets(root: Path, found: list[Guess]) -> list[Draft]:
    """A draft for each dataset in Dolma's layout that has attributes: it is adopted in place."""
    dolma = [each for each in found if each.format.name.startswith("Dolma ")]
    made: list[Draft] = []
    for number, (base, sets) in enumerate(dolma_datasets(root, [each.head.path for each in dolma]).items()):
        documents = (each for each in dolma if each.head.path.is_relative_to(base / "documents"))
        group = tuple(each for each in documents if each.format.module)
        if not group:
            continue
        name = source_name_from_words(root.resolve().name) + (f"-{number + 1}" if number else "")
        reader = group[0].format.reader_call(name, group[0].facts) or Call("", "")
        options = {"name": name, "root": str(base.resolve()), "sets": sets}
        made.append(Draft(group, reader, options, base, ADOPTED))
    return made


def _draft_for_files(root: Path, group: list[Guess], others: list[Guess], shared: set[str], taken: set[str]) -> Draft:
    first = next((each for each in group if "front_matter" in each.facts.options), group[0])
    top, name = root if root.is_dir() else root.parent, source_name_from_words(root.resolve().name)
    if name in taken:
        name = source_name_from_words(first.head.path.name)
    name = next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)
    reader = first.format.reader_call(name, first.facts)
    bad = _unread_with_same_ending(group, others)
    select = name_pattern([each.head.name for each in group], shared if top == root else None, bad)
    folder = _own_folder_pattern(top, group, others) if top == root else ""
    options: dict[str, Any] = {"name": name, "select": folder or select}
    names = [each.head.path.relative_to(top).as_posix() for each in group]
    if not look_like_snapshots(names):
        options["partition"] = Call(_RULES, "Everything")
    if top == root:
        options |= hub_options(root, names)
    if first.format.reader == "OscarLines":
        options.pop("partition", None)
        options |= oscar_options(names, [each.head.path.relative_to(top).as_posix() for each in others])
    if isinstance(options["select"], Call):
        pattern = options["select"].made()
        group = [each for each, below in zip(group, names, strict=True) if re.search(pattern, below)]
    options["raw"] = str(top.resolve())
    left_out = sorted(bad) if top == root and options["select"] == select else []
    notes = tuple(f"`select` leaves out {each}, which no reader knows" for each in left_out)
    return Draft(tuple(group), reader or Call("", ""), {**options, **first.facts.more}, top, notes=notes)


def _unread_with_same_ending(group: list[Guess], others: list[Guess]) -> set[str]:
    """The names of the other files with a group's endings, if they are few and no reader knows them; else none."""
    names = {each.head.name for each in group}
    like = [each for each in others if name_ending(each.head.name) in set(map(name_ending, names))]
    bad = {each.head.name for each in like}
    alike = "" in map(name_ending, names) or bad & names or any(each.format.module for each in like)
    return set() if alike or len(like) > len(group) * _FEW else bad


def _own_folder_pattern(top: Path, group: list[Guess], others: list[Guess]) -> str:
    """A pattern for the first folder of a group's files, if others have their endings only elsewhere."""
    ends = {name_ending(each.head.name) for each in group}
    like = [each for each in others if name_ending(each.head.name) in ends]
    first = {each.head.path.relative_to(top).parts[:-1][:1] for each in group}
    taken = {each.head.path.relative_to(top).parts[:-1][:1] for each in like}
    if not like or () in first or first & taken or "" in ends:
        return ""
    either = "|".join(sorted(re.escape(folder) for [folder] in first))
    return rf"^({either})/.*({'|'.join(sorted(map(re.escape, ends)))})$"


class _Renamed:
    """A file as the store of one raw object, which may have another name.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._store, self._name = FolderStore(str(path.parent), foreign=True), path.name

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:  # noqa: ARG002
        return self._store.stream(self._name, version, start)

    def read_range(self, path: str, start: int, end: int) -> bytes:  # noqa: ARG002 - one file
        return self._store.read_range(self._name, start, end)

    def head(self, path: str) -> Entry | None:  # noqa: ARG002 - one file
        return self._store.head(self._name)


def read_first_documents(draft: Draft, most: int = DOCUMENTS) -> FirstResults:
    """The first documents that a draft's reader makes of the draft's files.

    Args:
        draft: the recipe.
        most: number of documents.
    """
    seen = FirstResults()
    for each in draft.guesses:
        path, name = each.head.path, draft.raw_name(each)
        below = path.with_name(each.head.name).relative_to(draft.top).as_posix()
        raw = RawObject(_Renamed(path), below, name, path.stat().st_size, Limits(row=LONGEST_ROW))
        try:
            for result in islice(draft.reader.made()(raw), _RESULTS):
                for refused in raw.take_refused():
                    seen.refused[refused.reason] += 1
                _count_result(seen, result)
                seen.files += [below] * (len(seen.documents) - len(seen.files))
                if len(seen.documents) >= most:
                    return seen
            for refused in raw.take_refused():
                seen.refused[refused.reason] += 1
        except GristmillError as error:
            seen.error = str(error)
        except BaseException as error:
            if not is_failure(error):
                raise
            seen.error = error_in_words(error)
        if seen.error:
            return seen
    return seen


def _count_result(seen: FirstResults, result: object) -> None:
    match result:
        case Document():
            seen.documents.append(result)
        case Copied():
            seen.documents.append(msgspec.json.decode(result.line, type=Document))
        case Refused():
            seen.refused[result.reason] += 1
        case LeftOut():
            seen.left_out[result.reason] += result.records
        case _:
            raise DataError(f"the reader gave a {type(result).__name__}")
