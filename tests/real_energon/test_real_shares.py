"""The real loader reads a mix whose shares follow from proportions, a temperature and repeats: an epoch has them."""

from collections import Counter
from pathlib import Path

import pytest
from blendlake import TOKENIZER
from peer import Ask
from sharecases import CASES, NOTES, PAGES, ShareCase, blend_of, write
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
