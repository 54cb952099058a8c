"""Plans in the lake, over a real token cache: eight documents, which fill examples of 16 tokens."""

import hashlib
import json
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from testkit import Mill
from wholelake import CACHE, TOKENIZER, even

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import packing_stem
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Text
from gristmill.stages.packing.examples import examples_of
from gristmill.stages.packing.packer import Packing, PackingRule
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


def seal_examples(mill: Mill, data: bytes, examples: int) -> None:
    """Writes a file of examples, and the digest and number of examples that the plan's JSON says."""
    plan(mill)
    mill.store.put(f"{STEM}.npy", data)
    sealed = json.loads(mill.store.read(f"{STEM}.json"))
    sealed["examples"]["sha256"] = hashlib.sha256(data).hexdigest()
    sealed["report"]["examples"] = examples
    mill.store.put(f"{STEM}.json", json.dumps(sealed).encode())


def npy(*rows: object, dtype: str = "<i8") -> bytes:
    file = BytesIO()
    np.save(file, np.array(rows, dtype))
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "examples"),
    [
        (b"words", 1),
        (b"", 0),
        (npy(), 0),  # shape (0,)
        (npy([1], [2], [3], [4], [5]), 5),
        (npy([0, 8], dtype="<f8"), 1),
        (npy(["0", "8"], dtype="<U1"), 1),
        (npy([0, 8]), -1),
        (npy([0, 8])[:-1], 1),
    ],
)
def test_a_file_of_examples_that_is_sealed_but_odd_is_refused(whole: Mill, data: bytes, examples: int) -> None:
    seal_examples(whole, data, examples)
    with pytest.raises(DataError, match=r"train-16\.npy: not a \.npy file of int64"):
        read_plan(whole.store, train(whole), PACKED, STEM)


@pytest.mark.parametrize(
    "examples",
    [
        [[-1, 1]],
        [[0, 0]],
        [[0, -1]],
        [[8, 1]],
        [[7, 2]],
        [[0, 4]],  # the rule says three
        [[2**63 - 1, 1]],
        [[0, 2**63 - 1]],
        [[0, 3], [0, 3]],
        [[0, 3], [2, 3]],
        [[3, 3], [0, 3]],
    ],
)
def test_examples_of_documents_that_the_split_does_not_have_or_has_in_another_order_are_refused(
    whole: Mill, examples: list[list[int]]
) -> None:
    seal_examples(whole, npy(*examples), len(examples))
    with pytest.raises(DataError, match=r"train-16\.npy: example \d has .* does not fit the 8 documents"):
        read_plan(whole.store, train(whole), PACKED, STEM)
    first, count = np.array(examples).T
    with pytest.raises(DataError, match="does not fit the 8 documents"):
        examples_of(train(whole), PACKED, LENGTH, packed=Packing(PackingRule(LENGTH, 3, "left"), first, count))


def test_an_example_of_more_tokens_than_its_length_is_refused_when_it_is_read(whole: Mill) -> None:
    packed = Packing(PackingRule(4, 3, "left"), np.array([0, 1]), np.array([1, 3]))
    examples = examples_of(train(whole), PACKED, 4, packed=packed)
    assert len(examples[0].tokens) == 4
    with pytest.raises(
        DataError, match=r"documents 1 to 4 have \d+ input_ids, but the plan puts them into an example of 4"
    ):
        examples[1]
