"""The metadata of media in the index of a WebDataset: rows, filters, and media that are not what they should be."""

import gzip
import sqlite3
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from energonlake import HERE, INDEX, close, export, mixed, records, release_of
from mediafiles import image, sound
from testkit import Mill, make_documents

from gristmill.energon.exports.tar_files import MEDIA, read_media_list
from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.errors import DataError, RecipeError
from gristmill.verification.audit import audit_ledger

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("PIL", "av", "filetype"))), reason="the extra media: Pillow, PyAV and filetype"
)
FILES = {
    "small.png": image(),
    "large.png": image(width=300, height=200, mode="L"),
    "photo.png": image("JPEG"),
    "cut.png": image(width=300, height=200)[:-30],
    "text.png": b"no image",
    "half.wav": sound(seconds=1.0)[:-8000],
    "speech.mp3": sound(),
}


def lake(folder: Path, *names: str) -> Mill:
    """Two shards; each of the names is the image of a document, in turns in the one and in the other shard."""
    mill = Mill(folder)
    documents = make_documents(len(names))
    for row, name in zip(documents, names, strict=True):
        row["metadata"] = {"image": name}
        mill.store.put(f"media/{name}", FILES[name.partition("-")[2] or name])
    mill.raw("a.jsonl.gz", documents[::2])
    mill.raw("b.jsonl.gz", documents[1::2])
    return mixed(mill)


def declared(chosen: str, part: str = "png") -> EnergonWebdataset:
    return EnergonWebdataset(
        parts={"txt": "text"},
        files={part: "metadata.image"},
        root="media",
        key="id",
        shard_samples=1,
        media_metadata=chosen,
    )


def tables(mill: Mill, folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """The tables of media; numbers of filters are left out."""
    path = folder / "copy.sqlite"
    path.write_bytes(mill.store.read(f"{release_of(mill).folder}.nv-meta/index.sqlite"))
    db = sqlite3.connect(path)
    queries = {"media_metadata": "*", "media_filters": "strategy, patterns, created_at_utc"}
    found = {name: db.execute(f"SELECT {what} FROM {name} ORDER BY 1").fetchall() for name, what in queries.items()}
    db.close()
    return found


def findings(mill: Mill, path: str) -> list[str]:
    return [str(finding) for finding in audit_ledger(mill.store, path, mill.said.append)]


@pytest.mark.parametrize(
    ("chosen", "part", "row"),
    [
        ("extension", "png", ("EXTENSION", "")),
        ("header", "bin", ("HEADER", "")),
        ("*.jpg, *.PNG", "seg.png", ("GLOB", "*.jpg,*.PNG")),
    ],
)
def test_the_index_has_a_row_for_each_media_file_and_verify_compares_them(
    tmp_path: Path, chosen: str, part: str, row: tuple[str, str]
) -> None:
    mill = lake(tmp_path / "lake", "1-small.png", "2-large.png", "3-small.png")
    export(mill, declared(chosen, part))
    close(mill, declared(chosen, part))
    keys = [row["id"] for row in make_documents(3)]
    small, large = (
        '{"width":8,"height":6,"format":"PNG","mode":"RGB"}',
        '{"width":300,"height":200,"format":"PNG","mode":"L"}',
    )
    assert tables(mill, tmp_path) == {
        "media_metadata": [
            (f"{key}.{part}", "image", json) for key, json in zip(keys, (small, large, small), strict=True)
        ],
        "media_filters": [(*row, "2000-01-01 00:00:00")],
    }
    assert findings(mill, HERE.ledger) == findings(mill, f"{INDEX}/ledger.json") == []


def test_an_excluded_sample_has_no_metadata(tmp_path: Path) -> None:
    mill = lake(tmp_path / "lake", "1-small.png", "2-large.png", "3-small.png", "4-small.png")
    export(mill, declared("extension"))
    first, second, _, fourth = [row["id"] for row in make_documents(4)]
    folders = {name: record.folder.partition("energon/")[2] for name, record in records(mill).items()}
    leaving = replace(
        declared("extension"),
        exclude=(f"{folders['a']}train-00001.tar", f"{folders['b']}train-00000.tar/{second}"),
    )
    close(mill, leaving)
    left = [row[0] for row in tables(mill, tmp_path)["media_metadata"]]
    assert left == [f"{first}.png", f"{fourth}.png"]
    assert findings(mill, f"{INDEX}/ledger.json") == []


def test_a_tar_without_any_media_has_no_rows(tmp_path: Path) -> None:
    """Shard `a` has one image, shard `b` none. The tar of `b` has an empty list, which is valid gzip."""
    mill = Mill(tmp_path / "lake")
    one, other = make_documents(2)
    one["metadata"] = {"image": "small.png"}
    mill.store.put("media/small.png", FILES["small.png"])
    mill.raw("a.jsonl.gz", [one])
    mill.raw("b.jsonl.gz", [other])
    mixed(mill)
    optional = replace(declared("extension"), files={"png": "metadata.image?"})
    export(mill, optional)
    close(mill, optional)
    assert [row[0] for row in tables(mill, tmp_path)["media_metadata"]] == [f"{one['id']}.png"]
    lists = [entry.path for entry in mill.store.list(HERE.folder) if entry.path.endswith(MEDIA)]
    assert sorted(gzip.decompress(mill.store.read(path)).count(b"\n") for path in lists) == [0, 1]
    assert findings(mill, HERE.ledger) == findings(mill, f"{INDEX}/ledger.json") == []
    rows = [len(list(read_media_list([b"", mill.store.read(path)], path))) for path in lists]  # b"" is not the end
    assert sorted(rows) == [0, 1]


def test_lists_that_older_versions_left_empty_have_no_rows() -> None:
    assert list(read_media_list([], f"a.tar{MEDIA}")) == []
    with pytest.raises(DataError, match="truncated"):
        list(read_media_list([gzip.compress(b"", mtime=0)[:-4]], f"a.tar{MEDIA}"))


def test_without_media_metadata_nothing_is_decoded_and_there_are_no_tables(tmp_path: Path) -> None:
    mill = lake(tmp_path / "lake", "small.png", "text.png")
    export(mill, declared(""))
    close(mill, declared(""))
    with pytest.raises(sqlite3.OperationalError, match="no such table: media_metadata"):
        tables(mill, tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cut.png", "this image cannot be decoded: image file is truncated"),
        ("text.png", "it is no image of a known format"),
        ("photo.png", "its format is JPEG, not what its name says"),
    ],
)
def test_media_that_are_damaged_or_misnamed_block_the_slice(tmp_path: Path, name: str, said: str) -> None:
    names = ["small.png", "small.png", "small.png", name, "small.png", name, "small.png", name, "small.png", name]
    mill = lake(tmp_path / "lake", *(f"{number}-{each}" for number, each in enumerate(names)))
    bad = [row["id"] for row in make_documents(10)]
    with pytest.raises(
        DataError,
        match=r"/b.jsonl.gz: 4 documents name media files that are damaged, or not what their names say"
        rf" \(row 1, document '{bad[3]}' of 'pages': part png: {said}.*; row 2, document '{bad[5]}'.*"
        rf"; row 3, document '{bad[7]}'.*; and 1 more\): replace the files, then run again",
    ):
        export(mill, declared("extension"))
    for number in (3, 5, 7, 9):
        mill.store.put(f"media/{number}-{name}", FILES["small.png"])
    assert export(mill, declared("extension")).totals["rows"] == 10


@pytest.mark.parametrize(
    ("name", "said"),
    [("half.wav", "it is truncated: .* 8,000 bytes are missing"), ("speech.mp3", "its format is wav, not what its")],
)
def test_sounds_that_are_truncated_or_misnamed_do_so_too(tmp_path: Path, name: str, said: str) -> None:
    mill, part = lake(tmp_path / "lake", f"1-{name}", f"2-{name}"), name.partition(".")[2]
    with pytest.raises(DataError, match=rf"1 documents name media files that are damaged.*: part {part}: {said}"):
        export(mill, declared("extension", part))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"media_metadata": "extension"}, "no part has the ending of a media file; the parts are json. Give"),
        ({"media_metadata": "jpg"}, "give 'extension', 'header', or patterns such as"),
        ({"media_metadata": "*.jpg,"}, "give 'extension', 'header', or patterns such as"),
        ({"media_metadata": "header", "random_access": False}, "is written into index.sqlite; leave random_access"),
    ],
)
def test_wrong_choices_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        EnergonWebdataset(**options)  # type: ignore[arg-type]
