"""Listings of folders whose links lead back to a folder above, or multiply."""

from itertools import islice
from pathlib import Path

import pytest

from gristmill.lake.store.disk import followed_links
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.plain_files import NoFile, Unlisted

TOP = "sources/pages/raw/"


@pytest.fixture
def lake(tmp_path: Path) -> FolderStore:
    return FolderStore(str(tmp_path / "lake"))


@pytest.fixture
def raw(lake: FolderStore) -> Path:
    lake.put(f"{TOP}s1/a", b"1")
    lake.put(f"{TOP}s2/b", b"2")
    return Path(lake.url) / TOP


def listed(lake: FolderStore) -> tuple[list[str], list[Unlisted]]:
    """The first hundred entries, and what is told."""
    told: list[Unlisted] = []
    return [each.path.removeprefix(TOP) for each in islice(lake.list(TOP, "", told.append), 100)], told


@pytest.mark.parametrize("target", [".", "..", "../../../..", "/"])
def test_a_link_to_a_folder_above_it_is_told_and_not_followed(lake: FolderStore, raw: Path, target: str) -> None:
    (raw / "s1" / "x").symlink_to(target)
    (raw / "s1" / "y").symlink_to(target)
    where = (raw / "s1" / target).resolve()
    found, told = listed(lake)
    assert found == ["s1/a", "s2/b"]
    assert [(each.path, each.hides) for each in told] == [(f"{TOP}s1/x", True), (f"{TOP}s1/y", True)]
    with pytest.raises(NoFile, match=rf"^{TOP}s1/x: a link to {where}, .* a circle without end\. Remove the link"):
        list(lake.list(TOP))


def test_links_that_lead_to_one_another_are_a_circle(lake: FolderStore, raw: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "c").write_bytes(b"3")
    (tmp_path / "disk" / "back").symlink_to(raw / "s1")
    (raw / "s1" / "x").symlink_to(tmp_path / "disk")
    (raw / "s2" / "to1").symlink_to("../s1")
    found, told = listed(lake)
    assert found == ["s1/a", "s1/x/c", "s2/b", "s2/to1/a", "s2/to1/x/c"]
    assert [each.path for each in told] == [f"{TOP}s1/x/back", f"{TOP}s2/to1/x/back"]


def test_one_folder_behind_many_links_is_no_circle(lake: FolderStore, raw: Path) -> None:
    (raw / "s2" / "one").symlink_to("../s1")
    (raw / "s2" / "two").symlink_to("../s1")
    (raw / "s3").symlink_to("s2")
    ways = ["s1/a", "s2/b", "s2/one/a", "s2/two/a", "s3/b", "s3/one/a", "s3/two/a"]
    assert listed(lake) == (ways, [])


def test_links_that_multiply_are_told_and_not_followed_for_ever(
    lake: FolderStore, raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ways double at each folder: a thousand million lead from f00 to f30."""
    monkeypatch.setattr(followed_links, "MOST", 8)
    for number in range(30):
        (raw / f"f{number:02}").mkdir()
        (raw / f"f{number:02}" / "x").symlink_to(f"../f{number + 1:02}")
        (raw / f"f{number:02}" / "y").symlink_to(f"../f{number + 1:02}")
    (raw / "f30").mkdir()
    told: list[Unlisted] = []
    assert [each.path for each in lake.list(TOP, "", told.append)] == [f"{TOP}s1/a", f"{TOP}s2/b"]
    assert all(each.hides and "in more than 8 ways" in each.reason for each in told)
    assert 0 < len(told) < 30 * 2 * 8
    with pytest.raises(NoFile, match=rf"x: a link to {raw}/f\d\d, to which links lead in more than 8 ways"):
        list(lake.list(TOP))
