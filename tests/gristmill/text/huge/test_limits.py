import pickle

import pytest

from gristmill.text.huge.limits import TooManySpans, bounded


def test_spans_are_listed_up_to_the_limit() -> None:
    assert bounded(iter(range(3)), "hits", 5, most=3) == [0, 1, 2]
    endless = iter(int, 1)
    with pytest.raises(TooManySpans, match="label 'hits': more than 1,000,000 spans") as failed:
        bounded(endless, "hits", 5, most=3)
    again = pickle.loads(pickle.dumps(failed.value))
    assert (again.label, again.number, str(again)) == ("hits", 5, str(failed.value))
