"""StreamPreview: estimates of tokens."""

import pytest

from gristmill.previews.mix_preview import StreamPreview
from gristmill.previews.tally import Amount, SliceTally
from gristmill.previews.token_ratio import TokenRatio
from gristmill.recipes.selection import Selection

MEASURED = TokenRatio(tokens=10, bytes=100, measured="a cache")
ALL, KEPT = Amount(3, 1000, 60), Amount(2, 200, 40)


@pytest.mark.parametrize(
    ("selection", "tokens"),
    [
        (Selection(), 100),  # the mix writes the lines that it reads: 1,000 bytes x 0.1
        (Selection(discard=("metadata",)), 30),  # the 40 characters that are kept have 20 tokens
    ],
)
def test_tokens_of_documents_whose_lines_are_written_anew_follow_their_texts(selection: Selection, tokens: int) -> None:
    preview = StreamPreview("mixes/m", selection, ("1",), (), SliceTally(ALL, KEPT), MEASURED, ())
    assert (preview.estimate_tokens(KEPT), preview.estimate_tokens(ALL)) == (20, tokens)
    assert preview.estimate_in_words.startswith("bytes x 0.100, as measured in a cache")
    assert ("by their characters" in preview.estimate_in_words) == (tokens == 30)
