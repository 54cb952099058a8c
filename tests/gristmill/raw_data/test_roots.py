"""Where raw data are: below the lake, in any folder, and never in what the lake makes itself."""

from dataclasses import replace
from pathlib import Path

import pytest
from testkit import SHELVES, Mill, make_documents, packed

from gristmill.errors import RecipeError, StoreError
from gristmill.raw_data.roots import open_raw, raw_access, raw_address, raw_store
from gristmill.raw_data.scan import scan_raw
from gristmill.raw_data.snapshots import raw_snapshots
from gristmill.recipes.source import RawRoot, Source
from gristmill.stages.conversion.step import ConversionStep

MINIO = {"MINIO_ACCESS_KEY_ID": "key-b", "MINIO_AWS_SECRET_ACCESS_KEY": "secret-of-b"}


def pages(mill: Mill, raw: str | RawRoot) -> Source:
    return replace(mill.source(), raw=raw)


def test_an_address_is_shown_absolute(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/miller")
    assert raw_address(mill.source()) == ""
    for given, address in (
        ("texts", f"{tmp_path}/texts"),
        ("./texts/", f"{tmp_path}/texts"),
        ("~/texts", "/home/miller/texts"),
        ("/data/texts", "/data/texts"),
        ("s3://corpus/texts/", "s3://corpus/texts"),
    ):
        assert raw_address(pages(mill, given)) == address
        assert raw_address(pages(mill, RawRoot(given))) == address
    (tmp_path / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["mine"]\n')
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert raw_address(pages(mill, "texts")) == f"{tmp_path}/texts"


def test_raw_data_of_any_folder_are_made_and_the_fingerprint_does_not_tell_where_they_were(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.raw_shards(2)
    here = mill.convert()
    other = Mill(tmp_path / "other")
    other.root.mkdir()
    (tmp_path / "texts" / "2024").mkdir(parents=True)
    for number, name in enumerate("ab"):
        data = packed(make_documents(10, start=10 * number))
        (tmp_path / "texts" / "2024" / f"{name}.jsonl.gz").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    step = ConversionStep(pages(other, RawRoot("texts")), "2024", SHELVES)
    assert step.plan(other.store).spec("token").raw == f"{tmp_path}/texts"
    monkeypatch.setattr("testshelf.sources.pages.PAGES", pages(other, "texts"))
    there = other.make(ConversionStep(other.source(), "2024", SHELVES))
    assert there.fingerprint == here.fingerprint
    assert there.totals["rows"] == 20


@pytest.mark.parametrize("where", ["nowhere", "file"])
def test_a_folder_that_is_not_there_is_an_error_and_no_empty_source(mill: Mill, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    source = pages(mill, f"{tmp_path}/{where}")
    with pytest.raises(
        StoreError, match=rf"^{tmp_path}/{where}: the folder with the raw data of source 'pages' is not"
    ):
        raw_snapshots(mill.lake, source, str)


def test_a_place_where_nothing_is_is_an_error_until_something_was_made_of_it(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    source = pages(mill, f"{tmp_path}/texts")
    with pytest.raises(
        StoreError, match=rf"^{tmp_path}/texts/: no raw data of source 'pages' are there; put them into"
    ):
        raw_snapshots(mill.lake, source, str)
    assert raw_snapshots(mill.lake, mill.source(), str) == set()  # below the lake, they may come later
    mill.raw_shards(1)
    mill.convert()
    assert raw_snapshots(mill.lake, source, str) == set()  # and vanished: the step says so


@pytest.mark.parametrize("inside", ["", "sources/", "sources/pages/v0/documents", "mixes/blend", ".."])
def test_what_the_lake_makes_is_no_raw_data(mill: Mill, inside: str) -> None:
    source = pages(mill, f"{mill.root}/{inside}")
    with pytest.raises(RecipeError, match=r"^source 'pages': raw is .*lake") as refused:
        raw_store(mill.lake, source)
    assert ("holds the lake" in str(refused.value)) == (inside in {"", ".."})


def test_the_lake_is_found_behind_a_link(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(mill.root)
    with pytest.raises(RecipeError, match=r"holds the lake"):
        raw_store(mill.lake, pages(mill, f"{tmp_path}/link"))


def test_the_raw_folder_of_another_source_may_be_shared(mill: Mill) -> None:
    mill.raw_shards(2)
    diary = replace(mill.source(), name="diary", raw=f"{mill.root}/sources/pages/raw")
    assert scan_raw(diary, raw_store(mill.lake, diary)).seen["2024"].objects == 2


def test_a_root_takes_nothing_from_the_lake_but_its_region(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in MINIO.items():
        monkeypatch.setenv(name, value)
    lake = {"endpoint": "http://lake:9000", "region": "eu-north-1"}
    plain, none = raw_access(pages(mill, "s3://corpus/texts"), lake)
    assert (plain, none) == (lake, None)
    options, access = raw_access(pages(mill, RawRoot("s3://corpus/texts", anonymous=True)), lake)
    assert options["endpoint"] == "https://s3.eu-north-1.amazonaws.com"
    assert access is not None
    assert (access.anonymous, access.key) == (True, "")
    options, access = raw_access(
        pages(mill, RawRoot("s3://corpus/texts", endpoint="http://b:1", credentials="MINIO")), lake
    )
    assert options["endpoint"] == "http://b:1"
    assert access is not None
    assert (access.key, access.secret, access.token) == ("key-b", "secret-of-b", "")
    assert "secret" not in repr(access)


def test_a_bucket_of_the_same_server_may_not_hold_the_lake(mill: Mill) -> None:
    lake = Mill(mill.root, "s3://corpus/lake", {"endpoint": "http://127.0.0.1:9"})
    for source in (pages(mill, "s3://corpus"), pages(mill, RawRoot("s3://corpus", endpoint="http://127.0.0.1:9"))):
        with pytest.raises(RecipeError, match=r"raw is s3://corpus, which holds the lake s3://corpus/lake"):
            open_raw(source, lake.store, lake.lake.options)
    elsewhere = pages(mill, RawRoot("s3://corpus", endpoint="http://127.0.0.1:8"))
    assert open_raw(elsewhere, lake.store, lake.lake.options).url == "s3://corpus"
