"""A part that a release names, made again by a library that compresses to other bytes."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from releasekit import write_whole
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import CACHE, TOKENIZER, even, flip, make_whole

from gristmill.errors import DataError
from gristmill.formats.levanter.array_writer import OpenObject
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.ledger.folders.pinned_upload import PinnedUpload
from gristmill.releases.pinned import PinnedRelease
from gristmill.releases.withdrawal import withdraw_release
from gristmill.stages.token_cache.step import TokenCacheStep

STEP = TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES)


def others(mill: Mill, release: PinnedRelease) -> list[str]:
    """The objects of a release that have other bytes than it names."""
    found = {path: hashlib.sha256(mill.store.read(path)).hexdigest() for path in release.objects}
    return [path for path, sha256 in found.items() if release.objects[path][0] != sha256]


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    return make_whole(tmp_path / "lake")


def upgrade(patch: pytest.MonkeyPatch) -> None:
    """Another version of the compressing library: the same level gives other bytes."""
    writer = CacheWriter.__init__

    def other(self: CacheWriter, opened: OpenObject, dtypes: Mapping[str, DType], **_: int) -> None:
        writer(self, opened, dtypes, clevel=5)

    patch.setattr(CacheWriter, "__init__", other)


def test_a_part_of_a_release_keeps_its_bytes_when_it_is_made_again_by_force(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = write_whole(mill)
    upgrade(monkeypatch)
    before = mill.store.read(CACHE.ledger)
    with pytest.raises(DataError, match=r"/part-.*: release first names it with other bytes than were made now"):
        mill.make(STEP, force=True)
    assert (others(mill, release), mill.store.read(CACHE.ledger)) == ([], before)
    withdraw_release(mill.store, "first")
    mill.make(STEP, force=True)
    assert len(others(mill, release)) == 4


def test_a_damaged_object_of_a_release_is_mended_by_the_same_library(mill: Mill) -> None:
    release = write_whole(mill)
    (path,) = (each for each in release.objects if each.endswith("input_ids/data/c/0"))
    flip(mill, path)
    assert others(mill, release) == [path]
    mill.make(STEP, force=True)
    assert others(mill, release) == []


def test_a_release_that_cannot_be_read_lets_nothing_be_replaced(mill: Mill) -> None:
    mill.store.put("a", b"old")
    mill.store.put("releases/first.json", b"{")
    for path, there in (("a", b"old"), ("b", None)):
        upload = PinnedUpload(mill.store, path, lambda _sha256, _entry: None)
        upload.write(b"new")
        if there is None:
            upload.close()
        else:
            with pytest.raises(DataError, match=r"releases/first\.json"):
                upload.close()
            upload.abort()
    assert (mill.store.read("a"), mill.store.read("b")) == (b"old", b"new")
