import struct
from pathlib import Path

import pytest

from gristmill.errors import DataError
from gristmill.formats.fasttext.reading import read_model

MODEL = Path(__file__).parents[4] / "gristmill" / "models" / "lid.176.ftz"
DATA = MODEL.read_bytes()


def changed(folder: Path, data: bytes) -> Path:
    path = folder / "lid.ftz"
    path.write_bytes(data)
    return path


def with_number(place: int, value: int) -> bytes:
    """The model with another 32-bit number at a place of its header."""
    return DATA[: 4 * place] + struct.pack("<i", value) + DATA[4 * place + 4 :]


def test_the_parts_of_the_model_of_languages() -> None:
    model = read_model(MODEL)
    assert (len(model.labels), len(model.rows.features.words), model.vectors.shape) == (176, 7_235, (50_000, 16))
    assert model.labels[:3] == ("en", "ru", "de")
    assert (model.rows.features.shortest, model.rows.features.longest) == (2, 4)
    assert (model.rows.features.buckets != model.rows.features.missing).sum() == 42_765


@pytest.mark.parametrize("size", [0, 7, 8, 55, 90, 1_000, 100_000, 500_000, 900_000, len(DATA) - 1])
def test_a_model_that_is_cut_short_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(DataError, match=r"lid\.ftz: byte [\d,]+: .*fetch it again"):
        read_model(changed(tmp_path, DATA[:size]))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 1, "does not begin as a fastText model"),
        (1, 11, "does not begin as a fastText model"),
        (2, 17, "do not fit"),
        (2, -1, "dim -1"),
        (7, 2, "without word n-grams"),
        (8, 2, "loss 2"),
        (9, 1, "model 1"),
        (10, 2**31 - 1, "bucket 2147483647"),
        (10, 5, "no bucket"),
        (12, 17, "maxn 17"),
        (16, -1, "-1 entries are declared"),
        (17, 2**30, "entries are declared"),
    ],
)
def test_a_forged_header_is_refused(tmp_path: Path, place: int, value: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_model(changed(tmp_path, with_number(place, value)))


def test_a_word_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    place = DATA.index(b"in\0", DATA.index(b"de\0"))  # row 2 after row 1
    path = changed(tmp_path, DATA[:place] + b"de" + DATA[place + 2 :])
    with pytest.raises(DataError, match=r"entry \d+ \(b'de'\)"):
        read_model(path)
