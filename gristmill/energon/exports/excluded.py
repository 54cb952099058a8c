"""The tars and samples that Energon leaves out: those that the recipe names, and those of blocked documents."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from gristmill.energon.exports.tar_files import IDS, SAMPLES, TAR, read_samples
from gristmill.errors import DataError
from gristmill.lake.identity import Pair, hashes_shared_by, load_hashes, sorted_pair_hashes
from gristmill.recipes.export_formats.codec import ExportedFile

Read = Callable[[ExportedFile], Iterator[bytes]]


def declared_tars(exclude: Sequence[str], tars: Mapping[str, str]) -> dict[str, str]:
    """The tars that hold what a recipe excludes, by the excluded path in the lake: the tar that it is, or is in.

    Args:
        exclude: paths below the export, of tars and of samples as `tar/key`.
        tars: path in the lake of each tar, by its path below the export.

    Raises:
        DataError: the release has no such tar.

    >>> declared_tars(["a/0.tar/k"], {"a/0.tar": "exports/m/e/a/0.tar"})
    {'exports/m/e/a/0.tar/k': 'exports/m/e/a/0.tar'}
    """
    found: dict[str, str] = {}
    for name in exclude:
        tar, ending, key = name.partition(f"{TAR}/")
        path = tars.get(tar + TAR if ending else name)
        if path is None:
            raise DataError(
                f"the recipe excludes {name!r}, but the release has no such tar; a part that was made again has another"
                f" name. Correct exclude; the tars are {', '.join(list(tars)[:3]) or 'none'} and so on"
            )
        found[f"{path}/{key}" if ending else path] = path
    return found


def missing_samples(declared: Mapping[str, str], files: Mapping[str, ExportedFile], read: Read) -> None:
    """Checks that each declared sample is in its tar.

    Args:
        declared: declared samples from declared_tars().
        files: files of the parts, by their paths in the lake.
        read: the bytes of a file.

    Raises:
        DataError: one is not.
    """
    for path, tar in declared.items():
        keys = (line.key for lines in read_samples(read(files[tar + SAMPLES]), tar + SAMPLES) for line in lines)
        if path != tar and path.removeprefix(f"{tar}/") not in keys:
            raise DataError(f"the recipe excludes {path!r}, but this tar has no such sample; correct exclude")


def blocked_samples(
    files: Mapping[str, ExportedFile], blocked: Mapping[str, Collection[Pair]], read: Read
) -> list[str]:
    """The samples of blocked documents, as `tar/key`.

    Of each tar, the hashes of its documents are read; the list of its samples only if a document is blocked.

    Args:
        files: files of the parts, by their paths in the lake.
        blocked: source and id of the documents that each stream must not have.
        read: the bytes of a file.
    """
    hashes = {stream: sorted_pair_hashes(list(pairs)) for stream, pairs in blocked.items() if pairs}
    found: list[str] = []
    for path, file in files.items():
        if not path.endswith(IDS) or file.stream not in hashes:
            continue
        tar, pairs = path.removesuffix(IDS), blocked[file.stream]
        if len(hashes_shared_by(hashes[file.stream], load_hashes(b"".join(read(file))))):
            for lines in read_samples(read(files[tar + SAMPLES]), tar + SAMPLES):
                found += [f"{tar}/{line.key}" for line in lines if (line.source, line.id) in pairs]
    return found
