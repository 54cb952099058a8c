import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splits import ASSET, CHAT, Row, texts, write_part, write_split

from gristmill.errors import DataError
from gristmill.lake.store.folder import FolderStore
from gristmill.stages.token_cache.token_stream import TokenStream, open_split

IDS = "input_ids"
PARTS: dict[str, list[Row]] = {
    "2024/part-00000-a": texts([1, 2, 3], []),
    "2024/part-00001-b": [],
    "2025/part-00000-c": texts([], [], [4]),
    "2025/part-00001-d": texts([], []),
    "2025/part-00002-e": texts([5, 6]),
}
ROWS = [[1, 2, 3], [], [], [], [4], [], [], [5, 6]]


@pytest.fixture
def store(lake: FolderStore) -> FolderStore:
    write_split(lake, PARTS)
    return lake


def opened(store: FolderStore) -> TokenStream:
    return open_split(store, ASSET, "train")


def flip(store: FolderStore, path: str, at: int = 40) -> None:
    data = bytearray(store.read(path))
    data[at] ^= 1
    store.put(path, bytes(data))


def test_the_parts_are_one_sequence_of_rows_and_one_stream_of_tokens(store: FolderStore) -> None:
    stream = opened(store)
    assert (stream.rows, stream.fields, stream.count(IDS)) == (8, [IDS], 6)
    assert [stream.row(IDS, number).tolist() for number in range(8)] == ROWS
    assert stream.row_bounds(IDS, 0, 8).tolist() == [0, 3, 3, 3, 3, 4, 4, 4, 6]
    assert stream.row_bounds(IDS, 2, 5).tolist() == [3, 3, 3, 4]
    assert [stream.row_bounds(IDS, n, n).tolist() for n in (0, 2, 8)] == [[0], [3], [6]]
    assert stream.read_elements(IDS, 2, 5).tolist() == [3, 4, 5]
    assert [[each.tolist() for each in block] for block in stream.lengths(IDS)] == [[[3, 0, 0, 0, 1, 0, 0, 2]]]


def test_a_token_is_traced_to_its_row_and_a_row_to_its_part(store: FolderStore) -> None:
    stream = opened(store)
    assert [stream.row_of_element(IDS, token) for token in range(6)] == [0, 0, 0, 4, 7, 7]
    assert [stream.part_of_row(row) for row in (0, 1, 2, 4, 5, 7)] == [
        ("2024/part-00000-a", 0),
        ("2024/part-00000-a", 1),
        ("2025/part-00000-c", 0),
        ("2025/part-00000-c", 2),
        ("2025/part-00001-d", 0),
        ("2025/part-00002-e", 0),
    ]


def test_what_is_not_there_is_an_index_error(store: FolderStore) -> None:
    stream = opened(store)
    with pytest.raises(IndexError, match="rows 8 to 9 of 8"):
        stream.row(IDS, 8)
    with pytest.raises(IndexError, match="elements 5 to 7 of 6 input_ids"):
        stream.read_elements(IDS, 5, 7)
    with pytest.raises(IndexError, match="element 6 of 6"):
        stream.row_of_element(IDS, 6)
    with pytest.raises(IndexError, match="row -1 of 8"):
        stream.part_of_row(-1)
    with pytest.raises(DataError, match="its rows have no field 'assistant_masks', but input_ids"):
        stream.row("assistant_masks", 0)


@pytest.mark.slow
@given(
    parts=st.lists(st.lists(st.lists(st.integers(0, 99), max_size=3), max_size=4), max_size=5),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
@settings(max_examples=40)
def test_any_range_over_any_parts_is_that_of_one_list(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[list[int]]], cut: tuple[int, int]
) -> None:
    store = FolderStore(str(tmp_path_factory.mktemp("lake")))
    write_split(store, {f"2024/part-{n}": texts(*rows) for n, rows in enumerate(parts)})
    stream = opened(store)
    rows = [row for part in parts for row in part]
    flat = [token for row in rows for token in row]
    assert (stream.rows, stream.count(IDS)) == (len(rows), len(flat))
    start, stop = sorted(min(each, len(flat)) for each in cut)
    assert stream.read_elements(IDS, start, stop).tolist() == flat[start:stop]
    first, last = sorted(min(each, len(rows)) for each in cut)
    ends = np.cumsum([0, *map(len, rows)])
    assert stream.row_bounds(IDS, first, last).tolist() == ends[first : last + 1].tolist()
    for token in range(start, stop):
        row = stream.row_of_element(IDS, token)
        assert ends[row] <= token < ends[row + 1]


def test_nothing_but_the_ledger_is_read_until_a_part_is(store: FolderStore) -> None:
    for part in ("2024/part-00000-a", "2025/part-00002-e"):
        store.delete([f"{ASSET}/train/{part}/shard_ledger.json"])
    stream = opened(store)
    assert stream.row(IDS, 4).tolist() == [4]
    with pytest.raises(DataError, match=r"part-00000-a/shard_ledger\.json is missing"):
        stream.row(IDS, 0)


@pytest.mark.parametrize("name", ["input_ids/data/c/0", "input_ids/offsets/c/0", "input_ids/data/zarr.json"])
def test_a_lost_object_is_an_error_that_names_it_and_no_zeros(store: FolderStore, name: str) -> None:
    path = f"{ASSET}/train/2024/part-00000-a/{name}"
    store.delete([path])
    with pytest.raises(DataError, match=f"{path} is missing"):
        opened(store).row(IDS, 0)


def test_a_flipped_bit_is_an_error_that_names_the_object(store: FolderStore) -> None:
    path = f"{ASSET}/train/2024/part-00000-a/input_ids/data/c/0"
    flip(store, path)
    with pytest.raises(DataError, match=f"{path}: its sha256 is .*, in its ledger .*: damaged"):
        opened(store).row(IDS, 0)
    assert opened(store).row_bounds(IDS, 0, 1).tolist() == [0, 3]  # offsets are another object


def test_another_size_is_found_without_reading(store: FolderStore) -> None:
    path = f"{ASSET}/train/2024/part-00000-a/input_ids/data/c/0"
    store.put(path, store.read(path) + b"x")
    with pytest.raises(DataError, match=f"{path}: [0-9]+ bytes, in its ledger [0-9]+"):
        opened(store).row(IDS, 0)


def test_unverified_nothing_is_hashed(store: FolderStore) -> None:
    path = f"{ASSET}/train/2024/part-00000-a/input_ids/data/zarr.json"
    store.put(path, store.read(path) + b"\n")
    assert open_split(store, ASSET, "train", verified=False).row(IDS, 0).tolist() == [1, 2, 3]
    with pytest.raises(DataError, match=r"zarr\.json"):
        opened(store).row(IDS, 0)


def test_a_part_that_its_slice_no_longer_names_is_an_error(store: FolderStore) -> None:
    merged = store.read(f"{ASSET}/train/shard_ledger.json")
    store.put(f"{ASSET}/train/shard_ledger.json", merged.replace(b"part-00000-a", b"part-00009-z"))
    with pytest.raises(DataError, match="the ledger of 2024 names no such part; make the cache's index again"):
        opened(store).row(IDS, 0)


def test_a_merged_ledger_that_counts_otherwise_is_an_error(store: FolderStore) -> None:
    write_part(store, f"{ASSET}/train/2024/part-00000-a", texts([1, 2], [3]))
    with pytest.raises(DataError, match="part-00000-a"):
        opened(store).row(IDS, 0)
    write_part(store, f"{ASSET}/train/2024/part-00000-a", texts([1, 2]))
    with pytest.raises(
        DataError, match=r"1 rows and \{'input_ids': 2\}, in the split's ledger 2 and \{'input_ids': 3\}"
    ):
        open_split(store, ASSET, "train", verified=False).row(IDS, 0)


def test_without_an_index_there_is_nothing_to_read(lake: FolderStore) -> None:
    with pytest.raises(DataError, match=r"train/shard_ledger.json: does not exist yet; make the cache's index"):
        opened(lake)


def test_a_consolidated_cache_is_one_part(lake: FolderStore) -> None:
    write_part(lake, "copy", [{"input_ids": [1, 2], "assistant_masks": [0, 1]}], CHAT)
    stream = TokenStream(lake, "copy")
    assert (stream.rows, stream.fields, stream.parts) == (1, ["input_ids", "assistant_masks"], [""])
    assert stream.row("assistant_masks", 0).tolist() == [0, 1]
    with pytest.raises(DataError, match=r"copy/shard_ledger.json: no ledger names this object"):
        TokenStream(lake, "copy", lambda _: {}).row(IDS, 0)


def test_more_parts_than_are_kept_open_are_read_in_any_order(lake: FolderStore) -> None:
    write_split(lake, {f"2024/part-{n:05d}": texts([n]) for n in range(30)})
    stream = opened(lake)
    order = [*range(30), *range(29, -1, -1), 5, 25, 5]
    assert [stream.row(IDS, n).tolist() for n in order] == [[n] for n in order]
