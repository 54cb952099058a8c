"""gc and parts of token caches: what holds a part, and what comes between the search and the removal."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec.structs import asdict, replace
from testkit import Mill
from wholelake import CACHE, make_cache, reseal_shard, table

from gristmill.errors import AtWork, DataError, StoreError
from gristmill.execution.claim import Claim
from gristmill.lake.address import part_at
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.folder import FolderStore
from gristmill.maintenance.gc import check_unnamed, find_unnamed_parts, release_killed_claims, remove_unnamed_part
from gristmill.process import this_process

ANOTHER = b'{"token":"another"}'
TRAIN = f"{CACHE.asset}/train/"


def folders(mill: Mill) -> list[str]:
    """The folders of the parts that are in the lake."""
    return sorted({part[1] for entry in mill.store.list(TRAIN) if (part := part_at(entry.path))})


def only_the_ledger_names_them(mill: Mill) -> None:
    """Neither the merged ledger nor the index is there, as before a slice is first indexed."""
    index = [entry.path for entry in mill.store.list("token_caches/even/tiny-1/index/")]
    mill.store.delete([f"{TRAIN}shard_ledger.json", *index])


def test_a_part_that_its_slices_ledger_alone_names_is_kept(whole: Mill) -> None:
    only_the_ledger_names_them(whole)
    assert len(folders(whole)) == 1
    assert find_unnamed_parts(whole.store, whole.said.append) == []
    whole.store.delete([CACHE.ledger])
    assert [part.folder for part in find_unnamed_parts(whole.store, whole.said.append)] == folders(whole)


def test_a_part_that_a_release_names_in_escapes_is_kept(whole: Mill) -> None:
    only_the_ledger_names_them(whole)
    whole.store.delete([CACHE.ledger])
    (folder,) = folders(whole)
    name = folder.rstrip("/").rpartition("/")[2].replace("-", "\\u002d")
    whole.store.put("releases/spring.json", f'{{"parts":["{name}"]}}'.encode())
    assert find_unnamed_parts(whole.store, whole.said.append) == []
    whole.store.delete(["releases/spring.json"])
    assert [part.folder for part in find_unnamed_parts(whole.store, whole.said.append)] == [folder]


def test_a_slice_whose_table_names_no_folder_stops_gc(whole: Mill) -> None:
    reseal_shard(whole, CACHE, table(whole, CACHE)[0].name, extra={})
    with pytest.raises(DataError, match="its row names no folders; make the slice again"):
        find_unnamed_parts(whole.store, whole.said.append)


def test_a_run_that_came_meanwhile_keeps_its_parts(whole: Mill) -> None:
    only_the_ledger_names_them(whole)
    ledger = whole.store.read(CACHE.ledger)
    whole.store.delete([CACHE.ledger])
    found = find_unnamed_parts(whole.store, whole.said.append)
    whole.store.put(CACHE.claim_path, ANOTHER)
    before = whole.stamps()
    assert [remove_unnamed_part(whole.store, part) for part in found] == [False]
    assert whole.stamps() == before
    whole.store.delete([CACHE.claim_path])
    whole.store.put(CACHE.ledger, ledger)  # the run has published them
    assert [remove_unnamed_part(whole.store, part) for part in found] == [False]
    whole.store.delete([CACHE.ledger])
    assert [remove_unnamed_part(whole.store, part) for part in found] == [True]
    assert folders(whole) == []


def test_a_slice_that_is_being_made_loses_no_part(whole: Mill) -> None:
    """A receipt alone is enough: its run was killed, or has not yet taken its claim away."""
    only_the_ledger_names_them(whole)
    whole.store.delete([CACHE.ledger])
    for sign in (CACHE.claim_path, CACHE.receipt_path("00000")):
        whole.store.put(sign, ANOTHER)
        assert find_unnamed_parts(whole.store, whole.said.append) == []
        whole.store.delete([sign])
    assert len(find_unnamed_parts(whole.store, whole.said.append)) == 1
    make_cache(whole)
    assert find_unnamed_parts(whole.store, whole.said.append) == []


def test_a_part_behind_a_link_out_of_the_lake_is_not_removed(whole: Mill, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"precious")
    (Path(whole.lake.url) / TRAIN / CACHE.snapshot / "part-00009-0123456789abcdef").symlink_to(outside)
    with pytest.raises(StoreError, match=f"part-00009-0123456789abcdef: a link to {outside}"):
        find_unnamed_parts(whole.store, whole.said.append)
    assert (outside / "precious").read_bytes() == b"precious"


@pytest.mark.parametrize("run", ["make", "a release of an older Gristmill"])
def test_no_run_makes_a_part_between_the_last_look_and_the_deletion(whole: Mill, run: str) -> None:
    """A run that makes the slice again waits; what takes no claim and names the part is told."""
    only_the_ledger_names_them(whole)
    (folder,) = folders(whole)
    whole.store.delete([CACHE.ledger])
    (found,) = find_unnamed_parts(whole.store, whole.said.append)
    said: list[str] = []

    class Late(FolderStore):
        """A lake in which the deletion of a part comes late: a run is faster."""

        def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
            paths = list(paths)
            if any(path.startswith(folder) for path in paths):
                if run == "make":
                    with pytest.raises(AtWork) as waits:
                        make_cache(whole)
                    said.append(str(waits.value))
                else:
                    whole.store.put("releases/spring.json", as_json({"parts": [found.name]}))
            super().delete(paths, still)

    late = Late(whole.lake.url)
    assert remove_unnamed_part(late, found)
    if run == "make":
        assert f"{CACHE.asset} (2024): gc (process " in said[0]
        check_unnamed(late, [found])
        make_cache(whole)
        assert folders(whole) == [folder]
        assert whole.store.head(CACHE.claim_path) is None
    else:
        with pytest.raises(StoreError, match=f"{folder}: an index or a release that was written while gc removed"):
            check_unnamed(late, [found])


def test_gc_goes_on_where_a_gc_was_killed(whole: Mill) -> None:
    only_the_ledger_names_them(whole)
    ledger = whole.store.read(CACHE.ledger)
    whole.store.delete([CACHE.ledger])
    killed = Claim(**asdict(replace(this_process(), started="1")), token="gc-1", work="gc")
    whole.store.put(CACHE.claim_path, as_json(killed))
    (part,) = find_unnamed_parts(whole.store, whole.said.append)
    assert remove_unnamed_part(whole.store, part)
    assert (folders(whole), whole.store.head(CACHE.claim_path)) == ([], None)
    whole.store.put(CACHE.ledger, ledger)
    whole.store.put(CACHE.claim_path, as_json(killed))
    release_killed_claims(whole.store)
    assert whole.store.head(CACHE.claim_path) is None
    whole.store.put(CACHE.claim_path, ANOTHER)
    release_killed_claims(whole.store)
    assert whole.store.read(CACHE.claim_path) == ANOTHER
