"""A forged model file is refused before the library, which believes each number of it, is called."""

import struct
from pathlib import Path

import fasttext
import pytest

from gristmill.errors import RecipeError
from gristmill.formats.fasttext.layout import check_fasttext

LID = (Path(__file__).parents[4] / "gristmill" / "models" / "lid.176.ftz").read_bytes()
ARGUMENTS = 8 + 12 * 4 + 8
"""Where the dictionary begins: behind magic, version, twelve numbers and a float."""


def trained(folder: Path, **options: int) -> bytes:
    (folder / "t.txt").write_text("__label__a one two\n__label__b three four\n" * 20)
    given = {"bucket": 1000, **options}
    model = fasttext.train_supervised(str(folder / "t.txt"), dim=4, thread=1, verbose=0, **given)
    model.save_model(str(folder / "m.bin"))
    return (folder / "m.bin").read_bytes()


@pytest.mark.slow
def test_a_shipped_and_a_trained_model_are_read_to_their_end(tmp_path: Path) -> None:
    facts = check_fasttext(LID, "lid")
    assert (len(facts.labels), facts.labels[:2], facts.words, facts.dim, facts.quantized) == (
        176,
        ("en", "ru"),
        7235,
        16,
        True,
    )
    for options in ({}, {"wordNgrams": 2}, {"minn": 2, "maxn": 3}, {"bucket": 0}):
        facts = check_fasttext(trained(tmp_path, **options), "m")
        assert (facts.labels, facts.words, facts.dim, facts.quantized) == (("a", "b"), 5, 4, False)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["trained", "shipped"])
def test_a_file_cut_anywhere_or_longer_than_its_numbers_say_is_refused(tmp_path: Path, model: str) -> None:
    data = trained(tmp_path) if model == "trained" else LID
    step = max(len(data) // 97, 1)
    for size in [*range(0, len(data), step), *range(70), len(data) - 1]:
        with pytest.raises(RecipeError, match="no valid fastText classifier"):
            check_fasttext(data[:size], "m")
    with pytest.raises(RecipeError, match="1 bytes are behind its end"):
        check_fasttext(data + b"\0", "m")


@pytest.mark.parametrize(
    ("at", "form", "value", "match"),
    [
        (0, "i", 1, "does not begin"),
        (8, "i", 2**31 - 1, "impossible lengths"),  # dim
        (8 + 4 * 5, "i", 2**30, "impossible lengths"),  # words in a sequence
        (8 + 4 * 6, "i", 9, "no classifier"),  # loss
        (8 + 4 * 7, "i", 1, "no classifier"),  # a model of words
        (8 + 4 * 8, "i", 2**31 - 1, "vectors"),  # buckets
        (8 + 4 * 8, "i", -1, "no vectors"),
        (8 + 4 * 10, "i", 2**30, "impossible lengths"),  # letters
        (ARGUMENTS, "i", 2**31 - 1, "contradict"),  # entries
        (ARGUMENTS + 4, "i", -5, "contradict"),  # words
        (ARGUMENTS + 20, "q", 2**40, "needs"),  # sequences that were kept
    ],
)
def test_a_forged_number_is_refused(tmp_path: Path, at: int, form: str, value: int, match: str) -> None:
    data = bytearray(trained(tmp_path))
    struct.pack_into(f"<{form}", data, at, value)
    with pytest.raises(RecipeError, match=match):
        check_fasttext(bytes(data), "m")


def test_forged_words_labels_and_matrices_are_refused(tmp_path: Path) -> None:
    data = trained(tmp_path)
    label = data.index(b"__label__b")
    matrix = label + len(b"__label__b\0") + 9 + 1
    for at, forged, match in [
        (label, b"__label__a", "occurs twice"),
        (label, b"__label__\xff", "not UTF-8"),
        (label + 11, struct.pack("<q", -1), "impossible count"),
        (label + 19, b"\0", "impossible count or kind"),
        (matrix, struct.pack("<q", 2**60), "vectors of"),
        (matrix + 8, struct.pack("<q", 2**60), "vectors of"),
        (matrix, struct.pack("<q", 2**39), "needs"),
    ]:
        with pytest.raises(RecipeError, match=match):
            check_fasttext(data[:at] + forged + data[at + len(forged) :], "m")
