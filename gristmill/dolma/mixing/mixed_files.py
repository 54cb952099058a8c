"""Which files a stream reads, and which of them go to one output: the rules of Dolma's mixer.

Source: github.com/allenai/dolma, release 1.2.1: `src/shard.rs` (split_streams) and experiments with it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import xxhash

from gristmill.dolma.formats.mixer_config import PACKINGS, StreamSpec
from gristmill.dolma.tagging.paths import PlacedFile, TaggedFile, matching_files, place_in_listing, resolve_output_links
from gristmill.dolma.tagging.records import head_or_none
from gristmill.errors import DataError, RecipeError
from gristmill.lake.identity import digest_of
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import ObjectVersion

_SHOWN = 5


class InputFile(msgspec.Struct, frozen=True):
    """A file of documents, and its file of each attribute set."""

    documents: PlacedFile
    attributes: tuple[PlacedFile, ...]


class MixedFile(msgspec.Struct, frozen=True):
    """A file that is written.

    Attributes:
        root: folder or address.
        name: below the root.
        inputs: files that it is made from, in their order.
        kin: regular expression of the names that outputs of its stream have.
    """

    root: str
    name: str
    inputs: tuple[InputFile, ...]
    kin: str

    @property
    def size(self) -> int:
        """The size of all files that are read."""
        return sum(f.version.size for each in self.inputs for f in (each.documents, *each.attributes))

    @property
    def as_one(self) -> TaggedFile:
        """The files that are read as one, for the record of the run: its version changes if any of them does."""
        files = [f for each in self.inputs for f in (each.documents, *each.attributes)]
        digest = digest_of([[f.url, f.version.size, f.version.etag] for f in files])
        first = self.inputs[0].documents
        path = first.path if len(self.inputs) == 1 else f"{first.path} and {len(self.inputs) - 1} more"
        times = [f.version.changed for f in files]
        changed = xxhash.xxh3_64_intdigest(msgspec.json.encode(times)) >> 1 if any(times) else 0
        return TaggedFile(first.root, path, ObjectVersion(self.size, digest, changed), self.root, self.name)


def mixed_files(stream: StreamSpec, options: Mapping[str, str], *, gather: bool) -> tuple[list[MixedFile], list[str]]:
    """The outputs of a stream.

    Args:
        stream: the stream.
        options: options of the bucket's client.
        gather: whether several files of documents go to one output, up to its largest size.

    Returns:
        The outputs, and the patterns that match no file.

    Raises:
        RecipeError: no file matches, or two would have one output.
        DataError: a file of attributes is missing.
        StoreError: the store does not answer.
    """
    found, missed = _document_files_by_pattern(stream, options)
    root = resolve_output_links(stream.output.path.rstrip("/"))
    packing = PACKINGS[stream.compression.output or ""] if stream.compression.output is not None else ".gz"
    if not gather:
        return _one_to_one(stream, found, root, options), missed
    kin = rf"{re.escape(stream.name)}-[0-9]{{4,}}\.jsonl?(\.gz|\.zst)?"
    groups = list(_gather_small_files(list(found.items()), stream.output.max_size_in_bytes))
    outputs = []
    for number, group in enumerate(groups):
        ending = "json" if number == len(groups) - 1 else "jsonl"  # so the toolkit names them
        name = f"{stream.name}-{number:04}.{ending}{packing}"
        outputs.append(MixedFile(root, name, _input_files(group, stream, options), kin))
    return outputs, missed


Found = Sequence[tuple[PlacedFile, str]]


def _document_files_by_pattern(
    stream: StreamSpec, options: Mapping[str, str]
) -> tuple[dict[PlacedFile, str], list[str]]:
    """The files of documents, each with the pattern that it matches; files without a byte are left out."""
    found: dict[PlacedFile, str] = {}
    missed: list[str] = []
    for pattern in stream.documents:
        root, files = matching_files(pattern, options)
        if not files:
            missed.append(pattern)
        for path, version in sorted(files.items(), key=lambda each: place_in_listing(each[0], pattern)):
            file = PlacedFile(root, path, version)
            if file in found:
                raise RecipeError(
                    f"{file.url}: two entries of documents of stream {stream.name!r} match it; leave one out"
                )
            if version.size:
                found[file] = pattern
    if not found:
        raise RecipeError(f"stream {stream.name!r}: no file matches {', '.join(stream.documents[:_SHOWN])}")
    return found, missed


def _gather_small_files(found: Found, most: int) -> Iterator[Found]:
    group: list[tuple[PlacedFile, str]] = []
    size = 0
    for file, pattern in found:
        if group and size + file.version.size > most:
            yield group
            group, size = [], 0
        group.append((file, pattern))
        size += file.version.size
    yield group


def _one_to_one(
    stream: StreamSpec, found: Mapping[PlacedFile, str], root: str, options: Mapping[str, str]
) -> list[MixedFile]:
    """An output for each file of documents, with its folders from the folder of documents on."""
    outputs: dict[str, MixedFile] = {}
    folder = stream.document_dir.strip("/")
    kin = rf"{re.escape(folder)}/([^./][^/]*/)*[^./][^/]*"
    for file, pattern in found.items():
        _, between, below = file.url.partition(f"/{folder}/")
        if not between:
            raise RecipeError(f"{file.url}: no folder is named {folder!r}; move it below one, or leave out shuffle")
        name = f"{folder}/{below}"
        if name in outputs:
            raise RecipeError(
                f"{outputs[name].inputs[0].documents.url} and {file.url} have the same output {root}/{name}; give them"
                " streams with other outputs"
            )
        outputs[name] = MixedFile(root, name, _input_files([(file, pattern)], stream, options), kin)
    return list(outputs.values())


def _input_files(group: Found, stream: StreamSpec, options: Mapping[str, str]) -> tuple[InputFile, ...]:
    return tuple(InputFile(file, _attribute_files_beside(file, pattern, stream, options)) for file, pattern in group)


def _attribute_files_beside(
    file: PlacedFile, pattern: str, stream: StreamSpec, options: Mapping[str, str]
) -> tuple[PlacedFile, ...]:
    """The files beside a file of documents. Each folder of documents in its name is replaced."""
    here = "" if "://" in pattern or pattern.startswith("/") else f"{Path.cwd()}"
    below = file.url.removeprefix(here)
    old = f"/{stream.document_dir.strip('/')}/"
    if stream.attributes and old not in below:
        raise RecipeError(
            f"{file.url}: no folder is named {stream.document_dir!r}, so it is not clear where its attributes are"
        )
    return tuple(
        _file_beside_root(here + below.replace(old, f"/attributes/{name.strip('/')}/"), file.root, options)
        for name in stream.attributes
    )


def _file_beside_root(url: str, beside: str, options: Mapping[str, str]) -> PlacedFile:
    """The file of an address that lies in the same bucket as another root, or on this machine."""
    root, path = (beside, url.removeprefix(f"{beside}/")) if "://" in beside else url.rsplit("/", 1)
    entry = head_or_none(open_store(root, options, foreign=True), path)
    if entry is None:
        raise DataError(
            f"{url}: this file of attributes is missing. Dolma's mixer would pass all documents without it; make it, or"
            " leave its set out"
        )
    return PlacedFile(root, path, entry.version)
