"""A release that is withdrawn: its record stays, and gc removes what only it names."""

import msgspec
import pytest

from gristmill.errors import DataError
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.folder import FolderStore
from gristmill.releases.pinned import PinnedRelease
from gristmill.releases.withdrawal import find_withdrawn, withdraw_release

RELEASE = PinnedRelease(1, "spring", "even", "tiny-1", "f", (), (), {"token_caches/part-1/x": ("0", 1)}, {})


def put(lake: FolderStore, release: PinnedRelease = RELEASE) -> bytes:
    data = as_json(release)
    lake.put("releases/spring.json", data)
    lake.put("releases/spring/card.md", b"card")
    lake.put("releases/spring-2.json", as_json(msgspec.structs.replace(release, name="spring-2")))
    return data


def test_its_files_go_and_its_list_stays(lake: FolderStore) -> None:
    data = put(lake)
    assert withdraw_release(lake, "spring") == "withdrawn/releases/spring.json"
    assert lake.read("withdrawn/releases/spring.json") == data
    assert [entry.path for entry in lake.list("releases/")] == ["releases/spring-2.json"]


def test_a_withdrawal_that_was_killed_goes_on(lake: FolderStore) -> None:
    lake.put("withdrawn/releases/spring.json", put(lake))
    withdraw_release(lake, "spring")
    lake.put("releases/spring/card.md", b"left behind")
    withdraw_release(lake, "spring")
    assert [entry.path for entry in lake.list("releases/")] == ["releases/spring-2.json"]


def test_another_release_of_the_name_is_not_lost(lake: FolderStore) -> None:
    put(lake)
    withdraw_release(lake, "spring")
    put(lake, msgspec.structs.replace(RELEASE, mix="other"))
    with pytest.raises(DataError, match="another release of this name was withdrawn before"):
        withdraw_release(lake, "spring")
    assert lake.head("releases/spring.json") is not None


def test_a_release_that_is_not_there_is_an_error(lake: FolderStore) -> None:
    with pytest.raises(DataError, match="no such release"):
        withdraw_release(lake, "winter")


def test_a_withdrawn_release_that_is_there_again_is_found_with_its_mend(lake: FolderStore) -> None:
    path, record = "releases/spring.json", "withdrawn/releases/spring.json"
    data = put(lake)
    assert find_withdrawn(lake) == {}
    lake.put(record, data)  # killed behind the record
    assert list(find_withdrawn(lake)) == [path]
    withdraw_release(lake, "spring")
    assert find_withdrawn(lake) == {}
    put(lake)  # a backup
    assert str(find_withdrawn(lake)[path]) == (
        f"{path}: it was withdrawn, as {record} says, and is there, again or still: gc keeps what it names"
        f" (run `gristmill erase {lake.url} --release spring`, then `gristmill gc`)"
    )
    lake.delete([path])  # its card alone is left
    assert list(find_withdrawn(lake)) == [path]
    withdraw_release(lake, "spring")
    assert find_withdrawn(lake) == {}


def test_another_release_with_the_name_of_a_withdrawn_one_is_not_withdrawn(lake: FolderStore) -> None:
    """Gristmill gave such names again once. Such a release goes on to be one."""
    put(lake)
    withdraw_release(lake, "spring")
    put(lake, msgspec.structs.replace(RELEASE, mix="other"))
    assert find_withdrawn(lake) == {}
