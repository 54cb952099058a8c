"""The real loader reads a mix whose shares follow from proportions, a temperature and repeats: an epoch has them."""

from collections import Counter
from pathlib import Path

import pytest
from blendlake import TOKENIZER, Blend
from peer import Ask
from sharecases import CASES, NOTES, PAGES, TOKENS, ShareCase, blend_of, write
from testkit import SNAPSHOT, Mill

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.lake.address import export_index
from gristmill.stages.export.release import release_warnings

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


LINES = {
    "small": EnergonJsonl(tokenizer=TOKENIZER.name),
    "joined": EnergonJsonl(file_bytes=1 << 20, tokenizer=TOKENIZER.name),
}


@pytest.mark.slow
def test_samples_that_the_loader_leaves_out_of_small_files_are_those_of_the_warning(
    energon: Ask, tmp_path: Path
) -> None:
    """An epoch should have 12 of 30 pages, and 10 notes. Of each of 10 files of 3 pages it has 1.2: one is read."""
    root = tmp_path / "lake"
    root.mkdir()
    blend = Blend(Mill(root), LINES, {"pages": 12.0, "notes": 10.0}, token_budget=22 * TOKENS)
    blend.write({f"2024/{number}": range(3 * number, 3 * number + 3) for number in range(10)}, 10)
    blend.make(SNAPSHOT, tokens=True)
    drawn, warned = dict[str, Counter[str]](), dict[str, str]()
    for name in LINES:
        path = f"{root}/exports/blend/{name}/index/metadataset.yaml"
        job = {"path": path, "cooker": "everything", "training": True, "once": True}
        opened, found = energon({"do": "open", "name": name, **job}, {"do": "take", "name": name, "count": None})
        assert "error" not in opened, opened["error"]
        texts = (sample["parts"]["json"]["text"] for sample in found["samples"])
        drawn[name] = Counter(text.partition(" ")[0] for text in texts)
        warned[name] = " ".join(release_warnings(blend.mill.store, export_index("blend", name)))
    assert drawn == {"small": {"page": 10, "note": 10}, "joined": {"page": 12, "note": 10}}
    assert "10 of the 12 wanted samples of 'pages': it rounds down in each of 10 files, and" in warned["small"]
    assert "wanted samples" not in warned["joined"]
