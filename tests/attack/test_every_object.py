"""Every object of a lake, every class of corruption: each is a finding of `verify` that says how to mend it."""

import random

import pytest
from corruptions import close_everything, corruptions, missed
from damages import DAMAGES, hidden, objects_by_kind
from lies import audit
from testkit import Mill
from wholelake import make_whole

from gristmill.lake.asset_kinds import ledger_of_object


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


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damaged_object_hides_one_of_another_asset(everything: Mill, damage: str, seed: int) -> None:
    draw = random.Random(seed)
    paths = [path for group in objects_by_kind(everything).values() for path in group]
    unnamed: list[str] = []
    for path in paths:
        beside = draw.choice([other for other in paths if ledger_of_object(other) != ledger_of_object(path)])
        unnamed += hidden(everything, damage, (path, beside), "testshelf")
    assert unnamed == [], "\n".join(unnamed)
