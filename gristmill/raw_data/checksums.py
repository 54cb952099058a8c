"""Compares raw objects with the checksum files that came with them, such as `en_sha256.txt` or `SHA256SUMS`."""

import hashlib
import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from gristmill.errors import DataError
from gristmill.formats.oscar.checksums import read_checksums
from gristmill.formats.oscar.names import natural_key
from gristmill.lake.identity import digest_of
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.scan import list_raw_objects, raw_top, show_path
from gristmill.recipes.raw_rules import is_hidden
from gristmill.recipes.source import Source

READ = "sha256"
"""The algorithm by which conversion hashes every raw object. For others, objects are read once more."""

_NAMED = 3
_MOST = 64 << 20
"""Greatest size of a checksum file in bytes: half a million names."""


class NamedHash(msgspec.Struct, frozen=True):
    """A hash that a checksum file names for an object.

    Attributes:
        file: the checksum file, by its name below the snapshot.
        algorithm: `sha256`, `sha384`, ...; a name of hashlib.
        digest: the hash in hex, in lower case.
    """

    file: str
    algorithm: str
    digest: str


@dataclass(frozen=True)
class ChecksumResult:
    """The result of a comparison. Names are those below the snapshot, in natural order.

    Attributes:
        pattern: pattern of the names of checksum files.
        files: the checksum files.
        compared: the objects whose hashes were compared.
        wrong: sentences on objects with another hash: its name, both hashes and the checksum file, in words.
        absent: sentences on names that the source would read, but that have no object: the name and the checksum file,
            in words.
        unlisted: objects that no checksum file names, though one lies in their folder or above.
        apart: objects that no checksum file names, in folders without one.
        unread: names in checksum files that the source does not read, such as those that `select` leaves out.
    """

    pattern: str = ""
    files: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def checksum_faults(self) -> list[str]:
        """The faults, each in words with its remedy; empty if objects and checksum files agree."""
        faults: list[str] = []
        if self.apart and not self.files:
            faults.append(missing_checksum_fault(self.pattern))
        if self.wrong:
            faults.append(
                f"{len(self.wrong):,} checksums do not match; {first_three(self.wrong)}; acquire these objects again"
            )
        if self.absent:
            faults.append(
                f"{len(self.absent):,} checksums are of no object in the snapshot: {first_three(self.absent)};"
                " download what is missing, or remove its line from the checksum file"
            )
        if self.unlisted:
            faults.append(
                f"{len(self.unlisted):,} objects have no line in the checksum files of their folders:"
                f" {first_three(self.unlisted)}; add the lines, or leave the objects out by select"
            )
        return faults

    @property
    def summary_in_words(self) -> str:
        """A summary in words: how many objects were compared, and which were not."""
        text = f"{len(self.compared):,} raw objects have the hashes that {len(self.files):,} checksum files name"
        if self.apart:
            text += f"; {len(self.apart):,} are in folders without a checksum file: {first_three(self.apart)}"
        if self.unread:
            text += f"; {len(self.unread):,} checksums are of what the source does not read: {first_three(self.unread)}"
        return text


def compare_checksums(source: Source, store: Store, snapshot: str, known: Mapping[str, str]) -> ChecksumResult:
    """Compares the raw objects of a snapshot with its checksum files.

    Args:
        source: the recipe; its `checksums` is the pattern of the names of checksum files.
        store: store of the raw objects.
        snapshot: the partition key.
        known: the sha256 (hex) of objects that were read, by their names below the snapshot.

    Returns:
        Which objects agree, differ, or are named on one side only.

    Raises:
        DataError: a checksum file is wrong; the message names its line.
        StoreError: the store does not answer.
    """
    entries = _snapshot_entries(source, store, snapshot)
    result = ChecksumResult(source.checksums or "")
    files = {name: entry for name, entry in entries.items() if source.is_checksums(name)}
    result.files.extend(sorted(files, key=natural_key))
    named = named_hashes(source, store, files)
    for target in sorted(named, key=natural_key):
        if not source.wants(target) and not target.startswith(("../", "/")):
            result.unread.append(target)
        elif target not in entries:
            result.absent.append(f"{target} (in {named[target][0].file})")
        else:
            result.compared.append(target)
            result.wrong.extend(_wrong_hashes_in_words(store, entries[target], target, named[target], known))
    folders = {posixpath.dirname(name) for name in result.files}
    for name in sorted((n for n in entries if source.wants(n) and n not in named), key=natural_key):
        (result.unlisted if _is_below(name, folders) else result.apart).append(name)
    return result


def named_hashes(source: Source, store: Store, files: Mapping[str, Entry]) -> dict[str, tuple[NamedHash, ...]]:
    """The hashes that checksum files name, by the names of the objects below the snapshot.

    Args:
        source: the recipe.
        store: store of the raw objects.
        files: the checksum files, by their names below the snapshot.

    Raises:
        DataError: a checksum file is wrong; the message names its line.
        StoreError: the store does not answer.
    """
    named: dict[str, list[NamedHash]] = {}
    for file in sorted(files, key=natural_key):
        for line in read_checksums(
            _read_checksum_file(source, store, files[file]), show_path(source, files[file].path)
        ):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(file), line.name))
            named.setdefault(target, []).append(NamedHash(file, line.algorithm, line.digest))
    return {target: tuple(hashes) for target, hashes in named.items()}


def hash_differences(name: str, named: Iterable[NamedHash], found: Mapping[str, str]) -> list[str]:
    """The hashes of an object that are others than checksum files name, each in words; empty if it has all of them.

    Args:
        name: name of the object.
        named: the hashes that checksum files name for it.
        found: its hashes in hex, by algorithm.

    >>> hash_differences("a.gz", [NamedHash("SHA256SUMS", "sha256", "00")], {"sha256": "ff"})
    ['a.gz has sha256 ff, but SHA256SUMS says 00']
    """
    return [
        f"{name} has {each.algorithm} {found[each.algorithm]}, but {each.file} says {each.digest}"
        for each in named
        if found[each.algorithm] != each.digest
    ]


def digest_of_files(source: Source, store: Store, entries: Mapping[str, Entry]) -> str:
    """A digest of the checksum files of a snapshot, so that a changed one is noticed; "" if the recipe names none.

    Args:
        source: the recipe.
        store: store of the raw objects.
        entries: the checksum files, by their names below the snapshot.

    Raises:
        DataError: a file is too large.
        StoreError: the store does not answer.
    """
    if source.checksums is None:
        return ""
    return digest_of(
        [
            [name, hashlib.sha256(_read_checksum_file(source, store, entries[name])).hexdigest()]
            for name in sorted(entries)
        ]
    )


def missing_checksum_fault(pattern: str) -> str:
    """What is wrong with a snapshot without a checksum file, and the mend.

    Args:
        pattern: pattern of the names of checksum files.

    Returns:
        The message.
    """
    return (
        f"no raw object of the snapshot is a checksum file (checksums={pattern!r}); put the checksum files beside the"
        " objects, or take checksums out of the recipe"
    )


def first_three(words: list[str]) -> str:
    """The first three of several things, and how many more there are.

    >>> first_three(["a", "b", "c", "d", "e"]), first_three(["a"])
    ('a, b, c and 2 more', 'a')
    """
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _snapshot_entries(source: Source, store: Store, snapshot: str) -> dict[str, Entry]:
    """All objects of a snapshot that are not hidden, by their names below it; the source does not read all of them."""
    top, lead = raw_top(source), source.partition.prefix(snapshot)
    entries: dict[str, Entry] = {}
    for entry in list_raw_objects(source, store, top + lead, "", lambda _: None):
        name = entry.path.removeprefix(top)
        split = source.partition.split(name)
        if split is not None and split[0] == snapshot and not is_hidden(name.removeprefix(lead)):
            entries[name.removeprefix(lead)] = entry
    return entries


def _is_below(name: str, folders: Collection[str]) -> bool:
    """Whether an object is in one of these folders, or in a folder below."""
    while name:
        name = posixpath.dirname(name)
        if name in folders:
            return True
    return False


def _read_checksum_file(source: Source, store: Store, entry: Entry) -> bytes:
    if entry.size > _MOST:
        raise DataError(
            f"{show_path(source, entry.path)}: {entry.size:,} bytes, but a checksum file has at most {_MOST:,}; correct"
            f" checksums={source.checksums!r} in the recipe of {source.name!r}"
        )
    return store.read(entry.path)


def _wrong_hashes_in_words(
    store: Store, entry: Entry, name: str, named: Iterable[NamedHash], known: Mapping[str, str]
) -> list[str]:
    """What is wrong with an object, in words; empty if it has all its hashes."""
    found = {READ: known[name]} if name in known else {}
    missing = sorted({each.algorithm for each in named} - found.keys())
    if missing:
        digests = [hashlib.new(algorithm, usedforsecurity=False) for algorithm in missing]
        for piece in store.stream(entry.path, entry.version):
            for digest in digests:
                digest.update(piece)
        found |= {algorithm: digest.hexdigest() for algorithm, digest in zip(missing, digests, strict=True)}
    return hash_differences(name, named, found)
