import hashlib
import io
import tarfile

import pytest
from energonsets import joined

from gristmill.errors import DataError
from gristmill.formats.tar.walk import TarWalk
from gristmill.formats.tar.writer import TarWriter

SAMPLES = {
    "a": [("txt", b"one"), ("json", b"{}")],
    "photos/" + "b" * 120: [("png", bytes(1024))],
    "ü": [("txt", b""), ("seg.png", bytes(511))],
    "c": [("bin", bytes(range(256)) * 9)],
}


def written() -> tuple[bytes, TarWriter]:
    pieces: list[bytes] = []
    writer = TarWriter(pieces.append)
    for key, parts in SAMPLES.items():
        writer.add(key, parts)
    writer.close()
    return b"".join(pieces), writer


def test_tarfile_reads_what_was_written() -> None:
    data, _ = written()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
        modes = {(info.mode, info.mtime, info.uid, info.gid, info.uname, info.isreg()) for info in tar}
    assert found == {f"{key}.{part}": content for key, parts in SAMPLES.items() for part, content in parts}
    assert modes == {(0o644, 0, 0, 0, "", True)}


def test_the_index_is_that_of_a_walk() -> None:
    data, writer = written()
    walk = TarWalk(lambda offset, length: data[offset : offset + length], len(data), "a.tar")
    found, index = joined(walk), writer.take_index()
    assert list(found.sample_rows()) == list(index.sample_rows())
    assert list(found.part_rows()) == list(index.part_rows())
    assert walk.end == writer.size == index.starts[-1]


def test_the_index_may_be_taken_in_pieces() -> None:
    writer = TarWriter(len)
    pieces = []
    for key, parts in SAMPLES.items():
        writer.add(key, parts)
        pieces.append(writer.take_index())
    _, whole = written()
    index = whole.take_index()
    assert list(joined(pieces).sample_rows()) == list(index.sample_rows())
    assert list(joined(pieces).part_rows()) == list(index.part_rows())
    assert [piece.first for piece in pieces] == [0, 1, 2, 3]


def test_bytes_are_fixed() -> None:
    """A change of these bytes is a change of every export: of their digests and of the names of their parts."""
    data, _ = written()
    assert len(data) == 12288
    assert hashlib.sha256(data).hexdigest() == "5be1613daf6ffb58dbf5fb64187bde68378e706752b068954918e6498149f40a"


@pytest.mark.parametrize(
    ("key", "parts", "message"),
    [
        ("a", [], "it has no part"),
        ("a", [("txt", b""), ("txt", b"")], "a part comes twice"),
        ("a.b", [("txt", b"")], "does not give the sample key 'a.b'"),
        ("a", [("a/b", b"")], "does not give the sample key"),
        ("", [("txt", b"")], "does not give the sample key"),
        ("__meta__/a", [("txt", b"")], "does not give the sample key"),
        ("last", [("json", b"")], "comes twice in a row"),
    ],
)
def test_samples_that_the_loader_would_not_find_are_refused(
    key: str, parts: list[tuple[str, bytes]], message: str
) -> None:
    pieces: list[bytes] = []
    writer = TarWriter(pieces.append)
    writer.add("last", [("txt", b"x")])
    before = list(pieces)
    with pytest.raises(DataError, match=message):
        writer.add(key, parts)
    assert pieces == before
    assert list(writer.take_index().sample_rows()) == [("last", 0, 0, 1024)]


def test_a_content_of_8_gib_comes_with_a_pax_size() -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return 8**11

    pieces: list[bytes] = []
    TarWriter(pieces.append).add("a", [("bin", Huge())])
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
        info = tar.next()
    assert info is not None
    assert (info.name, info.size, info.offset_data) == ("a.bin", 8**11, 1536)
