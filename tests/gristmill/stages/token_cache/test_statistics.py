import numpy as np

from gristmill.encoding.vocabulary import Vocabulary
from gristmill.stages.token_cache.statistics import TokenCounter, TokenStatistics, add_statistics, length_bucket_edges

NOTHING = np.zeros(4, np.int64)
FRAGMENTS = np.array([False, False, False, True])
VOCABULARY = Vocabulary(4, byte_level=True, unknown=2, bytes=NOTHING, lead=NOTHING, trail=NOTHING, fragments=FRAGMENTS)


def test_rows_are_counted_by_the_bucket_of_their_length() -> None:
    counting = TokenCounter(VOCABULARY)
    ids, lengths = np.array([0, 1, 2, 3, 3, 0, 0], np.int32), np.array([0, 1, 2, 4])
    counting.add(ids, lengths, np.array([0, 5, 6, 9]), {"no text": 1}, {})
    counting.add(ids[:0], lengths[:0], lengths[:0], None, {"no messages": 2})
    # Lengths 0, 1, 2 and 4 lie in the buckets that begin with 0, 1, 2 and 4.
    assert counting.token_statistics() == TokenStatistics(20, 1, 2, (1, 1, 1, 1), {"no text": 1}, {"no messages": 2})
    assert length_bucket_edges(4) == [0, 1, 2, 4, 8]


def test_a_row_of_any_length_has_a_bucket() -> None:
    counting = TokenCounter(VOCABULARY)
    counting.add(np.zeros(0, np.int32), np.array([1 << 62]), np.array([0]), None, None)
    assert sum(counting.token_statistics().lengths) == 1


def test_facts_are_summed_whatever_the_length_of_their_buckets() -> None:
    one, other = (
        TokenStatistics(1, 2, 3, (1, 1), {"a": 1}, {}),
        TokenStatistics(10, 20, 30, (0, 0, 5), {"a": 2}, {"b": 1}),
    )
    assert add_statistics([one, other]) == TokenStatistics(11, 22, 33, (1, 1, 5), {"a": 3}, {"b": 1})
    assert add_statistics([]) == TokenStatistics()
