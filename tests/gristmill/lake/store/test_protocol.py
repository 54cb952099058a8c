import pytest

from gristmill.errors import StoreError
from gristmill.lake.store.protocol import check_path, check_prefix

LEAVING = ["", "/", "/a", "a//b", "a/../b", "..", "./a", "a\\b", "a\x00b"]


@pytest.mark.parametrize("path", LEAVING)
def test_no_path_and_no_prefix_leaves_the_lake(path: str) -> None:
    with pytest.raises(StoreError, match="is not the path of an object in the lake"):
        check_path(path)
    if path:
        with pytest.raises(StoreError, match="is not the path of an object in the lake"):
            check_prefix(f"{path}/")


def test_other_paths_are_taken_as_they_are() -> None:
    assert check_path("a/b..c/.d") == "a/b..c/.d"
    assert (check_prefix(""), check_prefix("a/b/")) == ("", "a/b/")
