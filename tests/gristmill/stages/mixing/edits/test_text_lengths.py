import json

import pytest

from gristmill.stages.mixing.edits.text_lengths import TextLengths


def test_lengths_count_code_points_and_a_row_without_a_text_has_none() -> None:
    texts = ["", "😀é", "abc", None, 5]
    block = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode() + b"{}\n"
    lengths = TextLengths(block, 6)
    assert (list(lengths), len(lengths), lengths[1:3]) == ([0, 2, 3, 0, 0, 0], 6, [2, 3])
    with pytest.raises(IndexError):
        lengths[6]
