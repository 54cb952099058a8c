"""Media metadata in tars and in folders: rows, filters, and files that cannot be read."""

import sqlite3
from importlib.util import find_spec
from pathlib import Path

import pytest
from tarfolder import contents, write_shards, write_tar

from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.formats.media import MediaFilter
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.media import add_file_media, add_tar_media
from gristmill.energon.preparing.prepare import Prepared, PrepareOptions, prepare_tars
from gristmill.errors import DataError, RecipeError, StoreError

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("PIL", "av", "filetype"))), reason="the extra media: Pillow, PyAV and filetype"
)
ENDINGS = MediaFilter("EXTENSION")
IMAGE = '{"width":8,"height":6,"format":"PNG","mode":"RGB"}'


def rows(folder: Path, table: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(folder / ".nv-meta" / "index.sqlite")
    columns = "strategy, patterns" if table == "media_filters" else "*"
    found = db.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()
    db.close()
    return found


def write_media(folder: Path) -> None:
    """A tar with two images, one of them no image, and an image under the name of sound's text."""
    from mediafiles import image

    members = {"d/a.png": image(), "d/a.txt": b"text", "d/b.jpg": b"no image", "d/c.gif": image(), "d/e.bin": image()}
    write_tar(folder / "0.tar", members)


def prepared(folder: Path, media: MediaFilter | None, *, overwrite: bool = False) -> Prepared:
    options = PrepareOptions(ratio={"train": 1}, media=media, overwrite=overwrite)
    return prepare_tars(open_dataset(str(folder), {}), options, crude_dataset(), lambda _: None)


def test_media_are_read_with_the_samples_and_a_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    write_media(tmp_path)
    found = prepared(tmp_path, ENDINGS)
    assert (found.written, found.media) == (True, 2)
    assert [(str(flaw), flaw.warning) for flaw in found.media_flaws] == [
        ("0.tar: 'd/b.jpg': it is no image of a known format (replace the file, or exclude its sample)", False),
        ("0.tar: 'd/c.gif': this file is PNG, not what its name says (rename it)", True),
    ]
    assert rows(tmp_path, "media_metadata") == [("d/a.png", "image", IMAGE), ("d/c.gif", "image", IMAGE)]
    assert rows(tmp_path, "media_filters") == [("EXTENSION", "")]


def test_media_that_are_added_later_join_those_of_earlier_filters(tmp_path: Path) -> None:
    write_media(tmp_path)
    prepared(tmp_path, MediaFilter("GLOB", "*.gif"))
    before = contents(tmp_path)
    dataset = open_dataset(str(tmp_path), {})
    assert add_tar_media(dataset, MediaFilter("GLOB", "*.png,*.bin"), 1, None).media == 2
    assert [row[0] for row in rows(tmp_path, "media_metadata")] == ["d/a.png", "d/c.gif", "d/e.bin"]
    assert rows(tmp_path, "media_filters") == [("GLOB", "*.gif"), ("GLOB", "*.png,*.bin")]
    changed = {name for name, data in contents(tmp_path).items() if before.get(name) != data}
    assert changed == {".nv-meta/index.sqlite"}


def test_media_stay_if_a_dataset_is_prepared_again_without_them(tmp_path: Path) -> None:
    write_media(tmp_path)
    prepared(tmp_path, ENDINGS)
    before = contents(tmp_path)
    assert prepared(tmp_path, None, overwrite=True).written
    assert contents(tmp_path) == before


def test_metadata_of_media_that_are_gone_or_changed_are_not_taken_over(tmp_path: Path) -> None:
    from mediafiles import image

    members = {"a.png": image(), "d.v1/b.png": image(), "c.png": image()}
    write_tar(tmp_path / "0.tar", members)
    prepared(tmp_path, ENDINGS)
    write_tar(tmp_path / "0.tar", {"a.png": image("PNG", 200, 200), "d.v1/b.png": image()})
    found = prepared(tmp_path, None, overwrite=True)
    assert found.written
    assert rows(tmp_path, "media_metadata") == [("d.v1/b.png", "image", IMAGE)]
    assert rows(tmp_path, "media_filters") == [("EXTENSION", "")]
    (flaw,) = found.flaws
    assert str(flaw) == (
        ".nv-meta/index.sqlite: metadata of 2 media were left out: 'a.png' is gone or has another size"
        " (if it was replaced, run prepare-media)"
    )


def test_the_first_bytes_find_an_image_whatever_its_name(tmp_path: Path) -> None:
    write_media(tmp_path)
    assert prepared(tmp_path, MediaFilter("HEADER")).media == 3
    assert ("d/e.bin", "image", IMAGE) in rows(tmp_path, "media_metadata")


def test_a_changed_tar_and_a_missing_index_are_refused(tmp_path: Path) -> None:
    write_media(tmp_path)
    dataset = open_dataset(str(tmp_path), {})
    with pytest.raises(DataError, match="not prepared"):
        add_tar_media(dataset, ENDINGS, 1, None)
    prepared(tmp_path, None)
    write_tar(tmp_path / "0.tar", {"x.png": b""})
    found = add_tar_media(dataset, ENDINGS, 1, None)
    assert not found.written
    assert "it has 1 samples, but .info.json says 4" in str(found.flaws[0])
    (tmp_path / ".nv-meta" / "index.sqlite").unlink()
    with pytest.raises(StoreError):
        add_tar_media(dataset, ENDINGS, 1, None)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_of_files_gets_the_two_tables_alone(tmp_path: Path, workers: int) -> None:
    from mediafiles import image, sound

    for number in range(65):  # more than one task
        (tmp_path / f"{number:02}.png").write_bytes(image())
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "s.wav").write_bytes(sound(0.5, 8000))
    (tmp_path / "cut.png").write_bytes(image("PNG", 100, 100)[:60])
    (tmp_path / "text.txt").write_bytes(b"text")
    found = add_file_media(open_dataset(str(tmp_path), {}), ENDINGS, workers, None)
    assert (found.media, [flaw.path for flaw in found.media_flaws]) == (66, ["cut.png"])
    metadata = rows(tmp_path, "media_metadata")
    assert len(metadata) == 66
    assert metadata[-1][:2] == ("deep/s.wav", "av")
    assert {path.name for path in (tmp_path / ".nv-meta").iterdir()} == {"index.sqlite"}
    again = contents(tmp_path)
    add_file_media(open_dataset(str(tmp_path), {}), ENDINGS, 1, None)
    assert contents(tmp_path) == again


def test_a_folder_with_tars_or_without_media_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path / "tars", 1)
    with pytest.raises(RecipeError, match="run prepare with a --media option"):
        add_file_media(open_dataset(str(tmp_path / "tars"), {}), ENDINGS, 1, None)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_bytes(b"text")
    for media in (ENDINGS, MediaFilter("HEADER"), MediaFilter("GLOB", "*.txt"), MediaFilter("GLOB", "*.png")):
        with pytest.raises(RecipeError, match=f"no file is media by {media.strategy}.*, so nothing was written"):
            add_file_media(open_dataset(str(tmp_path / "texts"), {}), media, 1, None)
    assert not (tmp_path / "texts" / ".nv-meta").exists()


def test_media_beside_tars_that_are_not_prepared_are_read_and_the_tars_told(tmp_path: Path) -> None:
    from mediafiles import image

    write_shards(tmp_path, 1)
    (tmp_path / "a.png").write_bytes(image())
    found = add_file_media(open_dataset(str(tmp_path), {}), ENDINGS, 1, None)
    assert (found.media, [str(flaw).partition(" (")[0] for flaw in found.media_flaws]) == (
        1,
        [".: it has tars that are not prepared: media in them have no metadata"],
    )


def test_a_filter_that_selects_nothing_in_the_tars_is_refused_and_by_prepare_told(tmp_path: Path) -> None:
    write_media(tmp_path)
    found = prepared(tmp_path, MediaFilter("GLOB", "*.gfi"))
    assert (found.written, found.media) == (True, 0)
    assert [str(flaw) for flaw in found.flaws] == [
        ".: no file is media by GLOB *.gfi (for another choice run prepare-media)"
    ]
    before = contents(tmp_path)
    with pytest.raises(RecipeError, match=r"no file is media by GLOB \*\.txt, so nothing was written"):
        add_tar_media(open_dataset(str(tmp_path), {}), MediaFilter("GLOB", "*.txt"), 1, None)
    assert contents(tmp_path) == before


def test_an_index_that_is_damaged_gets_no_media(tmp_path: Path) -> None:
    write_media(tmp_path)
    prepared(tmp_path, None)
    db = sqlite3.connect(tmp_path / ".nv-meta" / "index.sqlite")
    db.execute("DROP TABLE sample_parts")
    db.close()
    before = contents(tmp_path)
    with pytest.raises(DataError, match="it is damaged: it has no table sample_parts; run prepare with --tar-index"):
        add_tar_media(open_dataset(str(tmp_path), {}), ENDINGS, 1, None)
    assert contents(tmp_path) == before


def test_truncated_sound_has_no_metadata_and_a_wrong_name_is_told(tmp_path: Path) -> None:
    from mediafiles import encoded, sound

    whole = sound()
    files = {"cut.wav": whole[:-1000], "whole.wav": whole, "tone.wav": encoded("mp3")}
    write_tar(tmp_path / "0.tar", files)
    cut, tone = prepared(tmp_path, ENDINGS).media_flaws
    assert (cut.place, cut.what, cut.warning) == (
        "'cut.wav'",
        "it is truncated: by its own headers 1,000 bytes are missing at the end",
        False,
    )
    assert str(tone) == "0.tar: 'tone.wav': this file is mp3, not what its name says (rename it)"
    assert tone.warning
    assert [row[0] for row in rows(tmp_path, "media_metadata")] == ["tone.wav", "whole.wav"]
