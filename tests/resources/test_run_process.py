import os

import pytest

from gristmill.process import this_process
from resources.run_process import PROCESS_TAG, process_of, process_tag

pytestmark = pytest.mark.slow


def test_the_tag_names_this_process() -> None:
    (name,) = tag = process_tag()
    found = process_of(tag)
    assert found is not None
    assert (name, found.pid) == (PROCESS_TAG, str(os.getpid()))
    assert found.is_same(this_process())
    assert found.runs(this_process())


def test_a_tag_that_is_not_there_or_torn_names_nobody() -> None:
    assert [process_of({}), process_of({PROCESS_TAG: '{"pid":'}), process_of({PROCESS_TAG: "[]"})] == [None] * 3
