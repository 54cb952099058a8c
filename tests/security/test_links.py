"""A link from a folder of a lake to its raw data: no command changes these, and what meets the link names it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster_kit import EXPORTING, letters
from testkit import Mill, link, packed

from gristmill.__main__ import main
from gristmill.lake.address import blocklist_path

pytestmark = pytest.mark.slow

RAW = "sources/letters/raw"
LEDGERS = "sources/letters/v0/ledgers/documents"

PLACES = {
    "receipts": f"{LEDGERS}/2024.receipts",
    "columns": f"{LEDGERS}/2024.columns",
    "id indexes": f"{LEDGERS}/2024.ids",
    "ledgers": LEDGERS,
    "all ledgers": "sources/letters/v0/ledgers",
    "documents of a snapshot": "sources/letters/v0/documents/2024",
    "documents": "sources/letters/v0/documents",
    "labels": "sources/letters/v0/attributes/count-1/2024",
    "version": "sources/letters/v1",
    "kept rows": "mixes/blend/documents/letters/2024",
    "index of a mix": "mixes/blend/index",
    "old part": "token_caches/blend/tiny-1/letters/train/2024/part-00009-0123456789abcdef",
    "parts": "token_caches/blend/tiny-1/letters/train/2024",
    "token caches": "token_caches/blend",
    "old release of an export": "exports/blend/tars/index/release-0123456789abcdef",
    "index of an export": "exports/blend/tars/index",
    "files of a release": "releases/r1",
    "releases": "releases",
    "unfinished files": ".incoming",
}
"""Where the link is, by a word for it."""

COMMANDS = {
    "make": ("make", "LAKE", "letters", "blend"),
    "gc": ("gc", "LAKE"),
    "gc --dry-run": ("gc", "LAKE", "--dry-run"),
    "erase --release": ("erase", "LAKE", "--release", "r1"),
}

_NOT_LISTED = {"documents of a snapshot", "documents", "labels", "kept rows", "id indexes", "index of a mix"}
"""`gc` looks at what ledgers say of these, not into their folders."""

MEETS = {
    "make": set(PLACES) - {"old part", "old release of an export", "files of a release", "releases"},
    "gc": set(PLACES) - _NOT_LISTED,
    "gc --dry-run": set(PLACES) - _NOT_LISTED - {"unfinished files"},
    "erase --release": {"files of a release", "releases", "unfinished files"},
}
"""The links that a command must not pass over in silence, because it writes, deletes or lists there."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A lake from raw data to a release and an export, and a raw object that came since: `make` has work."""
    root = tmp_path_factory.mktemp("links") / "lake"
    root.mkdir()
    mill = Mill(root)
    mill.raw("a.jsonl.gz", packed(letters(1, 2, 3)), "letters")
    mill.raw("b.jsonl.gz", packed(letters(4, 5)), "letters")
    mill.raw("a.jsonl.gz", packed(letters(6, 7, source="diary")), "diary")
    mill.store.put(blocklist_path("takedowns"), b"")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in [("SHELVES", ",".join(EXPORTING)), ("ENGINE", "inline"), ("WORKERS", "1")]:
            patch.setenv(f"GRISTMILL_{name}", value)
        assert main(["make", str(root), "letters", "diary", "blend"]) == 0
        assert main(["release", str(root), "blend", "tiny-1", "r1"]) == 0
        mill.raw("c.jsonl.gz", packed(letters(8, 9)), "letters")
        yield root


@pytest.fixture
def lake(finished: Path, tmp_path: Path) -> Path:
    return link(finished, tmp_path / "lake", shared=False)


def raw_bytes(lake: Path) -> dict[str, bytes]:
    """The raw data, by path."""
    return {
        str(path.relative_to(lake)): path.read_bytes() for path in lake.glob("sources/*/raw/**/*") if path.is_file()
    }


def lead_to_raw(lake: Path, place: str) -> Path:
    """Puts a link to a raw snapshot in a place. What was there goes; its target is relative, as `..` leads to it."""
    path = lake / place
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(lake / RAW / "2024", path.parent))
    return path


def said_by(command: str, lake: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code of a command, and all that it said."""
    capsys.readouterr()
    code = main([str(lake) if word == "LAKE" else word for word in COMMANDS[command]])
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_link_leads_a_command_to_raw_data(
    lake: Path, command: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = raw_bytes(lake)
    lead_to_raw(lake, PLACES[place])
    code, said = said_by(command, lake, capsys)
    assert raw_bytes(lake) == before
    if place in MEETS[command]:
        assert code in {1, 2}
        assert f"{PLACES[place]}: a link to {(lake / RAW / '2024').resolve()}" in said


def test_the_root_may_be_a_link_and_a_dry_run_shows_where_it_leads(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to("lake")
    before = raw_bytes(lake)
    assert said_by("gc --dry-run", lake, capsys) == (0, "0 parts would be removed, 0 bytes\n")
    code, said = said_by("gc --dry-run", tmp_path / "link", capsys)
    assert (code, said.splitlines()[0]) == (0, f"note   {tmp_path / 'link'} is {lake.resolve()}")
    for command in ("make", "gc", "erase --release", "gc"):
        assert said_by(command, tmp_path / "link", capsys)[0] == 0
    assert main(["verify", str(tmp_path / "link")]) == 0
    assert raw_bytes(lake) == before


def test_raw_data_on_another_disk_are_read(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "disk").mkdir()
    for source in ("letters", "diary"):
        (lake / "sources" / source / "raw").rename(tmp_path / "disk" / source)
    (lake / "sources" / "letters" / "raw").symlink_to(tmp_path / "disk" / "letters")
    (lake / "sources" / "diary" / "raw").mkdir()
    (lake / "sources" / "diary" / "raw" / "2024").symlink_to("../../../../disk/diary/2024")
    code, said = said_by("make", lake, capsys)
    assert (code, "made sources/letters/v0/documents (2024): 7 rows in 3 shards" in said) == (0, True)
