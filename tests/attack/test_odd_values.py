"""Each JSON value of each record of a lake, in each odd form: commands end in words, and nothing is lost.

There are more than 10,000 odd records. The seed draws 200 of them; ODD=n draws others in number, as ODD=1000000 all.
They take hours: PART=1/3 walks a third of them, LOG=file notes each and goes on after the last, BUDGET=600 lets it end.
"""

import os
from pathlib import Path

import pytest
from longwalk import note, part
from oddvalues import drawn, judged, make_odd_lake, odd_records
from testkit import Mill

COUNT = int(os.environ.get("ODD") or 200)
TURNS = 10
"""The time of the suite ends between two of them."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_odd_lake(tmp_path_factory.mktemp("odd") / "lake")


@pytest.mark.parametrize("turn", range(TURNS))
def test_an_odd_value_in_a_record_ends_in_words_that_name_it(good: Mill, tmp_path: Path, seed: int, turn: int) -> None:
    (tmp_path / "ids.jsonl").write_bytes((good.root.parent / "ids.jsonl").read_bytes())
    wrong: list[str] = []
    for each in part(drawn(odd_records(good), seed, COUNT))[turn::TURNS]:
        told = judged(good, tmp_path / "tried", each)
        note(each, told, wrong=bool(told))
        wrong += told
    assert wrong == [], "\n".join(wrong)
