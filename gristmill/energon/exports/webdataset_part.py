"""Writes the samples of one part into tars: a document is a sample."""

from collections.abc import Callable, Sequence

import msgspec

from gristmill.energon.exports.document_values import DocumentValues, Values, media_names
from gristmill.energon.exports.media_source import MediaSource, missing_media
from gristmill.energon.exports.splits import ENERGON_SPLIT
from gristmill.energon.exports.tar_files import TAR, TarFile
from gristmill.energon.formats.media import HEAD, MediaFilter, MediaRow, read_media
from gristmill.energon.recipes.exports import BY_ENDING, EnergonWebdataset
from gristmill.errors import DataError
from gristmill.formats.tar.keys import RESERVED, UNPICKLED, check_media_name, safe_key, split_name
from gristmill.recipes.export_formats.codec import FileFacts, Placed, RowBlock, Sink
from gristmill.recipes.export_formats.not_taken import DAMAGED_MEDIA, NotTaken

NO_KEY = NotTaken("its key is neither a string nor a whole number that can name a sample")
NO_PARTS = NotTaken("it has none of the parts")
NO_ENDING = NotTaken("its media file has a name without an ending")
RESERVED_PART = NotTaken("the ending of its media file is a name that the loader gives a sample itself")
UNPICKLED_PART = NotTaken("its media file has an ending that the loader unpickles, which runs what the file says")
SAME_PARTS = NotTaken("the ending of its media file is the name of another part")

_HEADER = 1024
"""Bytes that a part takes at most besides its content, if its name is short."""
_TEXT = msgspec.json.Decoder(str)


class WebdatasetPart:
    """The tars of one part. See PartFiles.

    Args:
        declared: options as declared.
        part: the name of the part's folder.
        create: function that opens a file of the part, by its name.
        media: source that has the media files; None: no part is one, and those that are named are not looked for.
    """

    def __init__(
        self, declared: EnergonWebdataset, part: str, create: Callable[[str], Sink], media: MediaSource | None
    ) -> None:
        self._declared, self._create, self._media = declared, create, media
        self._selected = declared.media_filter
        self._prefix = part.rpartition("-")[2]
        self._parts, self._files = sorted(declared.parts), sorted(declared.files)
        paths = [declared.parts[name] for name in self._parts] + [declared.files[name] for name in self._files]
        paths += [declared.key] if declared.key else []
        self._texts = [_is_text(name, declared.parts[name]) for name in self._parts]
        texts = [number for number, text in enumerate(self._texts) if text]
        self._values = DocumentValues(paths, declared.media, list(declared.files.values()), media, texts)
        self._open: dict[str, TarFile] = {}
        self._tars: dict[str, int] = {}
        self._facts: dict[str, FileFacts] = {}
        self.counts: dict[str, int] = {}

    def write(self, rows: RowBlock) -> list[Placed]:
        """See PartFiles.

        Raises:
            DataError: two neighbours have one key; names the row.
            StoreError: a media file cannot be read.
        """
        return [self._add_sample(values, rows, number) for number, values in enumerate(self._values.read(rows))]

    def _add_sample(self, values: Values | NotTaken, rows: RowBlock, number: int) -> Placed:
        if isinstance(values, NotTaken):
            return values
        key = self._unique_sample_key(values, rows.first + number)
        parts = self._sample_parts(values, rows.pairs[number].pair[1])
        if isinstance(key, NotTaken):
            return key
        if isinstance(parts, NotTaken):
            return parts
        found = media_rows(key, parts, self._selected) if self._selected else []
        if isinstance(found, NotTaken):
            return found
        size = sum(len(data) + _HEADER for _, data in parts)
        tar = self._tar_with_room(ENERGON_SPLIT[rows.splits[number]], size)
        source, id_ = pair = rows.pairs[number].pair
        try:
            tar.add(key, parts, pair, found)
        except DataError as error:
            mend = f"; give key a path other than {self._declared.key!r}" if self._declared.key else ""
            place = f"row {rows.first + number}, document {id_!r:.100} of {source!r:.100}"
            raise DataError(f"{rows.path}: {place}: {error}{mend}") from error
        return tar.name

    def _unique_sample_key(self, values: Values, row: int) -> str | NotTaken:
        """The key of a sample: unique in the dataset, because the name of a part has a digest of what it is made of."""
        if not self._declared.key:
            return f"{self._prefix}-{row:06d}"
        value = values[-1]
        if value is None or not (value.startswith(b'"') or value.isdigit()):
            return NO_KEY
        text = value.decode() if value.isdigit() else _TEXT.decode(value)
        try:
            return check_media_name(text)[0] if self._declared.key in self._declared.files.values() else safe_key(text)
        except DataError:
            return NO_KEY

    def _sample_parts(self, values: Values, document: str) -> list[tuple[str, bytes]] | NotTaken:
        """Name and content of each part."""
        parts = []
        for name, text, value in zip(self._parts, self._texts, values, strict=False):
            data = value if text else _part_content(name, value)
            if data is not None:
                parts.append((name, data))
        media = self._media
        if media is None:
            return parts or NO_PARTS
        for name, found in zip(self._files, values[len(self._parts) :], strict=False):
            value = found or b"null"
            named, listed = media_names(value) or [], value.startswith(b"[")
            for number, path in enumerate(named):
                data = media.read(path, document)
                if data is None:
                    return missing_media(media, path, document)
                part = (split_name(path) or ("", ""))[1] if name == BY_ENDING else name
                if name == BY_ENDING and (reason := _part_ending_problem(part)):
                    return reason
                parts.append((f"{number}.{part}" if listed else part, data))
        if BY_ENDING in self._files and len({name for name, _ in parts}) < len(parts):
            return SAME_PARTS
        return parts or NO_PARTS

    def _tar_with_room(self, split: str, size: int) -> TarFile:
        """The tar of a split that has room for so many bytes."""
        tar = self._open.get(split)
        most = self._declared
        if tar and (tar.samples >= most.shard_samples or tar.size + size > most.shard_bytes):
            self._facts |= tar.close()
            tar = None
        if tar is None:
            number = self._tars.get(split, 0)
            self._tars[split] = number + 1
            tar = self._open[split] = TarFile(
                self._create, f"{split}-{number:05d}{TAR}", media=self._selected is not None
            )
        return tar

    def close(self) -> dict[str, FileFacts]:
        """See PartFiles."""
        for tar in self._open.values():
            self._facts |= tar.close()
        return dict(sorted(self._facts.items()))


def _part_ending_problem(part: str) -> NotTaken | None:
    """Why a file cannot name its part; None if it can."""
    if not part:
        return NO_ENDING
    if part.startswith(RESERVED):
        return RESERVED_PART
    return UNPICKLED_PART if part.rpartition(".")[2].lower() in UNPICKLED else None


def _is_text(part: str, path: str) -> bool:
    """Whether a part is the text of the document, which is a string in every document."""
    return path.removesuffix("?") == "text" and not _is_json(part)


def _is_json(part: str) -> bool:
    return part.rpartition(".")[2] == "json"


def media_rows(key: str, parts: Sequence[tuple[str, bytes]], media: MediaFilter) -> list[MediaRow] | NotTaken:
    """The metadata of the parts of a sample that are media, or why the document is refused.

    Args:
        key: key of the sample.
        parts: name and content of each part.
        media: filter that says which of them are media.

    Raises:
        RecipeError: the extra `energon` is not installed.
    """
    rows = []
    for name, data in parts:
        entry = f"{key}.{name}"
        kind = media.kind(entry, data[:HEAD]) if media.may_be_media(entry) else None
        if kind is None:
            continue
        try:
            row, other = read_media(entry, kind, data)
        except DataError as error:
            return DAMAGED_MEDIA._replace(about=f"part {name}: {error}")
        if other:
            hint = "with files={'*': ...} the file names the part"
            return DAMAGED_MEDIA._replace(about=f"part {name}: its format is {other}, not what its name says; {hint}")
        rows.append(row)
    return rows


def _part_content(part: str, value: bytes | None) -> bytes | None:
    """The content of a part; None if the document has no value for it."""
    if value is None or _is_json(part):
        return value
    if value.startswith(b'"'):
        return _TEXT.decode(value).encode()
    return None if value == b"null" else value
