"""The codec of Energon's JSON lines: a file for each split with its index, and a metadataset that names all files."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from gristmill.energon.exports.document_values import DocumentValues, Values
from gristmill.energon.exports.line_file import INDEX, LineFile
from gristmill.energon.exports.media_source import MediaSource, check_prepared, open_media
from gristmill.energon.exports.mixture import metadataset_files
from gristmill.energon.exports.splits import (
    ENERGON_SPLIT,
    Dataset,
    dataset_of_file,
    split_in_file_name,
    warn_of_fractions,
    warn_of_many,
    warn_of_rounding,
)
from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export_formats.codec import (
    Codec,
    Content,
    ExportedFile,
    FileFacts,
    NamedFile,
    Placed,
    Release,
    ReleaseFile,
    RowBlock,
    Sink,
)
from gristmill.recipes.export_formats.cuts import cut_release_files
from gristmill.recipes.export_formats.not_taken import NotTaken
from gristmill.recipes.export_formats.sample_start import SampleStart

ENDING = ".jsonl"


class EnergonJsonlCodec(Codec):
    """Writes JSON lines for Energon. JSON lines have no list of excluded samples: a takedown rewrites the part."""

    options = EnergonJsonl
    weighted = True
    declared: EnergonJsonl
    _media: MediaSource | None = None

    def check(self, lake: Store) -> None:
        """See Codec: the folder of the media."""
        check_prepared(lake, self.declared.root)

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> "JsonlPart":  # noqa: ARG002 - names no file
        """See Codec."""
        self._media = self._media or open_media(lake, self.declared.root)
        return JsonlPart(self.declared, create, self._media)

    def release(self, sources: Sequence[ExportedFile]) -> Content:
        """See Codec: the files of the parts where they are; or joined, for each stream and split."""
        lines = [source for source in sources if source.name.endswith(ENDING)]
        if self.declared.file_bytes is None:
            return Content(
                named=[NamedFile(each.path, each.facts.rows, split_in_file_name(each.name)) for each in lines]
            )
        groups: dict[tuple[str, str], list[ExportedFile]] = {}
        for source in lines:
            groups.setdefault((source.stream, split_in_file_name(source.name)), []).append(source)
        files: list[ReleaseFile] = []
        for (stream, split), group in groups.items():
            for number, pieces in enumerate(cut_release_files(group, self.declared.file_bytes)):
                files.append(ReleaseFile.joined(f"{stream}/{split}-{number:05d}{ENDING}", pieces))
        return Content(files, built={file.name + INDEX: _part_index_names(file) for file in files})

    def build(self, release: Release, name: str, read: Callable[[str], Iterator[bytes]]) -> Iterator[bytes]:
        """See Codec: the index of a joined file, from those of the parts."""
        file = next(file for file in release.files if file.name + INDEX == name)
        yield bytes(8)
        size, path, ends = 0, "", np.empty(0, np.uint64)
        for piece in file.pieces:
            if piece.path != path:
                path, ends = piece.path, np.frombuffer(b"".join(read(piece.path + INDEX)), "<u8")
            rows = ends[piece.row + 1 : piece.row + piece.rows + 1]
            yield (rows - np.uint64(piece.start) + np.uint64(size)).astype("<u8").tobytes()
            size += piece.end - piece.start

    def sample(self, path: str, row: int, read: Callable[[str], Iterator[bytes]]) -> SampleStart:
        """See Codec: the offset that the index has."""
        return SampleStart("", int(np.frombuffer(b"".join(read(path + INDEX)), "<u8")[row]))

    def warnings(self, release: Release) -> tuple[str, ...]:
        """See Codec: too many files, samples that rounding leaves out, or shares that hold for one epoch only."""
        files = _datasets_of_release(release)
        many = warn_of_many(len(files), "give the export file_bytes, which joins them")
        mend = "give the export larger file_bytes" if release.files else "give the export file_bytes, which joins them"
        rounding = warn_of_rounding(release.repetitions, files, mend)
        return (*many, *rounding, *warn_of_fractions(release.repetitions))

    def beside(self, release: Release, sha256: Mapping[str, str]) -> dict[str, bytes]:  # noqa: ARG002 - no checksums
        """See Codec: the metadataset, which names every file."""
        return metadataset_files(release, _datasets_of_release(release), self.declared.aux, self.declared.subflavors)


def _datasets_of_release(release: Release) -> list[Dataset]:
    """The files that a release names."""
    datasets = [dataset_of_file(file) for file in release.named]
    for file in release.files:
        stream, split = file.name.partition("/")[0], split_in_file_name(file.name)
        datasets.append(Dataset(stream, split, release.folder + file.name, file.rows, split))
    return datasets


def _part_index_names(file: ReleaseFile) -> list[str]:
    """The indexes of the files that a file of the release is made from."""
    return [path + INDEX for path in dict.fromkeys(piece.path for piece in file.pieces)]


class JsonlPart:
    """The files of one part: the lines of each split, and their index. See PartFiles."""

    def __init__(self, declared: EnergonJsonl, create: Callable[[str], Sink], media: MediaSource | None) -> None:
        self._create = create
        names = sorted(declared.fields)
        self._keys = [msgspec.json.encode(name) + b":" for name in names]
        self._reads = bool(names or declared.media)
        paths = [declared.fields[name] for name in names]
        self._values = DocumentValues(paths, declared.media, source=media)
        self._files: dict[str, LineFile] = {}
        self.counts: dict[str, int] = {}

    def write(self, rows: RowBlock) -> list[Placed]:
        """See PartFiles."""
        files: list[Placed] = [ENERGON_SPLIT[split] + ENDING for split in rows.splits]
        if self._reads:
            return self._write_lines(*self._choose_lines_and_files(rows, files))
        if len(set(rows.splits)) > 1:
            return self._write_lines(split_rows(rows.lines), files)
        self._open_line_file(str(files[0])).write(rows.lines)
        return files

    def _choose_lines_and_files(self, rows: RowBlock, files: Sequence[Placed]) -> tuple[list[bytes], list[Placed]]:
        """The line of each document, and the file that it goes to."""
        values = self._values.read(rows)
        chosen = [each if isinstance(each, NotTaken) else file for each, file in zip(values, files, strict=True)]
        lines = [self._encode_line(each) for each in values] if self._keys else split_rows(rows.lines)
        return lines, chosen

    def _encode_line(self, values: Values | NotTaken) -> bytes:
        if isinstance(values, NotTaken):
            return b""
        pairs = (key + value for key, value in zip(self._keys, values, strict=True) if value is not None)
        return b"{" + b",".join(pairs) + b"}"

    def _write_lines(self, lines: Sequence[bytes], files: list[Placed]) -> list[Placed]:
        for name in dict.fromkeys(file for file in files if isinstance(file, str)):
            kept = [line for line, file in zip(lines, files, strict=True) if file == name]
            self._open_line_file(name).write(b"\n".join([*kept, b""]))
        return files

    def _open_line_file(self, name: str) -> LineFile:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = LineFile(self._create(name), self._create(name + INDEX))
        return file

    def close(self) -> dict[str, FileFacts]:
        """See PartFiles."""
        facts: dict[str, FileFacts] = {}
        for name, file in sorted(self._files.items()):
            facts[name], facts[name + INDEX] = file.close()
        return facts
