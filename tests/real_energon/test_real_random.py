"""Random tars, prepared by `gristmill energon prepare` and by the real tool: the same files, and the same samples."""

import json
import random
import shutil
import sqlite3
import tarfile
from collections.abc import Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from peer import Ask
from tarfolder import contents

from gristmill.__main__ import main

pytestmark = pytest.mark.slow
REAL = ["--non-interactive", "--no-progress", "--num-workers", "1", "--sample-type", "CrudeWebdataset"]
FORMS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
LETTERS = "abcXYZ019-_ é日ß@+~'=()"
PARTS = ("txt", "TXT", "json", "seg.png", "a.b.c", "é.txt", "0", "Json")
RATIOS = ("8,1,1", "1,0,0", "2,1,1", "1,1,0")
APART = {".nv-meta/index.sqlite", ".nv-meta/index.uuid", ".nv-meta/dataset.yaml"}
"""Files with other bytes: rows are compared; the real tool draws its uuid; ours has its strings in quotes."""


def write_random(folder: Path, draw: random.Random) -> dict[str, bytes]:
    """Tars in a few folders: keys with folders, dots before, letters of all kinds; a sample has any parts.

    Returns:
        The content of each part, by key, dot and name of the part.
    """
    written: dict[str, bytes] = {}
    used = set[str]()
    for number in range(draw.randint(3, 9)):
        path = folder / draw.choice(["", "shards", "deep/er", "Ü"]) / f"{draw.choice('abc')}-{number:03}.tar"
        path.parent.mkdir(parents=True, exist_ok=True)
        form = draw.choice(FORMS)
        lengths = (1, 3, 8, 20) if form == tarfile.USTAR_FORMAT else (1, 3, 8, 60, 120)  # of 100 bytes it has room
        with tarfile.open(path, "w", format=form) as tar:
            for _ in range(draw.randint(1, 12)):
                key = random_key(draw, lengths, used)
                for part in draw.sample(PARTS, draw.randint(1, 4)):
                    data = draw.randbytes(draw.choice([0, 1, 511, 512, 513, 3000]))
                    if part.lower() == "json":  # the real tool shows one of them
                        data = json.dumps({"data": data.hex()}).encode()
                    written[f"{key}.{part}"] = data
                    add(tar, f"{key}.{part}", data)
                if draw.random() < 0.2:
                    add(tar, draw.choice(["README", "__about__/x.txt", ".hidden"]), b"no sample")
    return written


def random_key(draw: random.Random, lengths: Sequence[int], used: set[str]) -> str:
    """A key that no sample has yet: sometimes in folders with dots, sometimes long, in upper and lower case."""
    folders = draw.choice(["", "", "./", "v1.0/", "a/b.c/"])
    while True:
        name = "".join(draw.choice(LETTERS) for _ in range(draw.choice(lengths))).strip()
        key = folders + name
        if name and key not in used and not name.startswith("__"):
            used.add(key)
            return key


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, BytesIO(data))


def rows_of(index: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of an index, sorted, and what it consists of."""
    columns = {"samples": "*", "sample_parts": "*", "sqlite_master": "type, name, tbl_name"}
    with closing(sqlite3.connect(index)) as db:
        return {name: sorted(db.execute(f"SELECT {what} FROM {name}").fetchall()) for name, what in columns.items()}


def compare(energon: Ask, folder: Path, seeds: range) -> None:
    """Both prepare the same datasets; all files are compared, and then each part, read by name from both."""
    written: dict[int, dict[str, bytes]] = {}
    jobs: list[dict[str, object]] = []
    for seed in seeds:
        draw = random.Random(seed)
        ours, theirs = folder / f"{seed}-ours", folder / f"{seed}-theirs"
        written[seed] = write_random(ours, draw)
        shutil.copytree(ours, theirs)
        splits = ["--split-ratio", draw.choice(RATIOS), *draw.choice([[], ["--shuffle-tars"]])]
        assert main(["energon", "prepare", str(ours), *splits, "--num-workers", "1"]) == 0, seed
        names = list(written[seed])
        jobs.append({"do": "prepare", "path": str(theirs), "args": [*REAL, *splits]})
        jobs += [{"do": "files", "path": str(place), "names": names} for place in (ours, theirs)]
    answers = energon(*jobs)
    for number, seed in enumerate(seeds):
        prepared, *read = answers[3 * number : 3 * number + 3]
        assert prepared.get("code") == 0, (seed, prepared)
        found, expected = contents(folder / f"{seed}-ours"), contents(folder / f"{seed}-theirs")
        assert found.keys() == expected.keys(), seed
        assert [name for name in found.keys() - APART if found[name] != expected[name]] == [], seed
        rows = rows_of(folder / f"{seed}-ours/.nv-meta/index.sqlite")
        assert rows == rows_of(folder / f"{seed}-theirs/.nv-meta/index.sqlite"), seed
        assert len(rows["sample_parts"]) == len(written[seed]), seed
        for each in read:
            assert [bytes.fromhex(part["bytes"]) for part in each["files"]] == list(written[seed].values()), seed


def test_some_random_datasets(energon: Ask, tmp_path: Path) -> None:
    compare(energon, tmp_path, range(4))


@pytest.mark.exhaustive
def test_more_random_datasets(energon: Ask, tmp_path: Path) -> None:
    compare(energon, tmp_path, range(4, 20))
