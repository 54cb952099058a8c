"""Every object of a lake, every class of corruption: each is a finding of `verify` that says how to mend it."""

import pytest
from corruptions import close_everything, corruptions, missed
from lies import audit
from testkit import Mill
from wholelake import make_whole


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    """A lake with its indexes, a consolidated copy and packing plans."""
    mill = make_whole(tmp_path_factory.mktemp("everything") / "lake")
    close_everything(mill)
    assert audit(mill) == ([], [])
    return mill


def test_no_corruption_of_any_object_is_missed(everything: Mill, seed: int) -> None:
    planted = corruptions(everything, seed)
    assert len(planted) > 3000
    wrong = [told for each in planted if (told := missed(everything, each))]
    assert wrong == [], "\n".join(wrong)
    assert audit(everything) == ([], [])
