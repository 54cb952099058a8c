from gristmill.lake.rows.document import Document
from gristmill.taggers.measures.simhash import SIMHASH
from gristmill.text.fingerprints.simhash import simhash


def test_two_whole_numbers_give_the_fingerprint_back() -> None:
    texts = ["It is a truth universally acknowledged", "\n \t", "", "字"]
    labels = SIMHASH.look([Document(id=str(n), text=text, source="s") for n, text in enumerate(texts)])
    halves = list(zip(labels["high"], labels["low"], strict=True))
    assert halves[1] == halves[2] == (None, None)
    for number in (0, 3):
        high, low = halves[number]
        assert isinstance(high, float)
        assert isinstance(low, float)
        assert int(high) << 32 | int(low) == simhash(texts[number])
