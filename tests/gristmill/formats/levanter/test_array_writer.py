import json
from pathlib import Path

import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.formats.levanter.array_reader import ArrayReader
from gristmill.formats.levanter.array_writer import CHUNK, CHUNKS, ArrayWriter, ObjectSink, Values
from gristmill.formats.levanter.cache import ranges_of
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore

INDEX = 512 * 16 + 4


def write(folder: Path, values: Values, dtype: DType = "int32", *, step: int = 2**62, clevel: int = 1) -> None:
    store = FolderStore(str(folder))

    def opened(name: str) -> ObjectSink:
        return store.upload(f"a/{name}")

    writer = ArrayWriter(opened, dtype, clevel=clevel)
    for start in range(0, len(values), step):
        writer.append(values[start : start + step])
    assert writer.close() == len(values)


def reader(folder: Path) -> ArrayReader:
    return ArrayReader(ranges_of(FolderStore(str(folder))), "a")


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.name != ".lock"}


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_what_is_written_is_read(tmp_path: Path, dtype: DType) -> None:
    values = np.arange(CHUNK * 2 + 7).astype(dtype) - 5
    write(tmp_path, values, dtype)
    array = reader(tmp_path)
    assert array.dtype == dtype
    assert array.read(0, len(values)).dtype == values.dtype
    assert np.array_equal(array.read(0, len(values)), values)


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0), (0, 1), (CHUNK - 1, CHUNK + 1), (CHUNK, 2 * CHUNK), (5, 2 * CHUNK + 6), (9, 9)]
)
def test_any_range_is_read(tmp_path: Path, start: int, stop: int) -> None:
    values = np.arange(CHUNK * 2 + 7, dtype=np.int32)
    write(tmp_path, values)
    assert reader(tmp_path).read(start, stop).tolist() == list(range(start, stop))


def test_the_bytes_do_not_depend_on_how_the_elements_came(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 50_000, CHUNK + 1_000, dtype=np.int32)
    write(tmp_path / "one", values)
    write(tmp_path / "two", values, step=7_777)
    one = tree(tmp_path / "one")
    assert sorted(one) == ["a/c/0", "a/zarr.json"]
    assert one == tree(tmp_path / "two")


def test_no_elements_make_no_object_but_the_description(tmp_path: Path) -> None:
    write(tmp_path, np.empty(0, np.int32))
    assert sorted(tree(tmp_path)) == ["a/zarr.json"]
    assert reader(tmp_path).read(0, 0).tolist() == []


def test_chunks_of_zeros_are_left_out_of_the_object(tmp_path: Path) -> None:
    values = np.zeros(3 * CHUNK, np.int32)
    write(tmp_path / "zero", values)
    assert len(tree(tmp_path / "zero")["a/c/0"]) == INDEX
    values[CHUNK] = 1
    write(tmp_path / "one", values)
    index = np.frombuffer(tree(tmp_path / "one")["a/c/0"][-INDEX:-4], "<u8").reshape(512, 2)
    assert (index[[0, 2, 511]] == 2**64 - 1).all()
    assert index[1].tolist() == [0, len(tree(tmp_path / "one")["a/c/0"]) - INDEX]
    assert np.array_equal(reader(tmp_path / "one").read(0, 3 * CHUNK), values)


def test_a_negative_zero_is_not_left_out(tmp_path: Path) -> None:
    write(tmp_path, np.array([-0.0], np.float32), "float32")
    assert np.signbit(reader(tmp_path).read(0, 1)[0])


def test_the_description_is_levanters(tmp_path: Path) -> None:
    write(tmp_path, np.arange(3, dtype=np.int64), "int64")
    assert tree(tmp_path)["a/zarr.json"] == (
        b'{"chunk_grid":{"configuration":{"chunk_shape":[134217728]},"name":"regular"},"chunk_key_encoding":'
        b'{"name":"default"},"codecs":[{"configuration":{"chunk_shape":[262144],"codecs":[{"configuration":'
        b'{"endian":"little"},"name":"bytes"},{"configuration":{"blocksize":0,"clevel":1,"cname":"zstd","shuffle":'
        b'"shuffle","typesize":8},"name":"blosc"}],"index_codecs":[{"configuration":{"endian":"little"},"name":'
        b'"bytes"},{"name":"crc32c"}]},"name":"sharding_indexed"}],"data_type":"int64","fill_value":0,"node_type":'
        b'"array","shape":[18014398509481984],"zarr_format":3}'
    )


def test_a_second_object_begins_after_512_chunks(tmp_path: Path) -> None:
    values = np.ones(CHUNK * CHUNKS + 1, np.int32)
    values[-1] = 2
    write(tmp_path, values, step=CHUNK)
    assert sorted(tree(tmp_path)) == ["a/c/0", "a/c/1", "a/zarr.json"]
    array = reader(tmp_path)
    assert array.read(CHUNK * CHUNKS - 2, CHUNK * CHUNKS + 1).tolist() == [1, 1, 2]


def test_reserved_elements_come_last_and_stand_first(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))

    def opened(name: str) -> ObjectSink:
        return store.upload(f"a/{name}")

    writer = ArrayWriter(opened, "int32", clevel=1, reserve=1)
    chunk = np.ones(CHUNK, np.int32)
    for _ in range(CHUNKS):
        writer.append(chunk)
    assert writer.close(np.array([7], np.int32)) == CHUNK * CHUNKS + 1
    array = reader(tmp_path)
    assert array.read(0, 3).tolist() == [7, 1, 1]
    assert array.read(CHUNK * CHUNKS - 1, CHUNK * CHUNKS + 2).tolist() == [1, 1, 0]


def test_elements_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="array of int32 got 1 dimensions of int64"):
        write(tmp_path, np.arange(3))


def test_a_missing_object_is_an_error_that_names_it_and_never_zeros(tmp_path: Path) -> None:
    write(tmp_path, np.arange(10, dtype=np.int32))
    (tmp_path / "a/c/0").unlink()
    with pytest.raises(DataError, match="a/c/0 is missing"):
        reader(tmp_path).read(0, 1)
    (tmp_path / "a/zarr.json").unlink()
    with pytest.raises(DataError, match=r"a/zarr\.json is missing"):
        reader(tmp_path)


@pytest.mark.parametrize("kept", [0, 3, INDEX - 1, 5_000, -1])
def test_a_truncated_object_is_an_error_that_names_it(tmp_path: Path, kept: int) -> None:
    write(tmp_path, np.random.default_rng(1).integers(1, 99, 9_999, dtype=np.int32))
    path = tmp_path / "a/c/0"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"a/c/0.*CRC-32C"):
        reader(tmp_path).read(0, 1)


def test_a_flipped_bit_in_the_index_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, np.arange(1, 10, dtype=np.int32))
    path = tmp_path / "a/c/0"
    data = bytearray(path.read_bytes())
    data[-INDEX + 8] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a/c/0.*CRC-32C"):
        reader(tmp_path).read(0, 1)


@pytest.mark.parametrize("place", [0, 3, 4, 12, 16])
def test_a_damaged_frame_header_is_an_error_that_names_the_chunk(tmp_path: Path, place: int) -> None:
    write(tmp_path, np.random.default_rng(1).integers(1, 99, 9_999, dtype=np.int32))
    path = tmp_path / "a/c/0"
    data = bytearray(path.read_bytes())
    data[place : place + 4] = b"\xff" * 4
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a/c/0, chunk 0: .*damaged"):
        reader(tmp_path).read(0, 1)


def test_an_object_without_the_bytes_its_index_names_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, np.random.default_rng(1).integers(1, 99, 9_999, dtype=np.int32))
    path = tmp_path / "a/c/0"
    path.write_bytes(path.read_bytes()[-INDEX:])
    with pytest.raises(DataError, match=r"truncated|damaged"):
        reader(tmp_path).read(0, 1)


@pytest.mark.parametrize("key", ["codecs", "data_type", "fill_value", "chunk_grid"])
def test_another_kind_of_array_is_an_error_that_says_what_it_is(tmp_path: Path, key: str) -> None:
    write(tmp_path, np.arange(3, dtype=np.int32))
    path = tmp_path / "a/zarr.json"
    described = json.loads(path.read_bytes())
    path.write_text(json.dumps({**described, key: "other"}))
    with pytest.raises(DataError, match=r"a/zarr\.json"):
        reader(tmp_path)
    del described[key]
    path.write_text(json.dumps(described))
    with pytest.raises(DataError, match="not a sharded zarr v3 array"):
        reader(tmp_path)


def test_an_abandoned_array_leaves_no_object(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    writer = ArrayWriter(store.upload, "int32")
    writer.append(np.arange(CHUNK + 1, dtype=np.int32))
    writer.abort()
    assert [entry.path for entry in store.list("")] == []


def test_neighbouring_chunks_are_read_by_one_request(tmp_path: Path) -> None:
    write(tmp_path, np.random.default_rng(1).integers(1, 99, 8 * CHUNK, dtype=np.int32))
    requests: list[str] = []
    ranges = ranges_of(FolderStore(str(tmp_path)))

    def counted(path: str, start: int, end: int | None) -> bytes:
        requests.append(path)
        return ranges(path, start, end)

    array = ArrayReader(counted, "a")
    assert len(array.read(5, 8 * CHUNK - 5)) == 8 * CHUNK - 10
    assert requests == ["a/zarr.json", "a/c/0", "a/c/0"]
    array.read(8 * CHUNK - 9, 8 * CHUNK)
    assert len(requests) == 3
