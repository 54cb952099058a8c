import json
from pathlib import Path

import numpy as np
import pytest
from arrays import INDEX, reader, write

from gristmill.errors import DataError
from gristmill.formats.levanter.array_reader import ArrayReader
from gristmill.formats.levanter.array_writer import CHUNK
from gristmill.formats.levanter.cache import range_reader_of_store
from gristmill.lake.store.folder import FolderStore


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0), (0, 1), (CHUNK - 1, CHUNK + 1), (CHUNK, 2 * CHUNK), (5, 2 * CHUNK + 6), (9, 9)]
)
def test_any_range_is_read(tmp_path: Path, start: int, stop: int) -> None:
    values = np.arange(CHUNK * 2 + 7, dtype=np.int32)
    write(tmp_path, values)
    assert reader(tmp_path).read(start, stop).tolist() == list(range(start, stop))


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
    with pytest.raises(DataError, match=r"a/zarr\.json: no(t a sharded zarr v3)? array"):
        reader(tmp_path)


OTHER_NAMES = {"name": "default", "configuration": {"separator": "."}}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("chunk_key_encoding", OTHER_NAMES),
        ("chunk_key_encoding", {"name": "v2"}),
        ("chunk_grid", {"name": "other", "configuration": {"chunk_shape": [512 * CHUNK]}}),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [512 * CHUNK + 1]}}),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [0]}}),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [-512 * CHUNK]}}),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [512.0 * CHUNK]}}),
        ("shape", [7]),
        ("node_type", "group"),
        ("zarr_format", 2),
        ("storage_transformers", [{"name": "other"}]),
    ],
)
def test_a_description_by_which_a_trainer_reads_something_else_is_an_error(
    tmp_path: Path, key: str, value: object
) -> None:
    write(tmp_path, np.arange(3, dtype=np.int32))
    path = tmp_path / "a/zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), key: value}))
    with pytest.raises(DataError, match=rf"a/zarr\.json: no array as Levanter writes it, by {key}"):
        reader(tmp_path)


def test_a_codec_with_more_options_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, np.arange(3, dtype=np.int32))
    path = tmp_path / "a/zarr.json"
    described = json.loads(path.read_bytes())
    described["codecs"][0]["configuration"]["index_location"] = "start"
    path.write_text(json.dumps(described))
    with pytest.raises(DataError, match=r"a/zarr\.json: no array as Levanter writes it, by codecs"):
        reader(tmp_path)


def test_another_packing_of_the_frames_is_read(tmp_path: Path) -> None:
    write(tmp_path, np.arange(3, dtype=np.int32))
    path = tmp_path / "a/zarr.json"
    path.write_bytes(path.read_bytes().replace(b'"zstd"', b'"lz4"').replace(b'"clevel":1', b'"clevel":5'))
    assert reader(tmp_path).read(0, 3).tolist() == [0, 1, 2]


def test_the_objects_of_an_array_are_named(tmp_path: Path) -> None:
    write(tmp_path, np.arange(3, dtype=np.int32))
    assert reader(tmp_path).objects(0) == ["a/zarr.json"]
    assert reader(tmp_path).objects(3) == ["a/zarr.json", "a/c/0"]
    assert reader(tmp_path).objects(512 * CHUNK + 1) == ["a/zarr.json", "a/c/0", "a/c/1"]


def test_neighbouring_chunks_are_read_by_one_request(tmp_path: Path) -> None:
    write(tmp_path, np.random.default_rng(1).integers(1, 99, 8 * CHUNK, dtype=np.int32))
    requests: list[str] = []
    ranges = range_reader_of_store(FolderStore(str(tmp_path)))

    def counted(path: str, start: int, end: int | None) -> bytes:
        requests.append(path)
        return ranges(path, start, end)

    array = ArrayReader(counted, "a")
    assert len(array.read(5, 8 * CHUNK - 5)) == 8 * CHUNK - 10
    assert requests == ["a/zarr.json", "a/c/0", "a/c/0"]
    array.read(8 * CHUNK - 9, 8 * CHUNK)
    assert len(requests) == 3


def test_a_frame_that_ends_in_the_middle_is_never_given_to_blosc(tmp_path: Path) -> None:
    write(tmp_path, np.random.default_rng(1).integers(1, 99, 99_999, dtype=np.int32))
    path = tmp_path / "a/c/0"
    data = path.read_bytes()
    path.write_bytes(data[:100] + data[-INDEX:])  # its header is whole
    with pytest.raises(DataError, match=r"a/c/0, chunk 0: truncated: it has 8296 of \d+ bytes"):
        reader(tmp_path).read(0, 1)
