from pathlib import Path

import numpy as np
import pytest
from arrays import INDEX, reader, write

from gristmill.formats.levanter.array_writer import CHUNK, CHUNKS, ArrayWriter, ObjectSink
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.hashing import Uploads


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


@pytest.mark.slow
def test_a_second_object_begins_after_512_chunks(tmp_path: Path) -> None:
    values = np.ones(CHUNK * CHUNKS + 1, np.int32)
    values[-1] = 2
    write(tmp_path, values, step=CHUNK)
    assert sorted(tree(tmp_path)) == ["a/c/0", "a/c/1", "a/zarr.json"]
    array = reader(tmp_path)
    assert array.read(CHUNK * CHUNKS - 2, CHUNK * CHUNKS + 1).tolist() == [1, 1, 2]


@pytest.mark.slow
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


def test_an_abandoned_array_leaves_no_object(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    with Uploads(store) as uploads:
        ArrayWriter(uploads.open, "int32").append(np.arange(CHUNK + 1, dtype=np.int32))
    assert [entry.path for entry in store.list("")] == []
    assert list((tmp_path / ".incoming").iterdir()) == []
