import pytest
from splits import ASSET, texts, write_split

from gristmill.errors import DataError
from gristmill.lake.store.s3 import BucketStore
from gristmill.stages.token_cache.token_stream import open_split

IDS = "input_ids"


def test_a_split_in_a_bucket_is_read_by_rows_and_by_tokens_and_a_lost_object_is_an_error(near: BucketStore) -> None:
    write_split(near, {"2024/part-0": texts([1, 2, 3], []), "2025/part-0": texts([4, 5])})
    stream = open_split(near, ASSET, "train")
    assert [stream.row(IDS, number).tolist() for number in range(3)] == [[1, 2, 3], [], [4, 5]]
    assert stream.read_elements(IDS, 2, 4).tolist() == [3, 4]
    lost = f"{ASSET}/train/2025/part-0/input_ids/data/c/0"
    near.delete([lost])
    with pytest.raises(DataError, match=f"{lost} is missing"):
        open_split(near, ASSET, "train").row(IDS, 2)
