import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.formats.tar.samples import Samples, index_bytes, index_name, read_index

ONE = Samples(
    first=0,
    keys=["a", "b"],
    starts=np.array([0, 1024, 3072]),
    part_samples=np.array([0, 1, 1]),
    part_names=["txt", "txt", "json"],
    part_offsets=np.array([512, 1536, 2560]),
    part_sizes=np.array([3, 4, 5]),
)


def test_rows_have_sizes_that_reach_to_the_next_sample() -> None:
    assert list(ONE.sample_rows()) == [("a", 0, 0, 1024), ("b", 1, 1024, 2048)]
    assert list(ONE.part_rows()) == [(0, "txt", 512, 3), (1, "txt", 1536, 4), (1, "json", 2560, 5)]


def test_an_index_is_read_as_it_was_written() -> None:
    assert index_name("a.jsonl") == "a.jsonl.idx"
    assert index_bytes(ONE.starts) == bytes(8) + b"\x00\x04" + bytes(6) + b"\x00\x0c" + bytes(6)
    assert read_index(index_bytes(ONE.starts), "a.idx").tolist() == [0, 1024, 3072]


@pytest.mark.parametrize("data", [b"", bytes(8), bytes(17), bytes(16), index_bytes([8, 0]), b"\xff" * 16])
def test_what_is_no_index_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^a\.idx: "):
        read_index(data, "a.idx")
