"""`gristmill energon prepare` writes what the real tool's `prepare` writes, for tars that others made."""

import shutil
import sqlite3
import tarfile
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pytest
from peer import Ask
from tarfolder import contents

from gristmill.__main__ import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(find_spec, ("PIL", "av", "filetype"))), reason="the extra media: Pillow, PyAV and filetype"
    ),
]
REAL = ["--non-interactive", "--no-progress", "--num-workers", "2", "--sample-type", "CrudeWebdataset"]
SPLITS = [
    ["--split-ratio", "8,1,1"],
    ["--split-ratio", "2,1,1", "--shuffle-tars"],
    ["--split-parts", "train:shards/[0-4]", "--split-parts", "val:shards/[5-9]"],
]


def write_strange(folder: Path) -> None:
    """Ten tars in three forms: long and strange names, folders and links, samples with different parts, media."""
    from mediafiles import image, sound, video

    (folder / "shards").mkdir(parents=True)
    media = {"png": image(), "jpg": image("JPEG"), "wav": sound(), "mp4": video()}
    forms = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
    for number in range(10):
        with tarfile.open(folder / "shards" / f"{number}.tar", "w", format=forms[number % 3]) as tar:
            members = {"README": b"no sample", "./a.json": b"{}", "sub.dir/b.c.txt": b"text", "__meta__/x.txt": b"no"}
            if number % 3:
                members |= {f"{'long' * 40}.txt": b"long", "h\u00e9.TXT": b"", "__meta__.json": b"{}"}
            members |= {f"m/{ending}.{ending}": data for ending, data in media.items()}
            for name, data in members.items():
                folded, _, plain = name.rpartition("/")
                info = tarfile.TarInfo(f"{folded}/{number}{plain}" if folded else f"{number}{plain}")
                info.size = len(data)
                tar.addfile(info, BytesIO(data))
            folded_info = tarfile.TarInfo("folder.txt")
            folded_info.type = tarfile.DIRTYPE
            tar.addfile(folded_info)


def tables(index: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all tables, and what the tables and indexes are called; times and numbers of filters left out."""
    db = sqlite3.connect(index)
    columns = {"media_filters": "strategy, patterns", "sqlite_master": "type, name, tbl_name"}
    names = ("samples", "sample_parts", "media_metadata", "media_filters", "sqlite_master")
    found = {name: sorted(db.execute(f"SELECT {columns.get(name, '*')} FROM {name}").fetchall()) for name in names}
    db.close()
    return found


@pytest.mark.parametrize("splits", SPLITS, ids=["ratio", "shuffled", "patterns"])
def test_all_files_are_those_of_the_real_tool(energon: Ask, tmp_path: Path, splits: list[str]) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    write_strange(ours)
    shutil.copytree(ours, theirs)
    media = ["--media-metadata-by-extension"]
    [done] = energon({"do": "prepare", "path": str(theirs), "args": [*REAL, *splits, *media]})
    assert done["code"] == 0, done["said"]
    assert main(["energon", "prepare", str(ours), *splits, *media, "--num-workers", "2"]) == 0
    assert main(["energon", "lint", str(theirs)]) == 0
    found, expected = contents(ours), contents(theirs)
    assert found.keys() == expected.keys()
    apart = {".nv-meta/index.sqlite", ".nv-meta/index.uuid", ".nv-meta/dataset.yaml"}
    assert {name: data for name, data in found.items() if name not in apart} == {
        name: data for name, data in expected.items() if name not in apart
    }
    rows = tables(ours / ".nv-meta" / "index.sqlite")
    assert rows == tables(theirs / ".nv-meta" / "index.sqlite")
    assert len(rows["media_metadata"]) == 40
