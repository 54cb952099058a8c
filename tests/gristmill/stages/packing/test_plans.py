"""Plans in the lake, over a real token cache: eight documents, which fill examples of 16 tokens."""

from dataclasses import replace

import numpy as np
import pytest
from testkit import Mill
from wholelake import CACHE, TOKENIZER, even

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import packing_stem
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Text
from gristmill.stages.packing.plans import PackingPlan, plan_cache, read_plan
from gristmill.stages.token_cache.token_stream import TokenStream, open_split

LENGTH = 16
STEM = packing_stem("even", "tiny-1", "pages", "train", LENGTH)
PACKED = Text(pack=3)


def packing(pack: int | None) -> Mix:
    mix = even()
    return replace(mix, streams=(replace(mix.streams[0], format=Text(pack=pack)),))


def plan(mill: Mill, pack: int | None = 3) -> PackingPlan:
    (planned, *_) = plan_cache(mill.store, packing(pack), TOKENIZER, LENGTH, mill.said.append)
    return planned


def train(mill: Mill) -> TokenStream:
    return open_split(mill.store, CACHE.asset, "train")


def test_a_plan_holds_every_document_once_and_is_read_back(whole: Mill) -> None:
    planned = plan(whole)
    read = read_plan(whole.store, train(whole), PACKED, STEM)
    assert read.first.tolist() == [0, *np.cumsum(read.count)[:-1].tolist()]
    assert int(read.count.sum()) == planned.report.documents == 8
    assert (planned.examples is not None, len(read)) == (True, planned.report.examples)
    assert int(read.count.max()) <= 3
    assert whole.said[-1] == f"pages train: 8 documents, {len(read)} examples"


def test_planning_again_writes_nothing(whole: Mill) -> None:
    plan(whole)
    before = whole.stamps()
    plan(whole)
    assert whole.stamps() == before


def test_documents_that_are_not_packed_have_no_plan(whole: Mill) -> None:
    assert plan(whole, None).examples is None
    assert whole.store.head(f"{STEM}.npy") is None
    with pytest.raises(RecipeError, match="documents of format text are not packed"):
        read_plan(whole.store, train(whole), Text(), STEM)


def test_a_plan_that_is_not_there_of_another_format_or_damaged_is_refused(whole: Mill) -> None:
    with pytest.raises(DataError, match="does not exist yet; materialize the cache's packing"):
        read_plan(whole.store, train(whole), PACKED, STEM)
    plan(whole)
    with pytest.raises(DataError, match="made before the cache or its format changed"):
        read_plan(whole.store, train(whole), Text(pack=2), STEM)
    data = whole.store.read(f"{STEM}.npy")
    whole.store.put(f"{STEM}.npy", data[:-8] + b"\x09" + data[-7:])
    with pytest.raises(DataError, match=r"train-16\.npy: missing, or not the file"):
        read_plan(whole.store, train(whole), PACKED, STEM)
    plan(whole)
    assert whole.store.read(f"{STEM}.npy") == data
    whole.store.put(f"{STEM}.json", b"{}")
    with pytest.raises(DataError, match="not a valid packing plan"):
        read_plan(whole.store, train(whole), PACKED, STEM)
