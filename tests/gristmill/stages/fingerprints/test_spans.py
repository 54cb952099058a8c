"""The file of spans: there and back, and what is refused."""

import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.stages.fingerprints.spans import SpanTable


def table(*, sizes: list[int] | None = None) -> SpanTable:
    """Three documents with the spans 0-4 and 5-9, none, and 0-2."""
    counts, starts, ends = (np.array(each, np.uint32) for each in ([2, 0, 1], [0, 5, 0], [4, 9, 2]))
    hashes = 3 if sizes is None else sum(sizes)
    return SpanTable(counts, starts, ends, None if sizes is None else np.array(sizes, np.uint32), hashes)


@pytest.mark.parametrize("sizes", [None, [1, 4, 2]])
def test_spans_are_read_back(sizes: list[int] | None) -> None:
    found = SpanTable.decode(table(sizes=sizes).encode(), "part 00")
    assert (found.documents, found.first_spans.tolist(), found.lengths.tolist()) == (3, [0, 2, 2, 3], [9, 0, 2])
    assert (
        (found.sizes is None if sizes is None else found.sizes.tolist() == sizes) if found.sizes is not None else True
    )
    assert found.hashes == (3 if sizes is None else 7)


def test_no_documents_have_no_spans() -> None:
    empty = np.zeros(0, np.uint32)
    assert SpanTable.decode(SpanTable(empty, empty, empty, None, 0).encode(), "part 00").documents == 0


@pytest.mark.parametrize("change", [slice(0, -4), slice(0, 20), slice(4, None)])
def test_a_cut_file_is_refused(change: slice) -> None:
    with pytest.raises(DataError, match="part 00: its file of spans is cut"):
        SpanTable.decode(table().encode()[change], "part 00")


def test_counts_that_contradict_each_other_are_refused() -> None:
    wrong = SpanTable(table().counts, table().ends, table().starts, None, 3)
    with pytest.raises(DataError, match="damaged"):
        SpanTable.decode(wrong.encode(), "part 00")
    with pytest.raises(DataError, match="damaged"):
        SpanTable.decode(table(sizes=[1, 1, 1]).encode()[:16] + b"\7" + table(sizes=[1, 1, 1]).encode()[17:], "part 00")
