"""The real loader reads a mix whose shares follow from proportions, a temperature and repeats: an epoch has them."""

from collections import Counter
from pathlib import Path

import pytest
from blendlake import TOKENIZER
from peer import Ask
from sharecases import CASES, NOTES, PAGES, TOKENS, ShareCase, blend_of, write
from testkit import Mill

from gristmill.recipes.export_formats.energon import EnergonWebdataset

EPOCH = EnergonWebdataset(
    parts={"txt": "text"},
    key="id",
    sample_type="TextSample",
    field_map={"text": "txt"},
    tokenizer=TOKENIZER.name,
    shard_samples=3,
)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_epoch_reads_each_stream_as_often_as_the_mix_solves(energon: Ask, tmp_path: Path, case: ShareCase) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    write(blend_of(Mill(root), case, {"epoch": EPOCH}))
    path = f"{root}/exports/blend/epoch/index/metadataset.yaml"
    opened, found = energon(
        {"do": "open", "name": "shares", "path": path, "training": True, "once": True},
        {"do": "take", "name": "shares", "count": None},
    )
    assert "error" not in opened, opened["error"]
    drawn = Counter(str(sample["text"]) for sample in found["samples"])
    pages = {f"page {number:04}": case.pages for number in range(PAGES)}
    assert drawn == pages | {f"note {number:04}": case.notes for number in range(NOTES)}


THREE_TO_ONE = ShareCase(
    {"proportions": {"pages": 0.75, "notes": 0.25}, "token_budget": 16 * TOKENS}, {}, pages=0, notes=0, block=16
)
"""An epoch has 12 of the 20 pages, and 4 of the 5 notes. Energon's next epoch begins with the other 8 and 1."""


@pytest.mark.slow
def test_a_dataset_that_is_built_anew_has_the_declared_shares_and_one_without_end_has_those_of_the_documents(
    energon: Ask, tmp_path: Path
) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    write(blend_of(Mill(root), THREE_TO_ONE, {"epoch": EPOCH}))
    path = f"{root}/exports/blend/epoch/index/metadataset.yaml"
    options = {"do": "open", "path": path, "training": True}
    found = energon(
        *(
            job
            for name, seed in (("first", 0), ("second", 1), ("first again", 0))
            for job in (
                {**options, "name": name, "once": True, "seed": seed},
                {"do": "take", "name": name, "count": None, "keys": True},
            )
        ),
        {**options, "name": "endless"},
        {"do": "take", "name": "endless", "count": 1000, "keys": True},
    )
    assert [each["error"] for each in found if "error" in each] == []
    first, second, again, endless = (each["samples"] for each in found[1::2])
    of_stream = [Counter(key.partition("-")[0] for key in keys) for keys in (first, second, endless)]
    assert of_stream == [{"page": 12, "note": 4}, {"page": 12, "note": 4}, {"page": 800, "note": 200}]
    assert again == first
    assert set(second) != set(first)
