from gristmill.lake.rows.document import Document
from gristmill.taggers.quality.repetitions import REPETITIONS


def test_repetitions_are_spans_and_three_numbers() -> None:
    texts = ["ha ha ha ha and -----", "once", ""]
    labels = REPETITIONS.look([Document(id=text, text=text, source="tales") for text in texts])
    assert labels == {
        "repetitions": [[(0, 11, 4), (16, 21, 5)], [], []],
        "most_times": [5, 0, 0],
        "longest": [11, 0, 0],
        "share": [16 / 21, 0, 0],
    }
