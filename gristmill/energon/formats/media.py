"""Which files are media, and the row that an index keeps of each.

Files are selected in exactly one of three ways: by the endings of their names, by their first bytes, or by patterns.
The rows are those of NVIDIA/Megatron-Energon 7.4.1.
"""

import json
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final, Literal, NamedTuple

from gristmill.energon.formats.media_facts import image_facts, mime_type, read_video_or_audio
from gristmill.errors import RecipeError

MediaKind = Literal["image", "av"]
Strategy = Literal["EXTENSION", "HEADER", "GLOB"]

HEAD: Final = 8192
"""Bytes at the beginning of a file that tell what it is."""

_IMAGES: Final = frozenset(("bmp", "gif", "ico", "j2k", "jp2", "jpx", "jpeg", "jpg", "png", "tif", "tiff", "webp"))
_AV: Final = frozenset(("aac", "avi", "flac", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "ogg", "wav", "webm"))
_FORMATS: Final = {
    "jpg": ("JPEG", "MPO"),
    "jpeg": ("JPEG", "MPO"),
    "tif": ("TIFF",),
    **dict.fromkeys(("j2k", "jp2", "jpx"), ("JPEG2000",)),
}
"""Pillow's names of the formats of an ending, if it is not the ending in capitals."""
_CONTAINERS: Final = {
    **dict.fromkeys(("m4a", "m4v", "mov", "mp4"), "mov"),
    **dict.fromkeys(("mkv", "webm"), "matroska"),
}
"""PyAV's name of the format of an ending, if it is not the ending: formats of one family have one name."""


class MediaRow(NamedTuple):
    """A row of the table `media_metadata`.

    Attributes:
        entry_key: name of the file in its dataset: `key.part`, or a path in a folder.
        metadata_type: `image` or `av`.
        metadata_json: compact JSON, without fields that are not known.
    """

    entry_key: str
    metadata_type: MediaKind
    metadata_json: str


class MediaFilter(NamedTuple):
    """Selects the media among the files of a dataset.

    Attributes:
        strategy: way of selecting: by the ending of the name, by the first bytes, or by patterns.
        patterns: patterns of names, for GLOB: `*.jpg,*.png`. Upper and lower case are the same; `*` matches slashes
            too.

    >>> names = ["a.JPG", "b.mp3", "c.json"]
    >>> [MediaFilter("EXTENSION").kind(name, b"") for name in names]
    ['image', 'av', None]
    >>> [MediaFilter("GLOB", "*.jpg,*.mp4").may_be_media(name) for name in names]
    [True, False, False]
    """

    strategy: Strategy
    patterns: str = ""

    def may_be_media(self, name: str) -> bool:
        """Whether a file can be media, as far as its name tells. If not, nobody reads it."""
        if self.strategy == "EXTENSION":
            return kind_by_ending(name) is not None
        return self.strategy == "HEADER" or any(_matches_glob(name, pattern) for pattern in self.patterns.split(","))

    def kind(self, name: str, head: bytes) -> MediaKind | None:
        """The kind of a media file; None if the file is not media.

        Args:
            name: name of the file.
            head: its first `HEAD` bytes, or all if it has fewer.

        Raises:
            RecipeError: the extra `energon` is not installed.
        """
        if self.strategy == "HEADER":
            return kind_by_head(head) or kind_by_ending(name)
        return kind_by_ending(name) or (kind_by_head(head) if self.strategy == "GLOB" else None)


def read_media_filter(by_glob: str | None, *, by_header: bool, by_extension: bool) -> MediaFilter:
    """The filter of three options, of which exactly one must be given.

    Args:
        by_glob: patterns with commas between them; None if the option was not given.
        by_header: whether the first bytes select.
        by_extension: whether the endings of names select.

    Raises:
        RecipeError: no option was given, or several, or a pattern is empty.

    >>> read_media_filter("*.jpg, *.png", by_header=False, by_extension=False)
    MediaFilter(strategy='GLOB', patterns='*.jpg,*.png')
    """
    given = sum((by_glob is not None, by_header, by_extension))
    if given != 1:
        raise RecipeError(
            f"media are selected in {given} ways: give exactly one of --media-by-extension, --media-by-header and"
            " --media-by-glob '*.jpg,*.png'"
        )
    if by_glob is None:
        return MediaFilter("HEADER" if by_header else "EXTENSION")
    patterns = [pattern.strip() for pattern in by_glob.split(",")]
    if not all(patterns):
        raise RecipeError(f"--media-by-glob {by_glob!r}: a pattern is empty; give patterns such as '*.jpg,*.png'")
    return MediaFilter("GLOB", ",".join(patterns))


def _matches_glob(name: str, pattern: str) -> bool:
    name, pattern = name.lower(), pattern.lower()
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)


def kind_by_ending(name: str) -> MediaKind | None:
    """The kind of media that the last ending of a name says.

    >>> kind_by_ending("cats/tom.seg.PNG"), kind_by_ending("tom")
    ('image', None)
    """
    ending = _lower_ending(name)
    return "image" if ending in _IMAGES else "av" if ending in _AV else None


def _lower_ending(name: str) -> str:
    return PurePosixPath(name).suffix.removeprefix(".").lower()


def kind_by_head(head: bytes) -> MediaKind | None:
    """The kind of media that the first bytes of a file say; None if they are those of no media.

    Raises:
        RecipeError: the extra `energon` is not installed.
    """
    mime = mime_type(head)
    return "image" if mime.startswith("image/") else "av" if mime.startswith(("video/", "audio/")) else None


def media_row(entry_key: str, kind: MediaKind, data: bytes) -> MediaRow:
    """The row of one file. An image is decoded as a whole, so that a truncated one is found.

    Args:
        entry_key: key of the entry, as for MediaRow.
        kind: kind from `MediaFilter.kind`.
        data: content of the file.

    Raises:
        DataError: the file is truncated or damaged, or no media of this kind. The message is the reason alone.
        RecipeError: the extra `energon` is not installed.
    """
    return read_media(entry_key, kind, data)[0]


def read_media(entry_key: str, kind: MediaKind, data: bytes) -> tuple[MediaRow, str]:
    """The row of one file, as `media_row`; and its format if its name says another one, else an empty text.

    Args:
        entry_key: key of the entry, as for MediaRow.
        kind: kind from `MediaFilter.kind`.
        data: content of the file.

    Raises:
        DataError: as `media_row`.
        RecipeError: the extra `energon` is not installed.
    """
    if kind == "image":
        facts = image_facts(data)
        form = str(facts["format"])
    else:
        facts, form = read_video_or_audio(data)
    known = {name: value for name, value in facts.items() if value is not None}
    row = MediaRow(entry_key, kind, json.dumps(known, separators=(",", ":")))
    return row, misnamed_format(row, form)


def misnamed_format(row: MediaRow, form: str = "") -> str:
    """The format of a file whose name says another one; empty if they agree.

    Args:
        row: row of the file.
        form: the format of a video or of sound, from `read_av`; that of an image is in its row.

    >>> misnamed_format(MediaRow("a.png", "image", '{"width":1,"height":1,"format":"JPEG","mode":"RGB"}'))
    'JPEG'
    >>> misnamed_format(MediaRow("a.m4v", "av", "{}"), "mov"), misnamed_format(MediaRow("a.wav", "av", "{}"), "mp3")
    ('', 'mp3')
    """
    ending = _lower_ending(row.entry_key)
    if row.metadata_type == "image":
        form = form or str(json.loads(row.metadata_json)["format"])
        agree = form in _FORMATS.get(ending, (ending.upper(),))
    else:
        agree = form == _CONTAINERS.get(ending, ending)
    return form if ending in _IMAGES | _AV and not agree else ""
