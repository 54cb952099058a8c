import struct

import numpy as np
import pytest

from gristmill.formats.fasttext.file_bytes import FileBytes, Flawed


def test_parts_follow_each_other() -> None:
    file = FileBytes(struct.pack("<ib", 7, 1) + b"mill\0" + np.array([1.5, 2], "<f4").tobytes())
    assert file.take("ib") == (7, 1)
    assert file.word() == b"mill"
    assert file.array("<f4", 2).tolist() == [1.5, 2]
    with pytest.raises(Flawed, match="byte 18 needs 1 more bytes, but 0 are left"):
        file.take("B")


def test_nothing_is_read_behind_the_end_nor_before_the_beginning() -> None:
    for count in (-1, 2, 2**40):
        with pytest.raises(Flawed, match="byte 0 needs"):
            FileBytes(b"mill").array("<f4", count)


def test_a_word_without_an_end_is_refused() -> None:
    with pytest.raises(Flawed, match="the word at byte 0 has no end"):
        FileBytes(b"mill").word()
