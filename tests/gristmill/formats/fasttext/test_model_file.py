import struct

import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.formats.fasttext.model_file import ModelFile


def test_parts_follow_each_other() -> None:
    file = ModelFile("a.bin", struct.pack("<ib", 7, 1) + b"mill\0" + np.array([1.5, 2], "<f4").tobytes())
    assert file.numbers("ib") == (7, 1)
    assert file.word() == b"mill"
    assert file.array("<f4", 2).tolist() == [1.5, 2]
    with pytest.raises(DataError, match=r"a\.bin: byte 18: the file ends, and 1 more bytes are needed"):
        file.numbers("?")


def test_a_quantized_row_is_its_centroids_times_its_norm() -> None:
    centroids = np.zeros((3 * 256), "<f4")
    centroids[5 * 2 : 5 * 2 + 2] = 1, 2  # code 5 of the first part, which has two columns
    centroids[2 * 256 + 9] = 3  # code 9 of the last part
    norms = np.zeros(256, "<f4")
    norms[1] = 10
    data = struct.pack("<bqqi", 1, 1, 3, 2) + bytes([5, 9]) + struct.pack("<4i", 3, 2, 2, 1) + centroids.tobytes()
    data += bytes([1]) + struct.pack("<4i", 1, 1, 1, 1) + norms.tobytes()
    assert ModelFile("a.ftz", data).matrix(quantized=True).tolist() == [[10, 20, 30]]


@pytest.mark.parametrize(
    ("data", "quantized", "message"),
    [
        (struct.pack("<qq", 2**40, 2**40), False, "numbers is declared"),
        (struct.pack("<qq", -1, 3), False, "numbers is declared"),
        (struct.pack("<qq", 2**15, 2**15), False, "they do not fit"),
        (struct.pack("<qqf", 1, 1, np.nan), False, "NaN"),
        (struct.pack("<qqf", 1, 1, -np.inf), False, "NaN"),
        (struct.pack("<qqf", 1, 1, 1e10), False, r"over 1e\+09"),
        (struct.pack("<bqqi", 0, 1, 1, -1), True, "they do not fit"),
        (struct.pack("<bqqi", 0, 1, 4, 1) + b"a" + struct.pack("<4i", 4, 2, 2, 1), True, "do not make 4"),
        (struct.pack("<bqqi", 0, 1, 4, 1) + b"a" + struct.pack("<4i", 4, 0, 2, 1), True, "do not make 4"),
        (struct.pack("<bqqi", 0, 1, 4, 1) + b"a" + struct.pack("<4i", 4, 2, 2, 2), True, "1 codes are not 1 rows"),
    ],
)
def test_a_matrix_that_does_not_fit_its_file_is_refused(data: bytes, quantized: bool, message: str) -> None:  # noqa: FBT001
    with pytest.raises(DataError, match=message):
        ModelFile("a.bin", data).matrix(quantized=quantized)


def test_a_word_without_an_end_is_refused() -> None:
    with pytest.raises(DataError, match="a word does not end"):
        ModelFile("a.bin", b"mill").word()
