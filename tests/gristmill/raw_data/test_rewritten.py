"""Raw objects that were rewritten with their size, time and inode kept."""

import os
from pathlib import Path

import pytest
from testkit import Mill, make_documents

from gristmill.lake.address import raw_folder
from gristmill.raw_data import rewritten
from gristmill.raw_data.rewritten import Look
from gristmill.raw_data.scan import Seen, present_snapshots, scan_raw

YEARS = ("2023", "2024", "2025")


def file(mill: Mill, year: str) -> Path:
    return mill.root / raw_folder("pages", year) / "a.jsonl.gz"


def rewrite(path: Path) -> None:
    """Flips a bit of gzip's time stamp in place, and sets the file's time back: the documents stay the same."""
    status, data = path.stat(), path.read_bytes()
    with path.open("r+b") as opened:
        opened.write(data[:4] + bytes([data[4] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def seen(mill: Mill) -> dict[str, Seen]:
    return present_snapshots(mill.source(), scan_raw(mill.source(), mill.store))


def versions(mill: Mill, look: Look, *, late: bool = False) -> dict[str, str]:
    found = look.go_on(mill.source(), mill.store, mill.store, seen(mill), lambda: late)
    return {key: each.version for key, each in found.items()}


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """Three snapshots of one raw object, made."""
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    for number, year in enumerate(YEARS):
        mill.raw("a.jsonl.gz", make_documents(2, start=10 * number), snapshot=year)
        mill.convert(snapshot=year)
    return mill


def test_what_nobody_touched_has_nothing_to_tell(mill: Mill) -> None:
    assert versions(mill, Look()) == {}


def test_another_ctime_alone_tells_nothing(mill: Mill) -> None:
    look = Look()
    assert versions(mill, look) == {}
    for year in YEARS:
        file(mill, year).chmod(0o640)
    assert versions(mill, look) == {}


def test_other_bytes_make_another_version_until_they_are_made(mill: Mill) -> None:
    look = Look()
    before = {key: each.version for key, each in seen(mill).items()}
    rewrite(file(mill, "2024"))
    found = versions(mill, look)
    assert set(found) == {"2024"}
    assert found["2024"].partition("+")[0] == before["2024"]
    assert seen(mill)["2024"].is_version(found["2024"])  # so that no listing reports it once more
    assert versions(mill, Look()) == found  # a lost cursor comes to the same version
    mill.convert(snapshot="2024")
    assert versions(mill, Look()) == {}


def test_a_look_goes_on_where_it_was_interrupted(mill: Mill) -> None:
    for year in YEARS:
        rewrite(file(mill, year))
    at_once = versions(mill, Look())
    look, found = Look(), {}
    for _ in range(9):
        found.update(versions(mill, look, late=True))
    assert set(found) == set(YEARS)
    assert found == at_once
    assert versions(mill, look) == {}


def test_of_an_object_that_is_too_large_for_a_tick_the_ctime_is_enough(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewritten, "LARGEST", 9)
    file(mill, "2024").chmod(0o640)
    assert set(versions(mill, Look())) == {"2024"}


def test_records_without_a_ctime_are_believed(mill: Mill) -> None:
    for year in YEARS:
        note = mill.documents().run.replace("2024", year)
        data = mill.store.read(note).replace(b'"changed":', b'"other":')
        mill.store.put(note, data)
        file(mill, year).chmod(0o640)
    assert versions(mill, Look()) == {}
