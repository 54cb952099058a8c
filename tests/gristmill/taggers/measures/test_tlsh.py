import pytest
import tlsh

from gristmill.lake.rows.document import Document
from gristmill.taggers.measures.tlsh import TLSH, hash_of

TEXT = "Es klappert die Mühle am rauschenden Bach. " * 20


def test_six_numbers_give_the_hash_of_the_library_back() -> None:
    texts = [TEXT, "short", "a" * 500, ""]
    labels = TLSH.look([Document(id=str(n), text=text, source="s") for n, text in enumerate(texts)])
    rows = list(zip(*(labels[f"part_{part}"] for part in range(6)), strict=True))
    numbers = [part for part in rows[0] if isinstance(part, float)]
    assert hash_of(numbers) == tlsh.hash(TEXT.encode())
    assert rows[1:] == [(None,) * 6] * 3


def test_a_lone_surrogate_is_no_error() -> None:
    labels = TLSH.look([Document(id="a", text=TEXT + "\ud800", source="s")])
    assert labels["part_0"] != [None]


@pytest.mark.parametrize("part", range(6))
def test_each_number_is_written_with_all_its_digits(part: int) -> None:
    assert TLSH.is_exact(f"part_{part}")
