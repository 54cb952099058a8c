"""The configuration of `dolma mix`, as the toolkit's file and its options give it.

Source: github.com/allenai/dolma, release 1.2.1, `cli/mixer.py` (MixerConfig).
"""

import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from gristmill.dolma.formats.configuration import read_configuration
from gristmill.errors import RecipeError
from gristmill.lake.identity import digest_of

VERSION = 1
"""Of the rows that are written. Raised when any changes."""

MIX_FIELDS: Mapping[str, type] = {
    "processes": int,
    "dryrun": bool,
    "shuffle": bool,
    "work_dir.input": str,
    "work_dir.output": str,
}
"""The toolkit's options besides the streams, a dot between the parts of a name."""

PACKINGS = {"gz": ".gz", "zst": ".zst", "": ""}
Syntax = Literal["jsonpath", "jq"]


class FilterSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which documents are kept: a line of `include` matches, or the list is empty; and no line of `exclude` matches.

    Attributes:
        include: expressions.
        exclude: expressions.
        syntax: their language.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    syntax: Syntax = "jsonpath"


class ReplacementSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which spans are replaced, and by what.

    Attributes:
        span: path or program that selects a list of [start, end, score].
        replacement: `{}` in it is the text of the span. If it begins with `$`, it selects a string of the row.
        min_score: spans with this score or more are replaced.
        max_score: only spans with a lower score are replaced.
        syntax: syntax of `span`, and of a replacement that selects.
    """

    span: str
    replacement: str = ""
    min_score: float | None = None
    max_score: float | None = None
    syntax: Syntax = "jsonpath"


class OutputFolderSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the documents of a stream go.

    Attributes:
        path: folder or address.
        max_size_in_bytes: the packed input files of one output are together at most this large.
        discard_fields: fields of rows that are left out.
        min_text_length: a document with fewer bytes of text is dropped; white space at both ends does not count.
    """

    path: str
    max_size_in_bytes: int = 2 << 30
    discard_fields: tuple[str, ...] = ()
    min_text_length: int = 0


class CompressionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How files are packed: `gz`, `zst`, an empty string for not packed, or None for what the name of a file says.

    Attributes:
        input: files of documents and of attributes.
        output: files that are written.
    """

    input: str | None = None
    output: str | None = None


class StreamSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stream: which files, which of their documents, and what is changed in them.

    Attributes:
        name: the names of its outputs begin with it.
        documents: paths or patterns of files.
        output: place where its documents go.
        attributes: names of attribute sets.
        filter: conditions that choose the documents that are kept.
        span_replacement: replacements of parts of texts.
        compression: packing of the files that are read and written.
        document_dir: name of the folder beside which the folder of attributes is.
    """

    name: str
    documents: tuple[str, ...]
    output: OutputFolderSpec
    attributes: tuple[str, ...] = ()
    filter: FilterSpec = FilterSpec()
    span_replacement: tuple[ReplacementSpec, ...] = ()
    compression: CompressionSpec = CompressionSpec()
    document_dir: str = "documents"

    @property
    def digest(self) -> str:
        """A digest of all that decides about the rows of this stream, besides the files."""
        left_out = ("documents", "attributes", "document_dir", "name")
        options = {name: value for name, value in msgspec.to_builtins(self).items() if name not in left_out}
        options["attributes"] = list(self.attributes)
        options["output"].pop("path")
        options["output"].pop("max_size_in_bytes")
        return digest_of([VERSION, options])[:16]


class WorkFolders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accepted and not needed: nothing is copied to a folder for work.

    Attributes:
        input: a folder.
        output: a folder.
    """

    input: str = ""
    output: str = ""


class MixerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All streams.

    Attributes:
        streams: the streams.
        processes: number of output files that are written at the same time.
        shuffle: whether input files are gathered to output files; False: each input file gives one output file.
        dryrun: whether nothing is done.
        work_dir: folders for temporary files.
    """

    streams: tuple[StreamSpec, ...] = ()
    processes: int = 1
    shuffle: bool = True
    dryrun: bool = False
    work_dir: WorkFolders = WorkFolders()


def mixer_config(
    data: bytes, where: str, options: Mapping[str, Any], variables: Mapping[str, str] | None = None
) -> MixerConfig:
    """The configuration of a file, YAML or JSON.

    Args:
        data: content of the file.
        where: its path, for messages.
        options: values by the names of MIX_FIELDS; they come before those of the file, and null is not given.
        variables: variables of the environment; None: references to them stay as they are written.

    Raises:
        DataError: it is no YAML.
        RecipeError: a key is not known, a value has a wrong type, a reference cannot be resolved, or the values do not
            fit.
    """
    given = _drop_null_values(read_configuration(data, where, variables))
    for name, value in options.items():
        if value is not None:
            first, _, second = name.partition(".")
            given = {**given, first: {**given.get(first, {}), second: value} if second else value}
    try:
        config = msgspec.convert(given, MixerConfig, strict=False)
    except msgspec.ValidationError as error:
        raise RecipeError(f"{where}: {error}; the options are in docs/how-to/dolma-mix.md") from error
    if not config.streams or config.processes < 1:
        raise RecipeError(f"{where}: give at least one stream, and at least one process")
    names = [stream.name for stream in config.streams]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecipeError(f"{where}: several streams have one name, such as {twice[0]!r}; rename one")
    for stream in config.streams:
        _check_stream(stream, f"{where}: stream {stream.name!r}")
    return config


def _drop_null_values(value: Any) -> Any:
    """The same values; a null is the default of its key."""
    if isinstance(value, dict):
        return {key: _drop_null_values(each) for key, each in value.items() if each is not None}
    return [_drop_null_values(each) for each in value] if isinstance(value, list) else value


def _check_stream(stream: StreamSpec, where: str) -> None:
    if not stream.documents:
        raise RecipeError(f"{where}: give documents")
    if stream.name in {"", ".", ".."} or "/" in stream.name:
        raise RecipeError(f"{where}: the name is the beginning of the names of files; give one without /")
    if stream.output.max_size_in_bytes < 1 or stream.output.min_text_length < 0:
        raise RecipeError(f"{where}: max_size_in_bytes must be 1 or more, min_text_length 0 or more")
    if "text" in stream.output.discard_fields:
        raise RecipeError(f"{where}: discard_fields has 'text', but Dolma's documents have one; leave it out")
    for number, each in enumerate(stream.span_replacement):
        if each.min_score is None and each.max_score is None:
            raise RecipeError(f"{where}: span_replacement {number}: give min_score, max_score or both")
        least = -math.inf if each.min_score is None else each.min_score
        below = math.inf if each.max_score is None else each.max_score
        if not least < below:
            raise RecipeError(
                f"{where}: span_replacement {number}: no score is at least {least:g} and below {below:g}, so no span"
                " would be replaced; correct the bounds"
            )
    _check_files(stream, where)


def _check_files(stream: StreamSpec, where: str) -> None:
    for side, packing in (("input", stream.compression.input), ("output", stream.compression.output)):
        if packing not in {None, *PACKINGS}:
            raise RecipeError(f"{where}: compression.{side}: {packing!r} is not supported; give gz, zst, '' or nothing")
    for attribute in stream.attributes:
        if attribute != str(PurePosixPath(attribute)) or ".." in PurePosixPath(attribute).parts or attribute == ".":
            raise RecipeError(f"{where}: attributes: {attribute!r} is no name of a folder")
