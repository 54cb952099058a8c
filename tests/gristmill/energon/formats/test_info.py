import pytest

from gristmill.energon.formats.info import info_bytes, read_info
from gristmill.errors import DataError


def test_the_file_is_that_of_the_real_tool() -> None:
    data = info_bytes({"shards/b.tar": 2, "shards/ä.tar": 0})
    assert data == (
        b'{\n  "energon_version": "7.4.1",\n  "shard_counts": {\n    "shards/b.tar": 2,\n'
        b'    "shards/\\u00e4.tar": 0\n  }\n}'
    )
    assert list(read_info(data, "i").items()) == [("shards/b.tar", 2), ("shards/ä.tar", 0)]


def test_the_version_may_be_absent() -> None:
    assert read_info(b'{"shard_counts": {"a.tar": 1}}', "i") == {"a.tar": 1}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"shard_counts": {"a.tar": 1}, "ours": 1}', b'{"shard_counts": {"a.tar": -1}}',
     b'{"shard_counts": {"a.tar": "1"}}'],
)  # fmt: skip
def test_what_energon_refuses_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^\.info\.json: "):
        read_info(data, ".info.json")
