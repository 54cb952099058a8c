"""Each value of each file of a lake in another plausible form, sealed: `verify` tells of it, or the pages list it.

There are more than 10,000 forged values. The seed draws 200 of them; FORGED=n draws n, FORGED=1000000 all. They take an
hour or more: PART=1/3 walks a third of them, LOG=file notes each and goes on after the last, BUDGET=600 lets it end.
"""

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from forgedjudge import Judge
from forgedvalues import Forged, forged_values
from longwalk import note, part
from widelake import SHELVES, make_wide

COUNT = int(os.environ.get("FORGED") or 200)
TURNS = 10
"""The time of the suite ends between two of them."""
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "ledger.md"

NOT_PROVEN = {
    r"(labels|models|tokenizers)/.+": "raw data, labelled sets, models, tokenizers and blocklists themselves",
    r".+ (a key twice|another owner)"
    r"|.+zarr\.json: .+/(blocksize|clevel) .+"
    r"|exports/.+/tars/ledgers/.+: .+/facts/members left out"
    r"|.+index\.sqlite: (media_filters\.(filter_id|created_at_utc)|sqlite_sequence\..+) .+"
    r"|(lake|dedupe/.+/(order|resolution))\.json: (schema|entries/\*/edition) left out"
    r"|.+\.examples\.json: examples/\*/(others|marks) left out": "how bytes are packed",
    r"sources/theirs/.+/root\.json: .+"
    r"|sources/theirs/.+/ledgers/.+: (recipe|inputs|\*/(from|members))\b.*": "adopted files and the address of",
    r".+/ledgers/.+\.json: recipe/draft .+": "the notes of runs, and `recipe.draft` in a head",
    r"dedupe/.+/order\.json: entries/\*.+": "the order of the snapshots of a dedupe recipe",
    r".+/index/packing/.+: report/(segments|slice_strategy) .+": "in a packing plan, the documents per example",
    r".+/index/index\.json: (absent|left).* .+": "in `index.json` of an index, the names of slices",
    r".+\.examples\.json: contents.* .+|.+\.parquet: metadata .+": "columns and excerpts that were made of other rows",
    r"lake\.json: id another word": "the lake's id in `lake.json`",
}
"""Forged values, as `path: value what`, that need not be found: the beginning of the line of the page that has them."""


def listed() -> str:
    """What the page says is not proven."""
    return PAGE.read_text().partition("### What is not proven")[2].partition("\n## ")[0]


def test_whatever_need_not_be_found_is_listed_as_not_proven() -> None:
    assert [line for line in NOT_PROVEN.values() if f"- {line}" not in listed()] == []


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    top = tmp_path_factory.mktemp("forged")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(top))
        yield Judge(make_wide(top / "lake"), SHELVES)


def drawn(judge: Judge, seed: int) -> list[Forged]:
    every = [each for each in forged_values(judge.seals) if not _is_listed(each)]
    return part(random.Random(seed).sample(every, min(COUNT, len(every))))


def _is_listed(forged: Forged) -> bool:
    return any(re.fullmatch(pattern, str(forged)) for pattern in NOT_PROVEN)


@pytest.mark.parametrize("turn", range(TURNS))
def test_a_forged_value_is_found_or_noted(judge: Judge, seed: int, turn: int) -> None:
    wrong = {}
    for each in drawn(judge, seed)[turn::TURNS]:
        how, words = judge.told(each)
        if how in {"silent", "crash"}:
            wrong[str(each)] = how, words
        note(each, [how, words], wrong=str(each) in wrong)
    assert wrong == {}
