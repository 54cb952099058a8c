"""`gristmill energon prepare` writes what the real tool's `prepare` writes, for tars that others made."""

import shutil
import sqlite3
import tarfile
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pytest
from datasetyaml import CRUDE, FALLEN_BACK, REFUSED, TAKEN
from peer import Ask
from tarfolder import contents, write_tar

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


def write_files(folder: Path) -> None:
    """Media and other files in folders: names in capitals and without endings, wrong names, hidden ones, text."""
    from mediafiles import encoded, image, sound, video

    files = {"a.png": image(), "deep/er/b.JPG": image("JPEG"), ".hidden/c.gif": image("GIF"), "d.wav": sound()}
    files |= {"e.mp4": video(), "no_ending": image(), "f.txt": b"text", "sound.png": sound(), "text.jpg": b"text"}
    files |= {"g.mp3": encoded("mp3"), "h.flac": encoded("flac"), "i.ogg": encoded("ogg"), "j.m4a": encoded("mp4")}
    files |= {"k.webm": video("matroska"), "l.avi": video("avi"), "m.webp": image("WEBP"), "n.aac": encoded("adts")}
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def tables(index: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all tables, and what the tables and indexes are called; times and numbers of filters left out."""
    db = sqlite3.connect(index)
    columns = {"media_filters": "strategy, patterns", "sqlite_master": "type, name, tbl_name"}
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    names = [*(name for name in names if name != "sqlite_sequence"), "sqlite_master"]
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


def test_shards_of_several_folders_and_hidden_ones_are_those_of_the_real_tool(energon: Ask, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    names = ["set/0.tar", "set/1.tar", "set-b/0.tar", "set.tar", "A.tar", "set b/0.tar", ".old/a.tar", "set/.b.tar"]
    for number, name in enumerate(names):
        write_tar(ours / name, {f"{number}.txt": b"1"})
    shutil.copytree(ours, theirs)
    splits = ["--split-ratio", "1,1,1"]
    [done] = energon({"do": "prepare", "path": str(theirs), "args": [*REAL, *splits]})
    assert done["code"] == 0, done["said"]
    assert main(["energon", "prepare", str(ours), *splits, "--num-workers", "1"]) == 0
    found, expected = contents(ours), contents(theirs)
    assert found.keys() == expected.keys()
    for name in (".nv-meta/.info.json", ".nv-meta/split.yaml"):
        assert found[name] == expected[name]
    assert tables(ours / ".nv-meta" / "index.sqlite") == tables(theirs / ".nv-meta" / "index.sqlite")


@pytest.mark.parametrize(
    ("kind", "ways"),
    [("files", ["extension"]), ("tars", ["extension"]), ("tars", ["header"]), ("tars", ["extension", "header"])],
)
def test_media_of_a_folder_and_of_tars_have_the_rows_of_the_real_tool(
    energon: Ask, tmp_path: Path, kind: str, ways: list[str]
) -> None:
    """By header, release 7.4.1 reads no plain folder: its worker dies, and it waits without end."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    (write_files if kind == "files" else write_strange)(ours)
    if kind == "tars":
        assert main(["energon", "prepare", str(ours), "--split-ratio", "1,0,0", "--num-workers", "1"]) == 0
    shutil.copytree(ours, theirs)
    for way in ways:
        args = ["--no-progress", "--num-workers", "2", f"--media-metadata-by-{way}"]
        [done] = energon({"do": "prepare", "tool": "prepare_media", "path": str(theirs), "args": args})
        assert done["code"] == 0, done["said"]
        assert main(["energon", "prepare-media", str(ours), *args]) == (kind == "files")  # two files are no media
    assert contents(ours).keys() == contents(theirs).keys()
    rows = tables(ours / ".nv-meta" / "index.sqlite")
    assert rows == tables(theirs / ".nv-meta" / "index.sqlite")
    assert len(rows["media_metadata"]) == (40 if kind == "tars" else 13)


def test_media_of_a_jsonl_file_are_refused_by_both_and_its_index_is_the_same(energon: Ask, tmp_path: Path) -> None:
    lines = b' {"a": 1}\r\n\n\n{"b": "\xe2\x80\xa8"}\n  \n{"c": 3}'
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.b.jsonl").write_bytes(lines)
    ours, theirs = (str(tmp_path / name / "a.b.jsonl") for name in ("ours", "theirs"))
    media = ["--media-metadata-by-extension"]
    [done] = energon({"do": "prepare", "tool": "prepare_media", "path": theirs, "args": media})
    assert done["code"] == 1
    assert main(["energon", "prepare-media", ours, *media]) == 2
    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs") == {"a.b.jsonl": lines}
    [done] = energon({"do": "prepare", "path": theirs, "args": ["--non-interactive"]})
    assert done["code"] == 0, done["said"]
    assert main(["energon", "prepare", ours]) == 0
    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")


def write_texts(folder: Path, dataset_yaml: str = CRUDE) -> Path:
    """Three samples with the parts txt and json, prepared, and this `dataset.yaml`."""
    members = {f"{n}.{part}": data for n in range(3) for part, data in (("json", b'{"text": ["a"]}'), ("txt", b"b"))}
    write_tar(folder / "0.tar", members)
    assert main(["energon", "prepare", str(folder), "--split-ratio", "1,0,0", "--num-workers", "1"]) == 0
    (folder / ".nv-meta" / "dataset.yaml").write_text(dataset_yaml)
    return folder


def loaded(energon: Ask, folder: Path) -> int:
    """The number of samples that the real loader gives; 0 if it refuses the dataset."""
    [answer] = energon({"do": "load", "path": str(folder), "cooker": "everything"})
    return len(answer.get("samples", ()))


@pytest.mark.parametrize("text", [*TAKEN, FALLEN_BACK])
def test_what_lint_takes_the_real_loader_loads(energon: Ask, tmp_path: Path, text: str) -> None:
    folder = write_texts(tmp_path, text)
    assert main(["energon", "lint", str(folder)]) == 0
    assert loaded(energon, folder) == 3


@pytest.mark.parametrize("text", [text for text, _ in REFUSED])
def test_what_lint_refuses_gives_no_sample(energon: Ask, tmp_path: Path, text: str) -> None:
    folder = write_texts(tmp_path, text)
    assert main(["energon", "lint", str(folder)]) == 1
    assert loaded(energon, folder) == 0


@pytest.mark.parametrize(
    ("exclude", "code", "left"),
    [("0.tar/0", 0, 2), ("9.tar", 0, 3), ("0.tar/9", 0, 3), ("0.tar", 1, 0), ("0.tar/{0..2}", 1, 0)],
)
def test_excludes_are_taken_as_by_the_real_loader(
    energon: Ask, tmp_path: Path, exclude: str, code: int, left: int
) -> None:
    folder = write_texts(tmp_path)
    split = folder / ".nv-meta" / "split.yaml"
    split.write_text(f"split_parts: {{train: [0.tar]}}\nexclude: ['{exclude}']\n")
    assert main(["energon", "lint", str(folder)]) == code
    [answer] = energon({"do": "load", "path": str(folder), "cooker": "everything"})
    assert len(answer.get("samples", ())) == left
