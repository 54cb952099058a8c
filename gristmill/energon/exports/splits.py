"""The names that Energon has for the splits of a mix, and the datasets that a release consists of."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gristmill.lake.address import part_at
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.recipes.export_formats.codec import MANY_FILES, TRAIN, VALIDATION, NamedFile

ENERGON_SPLIT = {"": "train", TRAIN: "train", VALIDATION: "val"}
"""Energon's name for each split of a mix."""

_WHOLE = 1e-9
"""So near to a whole number of repetitions, an epoch reads the whole stream each time."""

_LEFT_OUT = 0.01
"""So small a share of an epoch's samples is not worth a warning if rounding leaves it out."""


def warn_of_many(files: int, mend: str) -> tuple[str, ...]:
    """A warning if a dataset has more files than its readers like.

    Args:
        files: number of files.
        mend: advice, for the warning.

    >>> warn_of_many(10_000, "write larger tars"), warn_of_many(10_001, "write larger tars")
    ((), ('the release has 10,001 files, and Energon works best with at most 10,000; write larger tars',))
    """
    if files <= MANY_FILES:
        return ()
    return (f"the release has {files:,} files, and Energon works best with at most {MANY_FILES:,}; {mend}",)


def warn_of_fractions(repetitions: Mapping[str, float]) -> tuple[str, ...]:
    """A warning if an epoch reads a part of a stream. The next epoch of Energon then begins with the rest of it.

    Args:
        repetitions: number of times that an epoch has each stream, by its name.

    >>> warn_of_fractions({"web": 2.0}), len(warn_of_fractions({"web": 2.0, "code": 0.6}))
    ((), 1)
    """
    parts = [f"{name!r} {times:.3g} times" for name, times in repetitions.items() if abs(times - round(times)) > _WHOLE]
    if not parts:
        return ()
    warning = (
        f"an epoch reads {', '.join(parts)}, and only the first epoch of a dataset of Energon has the declared shares;"
        " make token_budget that of the whole training, or build the dataset anew for each epoch, with repeat=False and"
        " another seed_offset"
    )
    return (warning,)


class Dataset(NamedTuple):
    """What a metadataset names: samples of one stream and one split.

    Attributes:
        stream: name of the stream.
        split: Energon's name of the split.
        path: path of the file or folder, in the lake.
        rows: number of samples.
        part: name of the split in the dataset's own files.
    """

    stream: str
    split: str
    path: str
    rows: int
    part: str


def dataset_of_file(file: NamedFile) -> Dataset:
    """A file of a part.

    >>> dataset_of_file(NamedFile("exports/m/e/tales/2024/part-00001-1f/val.jsonl", 3, "val"))[:2]
    ('tales', 'val')
    """
    part = part_at(file.path)
    stream = names_in_asset_address(part[0].asset)["stream"] if part else ""
    return Dataset(stream, file.split, file.path, file.rows, file.split)


def warn_of_rounding(repetitions: Mapping[str, float], files: Sequence[Dataset], mend: str) -> tuple[str, ...]:
    """A warning for each stream of which an epoch has fewer samples than it should, as its files are small.

    Energon reads a whole number of samples of each file, rounded down.

    Args:
        repetitions: number of times that an epoch has each stream, by its name.
        files: the files of the release.
        mend: advice, for the warning.

    >>> small = [Dataset("web", "train", f"{number}.jsonl", 5, "train") for number in range(60)]
    >>> print(warn_of_rounding({"web": 0.1}, small, "join them")[0].partition(",")[0])
    an epoch of Energon has 0 of the 30 wanted samples of 'web': it rounds down in each of 60 files
    >>> warn_of_rounding({"web": 0.1}, [small[0]._replace(rows=300)], "join them"), warn_of_rounding({}, small, "")
    ((), ())
    """
    warnings: list[str] = []
    for stream, times in repetitions.items():
        rows = [each.rows for each in files if (each.stream, each.split) == (stream, ENERGON_SPLIT[TRAIN])]
        whole, wanted = math.floor(times), round(sum(rows) * times)
        read = sum(number * whole + math.floor(number * (times - whole)) for number in rows)  # as Energon counts
        if wanted - read > max(1, wanted * _LEFT_OUT):
            warnings.append(
                f"an epoch of Energon has {read:,} of the {wanted:,} wanted samples of {stream!r}: it rounds down in"
                f" each of {len(rows):,} files, and again for each worker; {mend}"
            )
    return tuple(warnings)


def split_in_file_name(path: str) -> str:
    """The split that a file has in its name, as Energon names it.

    >>> split_in_file_name("tales/train-00000.jsonl"), split_in_file_name("val.jsonl.idx")
    ('train', 'val')
    """
    return path.rpartition("/")[2].partition(".")[0].partition("-")[0]
