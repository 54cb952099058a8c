"""What exports to Energon declare: JSON lines with an index, and WebDatasets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from msgspec import Meta

from gristmill.energon.formats.field_map import check_field_map, parse_places
from gristmill.energon.formats.media import MediaFilter, kind_by_ending
from gristmill.energon.formats.sample_types import SampleType, sample_type
from gristmill.errors import RecipeError
from gristmill.extras import needs
from gristmill.formats.tar.keys import is_part
from gristmill.recipes.export_formats.options import ExportFormat
from gristmill.recipes.option_types import check_types

FIELDS = ("id", "text", "source", "added", "created", "metadata")
"""The keys of a document."""

BY_ENDING = "*"
"""In `files`: the part that is named by the ending of each file."""


def check_paths(paths: Iterable[str], what: str) -> None:
    """Checks that paths lead to something that documents may have.

    Args:
        paths: paths of values; a `?` at the end says that a document may lack the value.
        what: the recipe and the option, for the message.

    Raises:
        RecipeError: one does not begin with a key of documents, or has an empty part.

    >>> check_paths(["text", "metadata.image?"], "fields")
    """
    for path in paths:
        first, *rest = path.removesuffix("?").split(".")
        if path == "*" or (first in FIELDS and all(rest) and (not rest or first == "metadata")):
            continue
        known = ", ".join(FIELDS)
        raise RecipeError(
            f"{what}: {path!r} is not the path of a value in a document; give one of {known}, a path such as"
            " 'metadata.image', or '*' for the whole document. A '?' at its end says that a document may lack it"
        )


@dataclass(frozen=True, kw_only=True)
class EnergonJsonl(ExportFormat):
    """Energon's JSON lines: a file for each split with its `.idx`, and a metadataset that names all files.

    Attributes:
        fields: the keys of a line, each with the path of its value in the document, such as
            `{"caption": "text", "image": "metadata.image"}`. Values are copied as they are. Empty: the line is the
            document.
        media: the paths of values that name media files: a name, or a list of names. Documents with a name that is
            absolute or leads out of the folder are counted as refused.
        root: place of the media files: a folder of the lake, or the absolute path of a folder that every worker sees. A
            folder with `.nv-meta/.info.json` is a prepared WebDataset, whose samples have the files. Documents whose
            files it does not have block the slice. Empty: the files are not looked for.
        file_bytes: most bytes of one file of the release, in which the parts of a stream are joined; None: nothing is
            copied, and the metadataset names the files of the parts.
        aux: places where Energon finds the media: the path of each auxiliary source by its name, such as `{"images":
            "filesystem://../../../../media"}`. It is written into the metadataset as it is, and is relative to that
            file. Of another export of this lake give the folder of a release, which is never changed.
        subflavors: words about the samples, for Energon's cookers.
        tokenizer: a tokenizer of the mix. With it, the training split is an epoch of the mix's `token_budget`: each
            stream is repeated so often that it has its share of these tokens, as the token cache counts them. Empty:
            streams are drawn by weight, without an end.
    """

    type: ClassVar[str] = "energon-jsonl"
    release_only: ClassVar[frozenset[str]] = frozenset({"file_bytes", "tokenizer", "aux", "subflavors"})

    fields: Mapping[str, str] = field(default_factory=dict)
    media: tuple[str, ...] = ()
    root: str = ""
    file_bytes: Annotated[int, Meta(ge=1)] | None = None
    aux: Mapping[str, str] = field(default_factory=dict)
    subflavors: Mapping[str, str] = field(default_factory=dict)
    tokenizer: str = ""

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one of them is wrong.
        """
        check_types(self, "EnergonJsonl")
        check_paths(self.fields.values(), "EnergonJsonl: fields")
        check_paths(self.media, "EnergonJsonl: media")
        check_root(self.root, "EnergonJsonl: root")
        check_aux(self.aux, "EnergonJsonl: aux")


_JSONL = re.compile(r"\.jsonl/?$")
_FOLDER = re.compile(r"/?(?!\.{1,2}(?:/|$)|[^/]*://)[^/]+(?:/(?!\.{1,2}(?:/|$))[^/]+)*/?")
"""A path without `.`, `..` and empty names, which is no address."""
_ENTRY = re.compile(r"\.yaml/?$|^(?:\.\./){2,3}[^/.]+(?:/[^/.]+)?/index/?$")
"""What leads to a metadataset, or to the index of another export."""


def check_root(root: str, what: str) -> None:
    """Checks the folder of the media files.

    Args:
        root: its path.
        what: the recipe and the option, for the message.

    Raises:
        RecipeError: it is an address, or leads out of the lake.

    >>> check_root("media/shapes", "root"), check_root("/data/shapes", "root")
    (None, None)
    """
    if root and not _FOLDER.fullmatch(root):
        raise RecipeError(
            f"{what} is {root!r}; give a folder of the lake, such as 'media/shapes', or the absolute path of a folder"
            " that every worker sees"
        )


def check_aux(aux: Mapping[str, str], what: str) -> None:
    """Checks auxiliary sources.

    Args:
        aux: the path of each source, by its name.
        what: the recipe and the option, for the message.

    Raises:
        RecipeError: one is a file of JSON lines or a metadataset, which Energon does not take as an auxiliary source,
            or has no path.
    """
    for name, path in aux.items():
        if _ENTRY.search(path):
            raise RecipeError(
                f"{what}: {name!r} is {path!r}, and Energon takes no metadataset as an auxiliary source; of another"
                " export give the folder of a release, as in '../../pictures/index/release-0123456789abcdef', and name"
                " it in releases/<name>.json, so that gc keeps it"
            )
        if not name or not path or _JSONL.search(path):
            raise RecipeError(
                f"{what}: {name!r} is {path!r}; give a prepared WebDataset, or a folder as filesystem://PATH:"
                " Energon takes no JSON lines as an auxiliary source"
            )


@dataclass(frozen=True, kw_only=True)
class EnergonWebdataset(ExportFormat):
    """Energon's WebDataset: tars of samples, and the folder `.nv-meta` that describes them.

    Attributes:
        parts: the parts of a sample, each with the path of its value in the document, such as
            `{"txt": "text", "json": "metadata"}`. A string becomes its UTF-8 bytes, other values become JSON; a part
            whose name ends with `json` is always JSON.
        files: parts whose bytes come from media files, each with the path of the file's name in the document, such as
            `{"jpg": "metadata.image"}`. A list of names becomes parts `0.jpg`, `1.jpg` and so on. The part `*` is named
            by the ending of each file, for files of several formats: `{"*": "metadata.image"}`.
        root: place of the media files, as in EnergonJsonl. Documents whose files it does not have block the slice.
        media: the paths of values that name media files of an auxiliary source. See EnergonJsonl.
        media_metadata: choice of the media parts whose metadata, such as the width of an image, are written into
            `index.sqlite`: those whose names have a media ending (`"extension"`), whose first bytes say it
            (`"header"`), or whose names match patterns (`"*.jpg,*.png"`). These media are decoded, and one that is
            damaged, or not what its name says, blocks the slice. Empty: no metadata, and nothing is decoded.
        key: the path of the string or whole number that names the sample, such as `id`. It must be different in each
            document of the dataset. Empty: the part of the export and the number of the row. A path of `files` gives
            samples the names of their files, as an auxiliary source needs it.
        sample_type: the class of the samples, such as `CaptioningSample`, or a class of one's own as
            `module:CaptionedPair`; empty: crude samples, which a cooker makes.
        field_map: the part of each field of the sample type, such as `{"image": "jpg", "caption": "txt"}`.
        shard_samples: most samples of a tar.
        shard_bytes: most bytes of a tar; a larger sample is alone in its tar.
        random_access: whether `index.sqlite` is written. Training does not need it; auxiliary sources do.
        split_ratios: weights by which the tars are divided among splits as `energon prepare --split-ratio` does, such
            as `{"train": 8, "val": 1, "test": 1}`. Not for a mix that holds documents out.
        split_patterns: regular expression of each split. A split gets the tars whose path below the export begins with
            it, such as `{"val": "tales/2025/"}`. Not for a mix that holds documents out.
        exclude: tars that Energon leaves out, by their paths below the export, such as
            `tales/2024/part-00412-5f1e/train-00000.tar`; and samples, as the path of the tar, a slash and the key. A
            document that must never come back belongs in a blocklist of the mix.
        aux: places where Energon finds the media, as in EnergonJsonl.
        subflavors: words about the samples, for Energon's cookers.
        tokenizer: name of a tokenizer, as in EnergonJsonl. Not with split_ratios or split_patterns, whose tokens nobody
            has counted.
    """

    type: ClassVar[str] = "energon-webdataset"
    release_only: ClassVar[frozenset[str]] = frozenset(
        {
            "sample_type",
            "field_map",
            "random_access",
            "split_ratios",
            "split_patterns",
            "exclude",
            "tokenizer",
            "aux",
            "subflavors",
        }
    )

    parts: Mapping[str, str] = field(default_factory=lambda: {"json": "*"})
    files: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    media: tuple[str, ...] = ()
    media_metadata: str = ""
    key: str = ""
    sample_type: str = ""
    field_map: Mapping[str, str] = field(default_factory=dict)
    shard_samples: Annotated[int, Meta(ge=1)] = 100_000
    shard_bytes: Annotated[int, Meta(ge=1)] = 1 << 30
    random_access: bool = True
    split_ratios: Mapping[str, float] = field(default_factory=dict)
    split_patterns: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    aux: Mapping[str, str] = field(default_factory=dict)
    subflavors: Mapping[str, str] = field(default_factory=dict)
    tokenizer: str = ""

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one of them is wrong.
        """
        what = "EnergonWebdataset"
        check_types(self, what)
        check_paths(self.parts.values(), f"{what}: parts")
        check_paths(self.files.values(), f"{what}: files")
        check_paths(self.media, f"{what}: media")
        check_root(self.root, f"{what}: root")
        check_paths([self.key] if self.key else [], f"{what}: key")
        check_aux(self.aux, f"{what}: aux")
        both = self.parts.keys() & self.files.keys()
        if both or not (self.parts or self.files):
            raise RecipeError(f"{what}: give at least one part, each once; twice: {', '.join(sorted(both)) or 'none'}")
        for part in (*self.parts, *self.files):
            if not is_part(part) and (part != BY_ENDING or part in self.parts):
                raise RecipeError(
                    f"{what}: {part!r} cannot name a part; use letters, digits, _, - and dots between them, without"
                    " __ at the start, as in 'txt' or 'seg.png'"
                )
        if self.files and not self.root:
            raise RecipeError(f"{what}: files={dict(self.files)} need root=, the folder that has them")
        self._check_media_metadata()
        if self.key and not self.random_access:
            raise RecipeError(
                f"{what}: with key={self.key!r} the index must prove that no two samples have one key; leave"
                " random_access=False out"
            )
        if self.split_ratios and self.split_patterns:
            raise RecipeError(f"{what}: give split_ratios or split_patterns, not both")
        if self.tokenizer and (self.split_ratios or self.split_patterns):
            raise RecipeError(
                f"{what}: tokenizer={self.tokenizer!r} counts the tokens of the mix's own splits; leave split_ratios"
                " and split_patterns out"
            )
        self._check_sample_type()

    @property
    def needs(self) -> Mapping[str, str]:
        return needs("PIL", "av", "filetype") if self.media_metadata else {}

    @property
    def divides(self) -> bool:
        return bool(self.split_ratios or self.split_patterns)

    @property
    def media_filter(self) -> MediaFilter | None:
        """The filter of the parts that are media whose metadata are written; None without media_metadata.

        >>> EnergonWebdataset(media_metadata="*.jpg, *.png").media_filter
        MediaFilter(strategy='GLOB', patterns='*.jpg,*.png')
        """
        if not self.media_metadata:
            return None
        by_name = {"extension": MediaFilter("EXTENSION"), "header": MediaFilter("HEADER")}
        patterns = ",".join(pattern.strip() for pattern in self.media_metadata.split(","))
        return by_name.get(self.media_metadata, MediaFilter("GLOB", patterns))

    def _check_media_metadata(self) -> None:
        """Checks that there is an index for the metadata, and that parts can be media."""
        chosen, what = self.media_filter, f"EnergonWebdataset: media_metadata={self.media_metadata!r}"
        if chosen is None:
            return
        if not self.random_access:
            raise RecipeError(f"{what} is written into index.sqlite; leave random_access=False out")
        if chosen.strategy == "GLOB" and not all("*" in pattern for pattern in chosen.patterns.split(",")):
            raise RecipeError(f"{what}: give 'extension', 'header', or patterns such as '*.jpg,*.png'")
        parts = (*self.parts, *self.files)
        endings = BY_ENDING in self.files or any(kind_by_ending(f"key.{part}") for part in parts)
        if chosen.strategy == "EXTENSION" and not endings:
            raise RecipeError(
                f"{what}: no part has the ending of a media file; the parts are {', '.join(sorted(parts))}. Give"
                " 'header' or patterns"
            )

    def _check_sample_type(self) -> None:
        """Checks the class of the samples and its field map against the parts."""
        if bool(self.sample_type) != bool(self.field_map):
            raise RecipeError(
                f"EnergonWebdataset: sample_type={self.sample_type!r} and field_map={dict(self.field_map)}: give both,"
                " or neither for crude samples"
            )
        if self.sample_type and ":" not in self.sample_type:
            check_field_map(sample_type(self.sample_type), self.field_map)
            self._check_decoded(sample_type(self.sample_type))
        written = self.parts.keys() | self.files.keys()
        for name, places in self.field_map.items():
            named = {place.part for place in parse_places(places)}
            by_ending = BY_ENDING in self.files and any(kind_by_ending(f"key.{part}") for part in named)
            if not written & named and not by_ending:
                raise RecipeError(
                    f"EnergonWebdataset: field_map: {name!r} is {places!r}, which no sample has; its parts are"
                    f" {', '.join(sorted(written))}"
                )

    def _check_decoded(self, kind: SampleType) -> None:
        """Checks that the loader decodes the parts of the field map. What it makes of a part is told by its ending.

        Args:
            kind: the type of the samples.
        """
        for name, places in self.field_map.items():
            for part in {place.part for place in parse_places(places)}:
                ending, media = part.rpartition(".")[2], kind.field(name).kind in {"image", "video"}
                if part in self.parts and ending not in _DECODED:
                    examples = f"'{part}.txt' or '{part}.json'"
                elif (
                    part in self.files
                    and media
                    and not (kind_by_ending(f"a.{part}") or ending.lower() in _ALSO_DECODED)
                ):
                    examples = f"'{part}.jpg'"
                else:
                    continue
                raise RecipeError(
                    f"EnergonWebdataset: field_map: {name!r} is {part!r}: Energon decodes a part by its last ending,"
                    f" and this one would stay bytes; name it such as {examples}"
                )


_DECODED = frozenset({"txt", "text", "transcript", "json", "jsn", "cls", "cls2", "index", "inx", "id"})
"""The endings of parts of which the loader makes texts, JSON or integers."""
_ALSO_DECODED = frozenset({"apng", "jfif", "jpe", "npy", "npz", "pbm", "pgm", "pnm", "ppm", "psd", "pth", "tga"})
"""Further endings of files of which it makes images or tensors."""
