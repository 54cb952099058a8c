"""An S3 Inventory in place of LIST calls: reports as Amazon writes them, in a real bucket."""

import gzip
import hashlib
from pathlib import Path

import pytest
from inventories import Reports
from seaweed import BUCKET, Seaweed

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.store.protocol import Entry
from gristmill.raw_data.inventory import Inventory


@pytest.fixture
def reports(seaweed: Seaweed, tmp_path: Path) -> Reports:
    return Reports(seaweed, tmp_path.name)


def test_it_lists_what_a_listing_lists(reports: Reports) -> None:
    for name in ("raw/2024/a", "raw/2024/b c+d", "raw/2025/é%20", "other/x"):
        reports.lake.put(name, name.encode())
    entries = list(reports.lake.list(""))
    reports.write("2026-01-01T00-00Z", 1_000, [entries[:1], entries[1:]])
    found = reports.newest()
    assert list(found.list("")) == entries
    assert list(found.list("raw/2024/")) == list(reports.lake.list("raw/2024/"))
    assert (found.created, found.now(), found.url) == (1_000.0, 1_000.0, reports.lake.url)


def test_it_goes_on_behind_any_object(reports: Reports) -> None:
    entries = [Entry(f"raw/{number}", number, "x") for number in (3, 1, 2, 5, 4)]
    reports.write("2026-01-01T00-00Z", 1_000, [entries[:2], entries[2:]])
    for number, entry in enumerate(entries):
        assert list(reports.newest().list("raw/", entry.path)) == entries[number + 1 :]
    assert list(reports.newest().list("raw/", "raw/9")) == []


def test_the_newest_report_counts_unless_one_is_named(reports: Reports) -> None:
    reports.write("2026-01-01T00-00Z", 1_000, [[Entry("old", 1, "x")]])
    reports.write("2026-01-02T00-00Z", 2_000, [[Entry("new", 1, "x")]])
    reports.reports.put(f"{reports.top}/hive/dt=2026-01-02/symlink.txt", b"")
    assert [entry.path for entry in reports.newest().list("")] == ["new"]
    named = f"s3://{BUCKET}/{reports.top}/2026-01-01T00-00Z/manifest.json"
    assert [entry.path for entry in Inventory(named, reports.lake.url, reports.options).list("")] == ["old"]


def test_old_versions_markers_and_other_prefixes_are_left_out(reports: Reports) -> None:
    lead = reports.lake.url.removeprefix(f"s3://{BUCKET}/")
    rows = [
        f'"{BUCKET}","{lead}/a","v1","false","false","1","old"',
        f'"{BUCKET}","{lead}/a","v2","true","false","2","new"',
        f'"{BUCKET}","{lead}/b","v1","true","true","0",""',
        f'"{BUCKET}","{lead}/folder/","v1","true","false","0","x"',
        f'"{BUCKET}","elsewhere/c","v1","true","false","1","x"',
    ]
    data = gzip.compress("\n".join(rows).encode(), mtime=0)
    reports.reports.put(f"{reports.top}/data/x.csv.gz", data)
    named = {"key": f"{reports.top}/data/x.csv.gz", "size": 1, "MD5checksum": hashlib.md5(data).hexdigest()}
    reports.write("2026-01-01T00-00Z", 1_000, [], files=[named])
    assert list(reports.newest().list("")) == [Entry("a", 2, "new")]


def test_a_file_that_is_not_what_the_manifest_says_is_an_error(reports: Reports) -> None:
    reports.write("2026-01-01T00-00Z", 1_000, [[Entry("a", 1, "x")]])
    path = f"{reports.top}/data/2026-01-01T00-00Z-0.csv.gz"
    whole = reports.reports.read(path)
    reports.reports.put(path, gzip.compress(b"", mtime=0))
    with pytest.raises(DataError, match="its MD5 is"):
        list(reports.newest().list(""))
    reports.reports.put(path, whole[:-5])
    with pytest.raises(DataError, match=r"csv\.gz"):
        list(reports.newest().list(""))
    reports.reports.put(path, gzip.compress(b'"one","two"\n', mtime=0))
    with pytest.raises(DataError, match="row 0: a row of 2 columns"):
        list(reports.newest().list(""))


@pytest.mark.parametrize("when", ["abc", "", "1.5", "-1", "9" * 400, None])
def test_a_report_without_a_time_is_named(reports: Reports, when: str | None) -> None:
    reports.write("2026-01-01T00-00Z", 1_000, [], creationTimestamp=when)
    path = f"{reports.top}/2026-01-01T00-00Z/manifest.json"
    with pytest.raises(DataError, match=rf"^{path}: not the manifest of an S3 Inventory .*creationTimestamp"):
        reports.newest()


@pytest.mark.parametrize("size", ["", "-1", "1.5", "9" * 19])
def test_a_row_without_a_size_is_named(reports: Reports, size: str) -> None:
    entries = [Entry("a", 1, "x"), Entry("b", size, "x")]  # type: ignore[arg-type]
    reports.write("2026-01-01T00-00Z", 1_000, [entries])
    named = rf"^{reports.top}/data/2026-01-01T00-00Z-0\.csv\.gz: row 1: Size is '{size}', and no number of bytes"
    with pytest.raises(DataError, match=named):
        list(reports.newest().list(""))


def test_an_inventory_of_something_else_is_refused(reports: Reports) -> None:
    with pytest.raises(StoreError, match="there is no inventory yet"):
        reports.newest()
    reports.write("2026-01-01T00-00Z", 1_000, [], sourceBucket="another")
    with pytest.raises(RecipeError, match="an inventory of another"):
        reports.newest()
    reports.write("2026-01-02T00-00Z", 1_000, [], fileSchema="Bucket, Key, Size")
    with pytest.raises(RecipeError, match="ETag"):
        reports.newest()
    reports.write("2026-01-03T00-00Z", 1_000, [], fileFormat="Parquet")
    with pytest.raises(RecipeError, match="Parquet"):
        reports.newest()
    with pytest.raises(RecipeError, match="both must be in buckets"):
        reports.newest("/a/folder")
    reports.reports.put(f"{reports.top}/2026-01-04T00-00Z/manifest.json", b"{}")
    with pytest.raises(DataError, match="not the manifest"):
        reports.newest()
