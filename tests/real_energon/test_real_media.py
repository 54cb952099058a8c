"""Media in exports: their metadata are those of the real tool, and the loader finds media in the release of another."""

import io
import shutil
import sqlite3
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from energonlake import close, export, mix_of, mixed, release_of
from peer import Ask
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.errors import DataError
from gristmill.lake.address import export_index
from gristmill.recipes.export import Export
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(find_spec, ("PIL", "av", "filetype"))), reason="the extra media: Pillow, PyAV and filetype"
    ),
]
PREPARE = ["--non-interactive", "--no-progress", "--sample-type", "CrudeWebdataset", "--split-ratio", "1,0,0"]
TABLES = {
    "samples": "*",
    "sample_parts": "*",
    "media_metadata": "*",
    "media_filters": "strategy, patterns",
    "sqlite_master": "type, name, tbl_name",
}


def lake(folder: Path) -> Mill:
    """Six documents in two shards: each names two drawings, a photo, a sound and a video."""
    from mediafiles import image, sound, video

    mill = Mill(folder)
    documents = make_documents(6)
    for number, row in enumerate(documents):
        media = {
            "drawing": (f"drawn/{number}.png", image(width=8 + number, mode="L")),
            "photo": (f"{number}.jpg", image("JPEG", height=6 + number)),
            "sound": (f"{number}.wav", sound(0.1 * (number + 1))),
            "video": (f"{number}.mp4", video(frames=3 + number)),
        }
        for name, data in media.values():
            mill.store.put(f"media/{name}", data)
        row["metadata"] = {kind: name for kind, (name, _) in media.items()}
        row["metadata"]["drawings"] = [row["metadata"]["drawing"]] * 2
    mill.raw("a.jsonl.gz", documents[:4])
    mill.raw("b.jsonl.gz", documents[4:])
    return mixed(mill)


def tables(index: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all tables, and what the tables and indexes are called; times and numbers of filters left out."""
    db = sqlite3.connect(index)
    found = {name: sorted(db.execute(f"SELECT {columns} FROM {name}").fetchall()) for name, columns in TABLES.items()}
    db.close()
    return found


@pytest.mark.parametrize(("chosen", "rows"), [("extension", 24), ("header", 30)])
def test_the_tables_are_those_of_the_real_tool_for_the_same_tars(
    energon: Ask, tmp_path: Path, chosen: str, rows: int
) -> None:
    files = {"png": "drawings", "seg.bin": "photo", "wav": "sound", "mp4": "video"}
    declared = EnergonWebdataset(
        parts={"txt": "text", "json": "metadata"},
        files={part: f"metadata.{kind}" for part, kind in files.items()},
        root="media",
        key="id",
        shard_samples=3,
        media_metadata=chosen,
    )
    mill = lake(tmp_path / "lake")
    export(mill, declared)
    close(mill, declared)
    release, theirs = release_of(mill), tmp_path / "theirs"
    theirs.mkdir()
    for number, file in enumerate(release.named):
        shutil.copyfile(tmp_path / "lake" / file.path, theirs / f"{number}.tar")
    [done] = energon({"do": "prepare", "path": str(theirs), "args": [*PREPARE, f"--media-metadata-by-{chosen}"]})
    assert done["code"] == 0, done["said"]
    ours = tables(tmp_path / "lake" / release.folder / ".nv-meta/index.sqlite")
    assert ours == tables(theirs / ".nv-meta/index.sqlite")
    assert len(ours["media_metadata"]) == rows


def test_media_are_found_in_the_release_of_another_export(energon: Ask, tmp_path: Path) -> None:
    mill = lake(tmp_path / "lake")
    tars = EnergonWebdataset(
        parts={}, files={"png": "metadata.drawing"}, root="media", key="metadata.drawing", media_metadata="extension"
    )
    export(mill, tars)
    close(mill, tars)
    release = release_of(mill).folder.rstrip("/")
    declared = EnergonJsonl(
        fields={"id": "id", "image": "metadata.drawing"},
        media=("metadata.drawing",),
        root=release,
        aux={"media": f"../../energon/index/{release.rpartition('/')[2]}"},
    )
    lines = Export(name="lines", mixes=("blend",), format=declared)
    mill.make(ExportStep(mix_of(), "pages", lines, SNAPSHOT, SHELVES))
    index_export(mill.store, mix_of(), lines, {"pages": mill.source()}, {"pages": [SNAPSHOT]})
    names = [f"drawn/{number}.png" for number in range(6)]
    loaded, told = energon(
        {
            "do": "load",
            "path": f"{tmp_path}/lake/{export_index('blend', 'lines')}/metadataset.yaml",
            "cooker": "with_media",
        },
        {"do": "media", "path": f"{tmp_path}/lake/{release}", "names": names},
    )
    assert "error" not in loaded, loaded["error"]
    shapes = {}
    for sample in loaded["samples"]:
        [image] = [each["values"] for each in sample["media"]]
        shapes[sample["parts"]["json"]["id"]] = (len(image), len(image[0]), len(image[0][0]))
    assert shapes == {row["id"]: (3, 6, 8 + n) for n, row in enumerate(make_documents(6))}
    assert told == {"media": [{"width": 8 + n, "height": 6, "format": "PNG", "mode": "L"} for n in range(6)]}


def test_samples_of_two_tars_whose_keys_are_equal_never_get_each_others_media(energon: Ask, tmp_path: Path) -> None:
    from mediafiles import image

    mill, tars = Mill(tmp_path / "lake"), tmp_path / "lake/media/tars"
    tars.mkdir(parents=True)
    declared = EnergonWebdataset(parts={"txt": "text"}, files={"*": "metadata.media"}, root="media/tars", key="id")

    def pack(tar: str, widths: dict[str, int]) -> None:
        """A tar, and its documents as WebdatasetSamples(shard_in_id=True) makes them."""
        with tarfile.open(tars / tar, "w") as packed:
            for key, width in widths.items():
                member, data = tarfile.TarInfo(f"{key}.png"), image(width=width, height=6)
                member.size = len(data)
                packed.addfile(member, io.BytesIO(data))
        rows = [
            {"id": f"{tar}/{key}", "source": "pages", "text": f"{width} wide", "metadata": {"media": [f"{key}.png"]}}
            for key, width in widths.items()
        ]
        mill.raw(f"{tar[0]}.jsonl.gz", rows)

    def prepare() -> int:
        [done] = energon({"do": "prepare", "path": str(tars), "args": [*PREPARE, "--force-overwrite"]})
        return int(done["code"])

    pack("a.tar", {"01": 8, "02": 9})
    assert prepare() == 0
    assert export(mixed(mill), declared).totals["rows"] == 2
    pack("b.tar", {"01": 10, "02": 11})
    with pytest.raises(DataError, match=r"b.tar came after the dataset was prepared"):
        export(mixed(mill), declared)
    pack("b.tar", {"03": 10, "04": 11})
    assert prepare() == 0
    assert export(mixed(mill), declared).totals["rows"] == 4
    close(mill, declared)
    path = f"{tmp_path}/lake/{export_index('blend', 'energon')}/metadataset.yaml"
    [loaded] = energon({"do": "load", "path": path, "cooker": "everything"})
    assert "error" not in loaded, loaded["error"]
    shapes = {}
    for sample in loaded["samples"]:
        [drawn] = sample["parts"]["0.png"]["values"][:1]
        shapes[sample["parts"]["txt"]] = len(drawn[0])
    assert shapes == {f"{width} wide": width for width in (8, 9, 10, 11)}
