"""How often the real loader draws the samples of a mix: weights, epochs, saved states, several ranks and workers."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from blendlake import BYTES, TOKENIZER, Blend
from peer import Ask
from testkit import Mill

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.recipes.export import ExportFormat

pytestmark = pytest.mark.slow
TARS = EnergonWebdataset(parts={"txt": "text"}, key="id", sample_type="TextSample", field_map={"text": "txt"})
EPOCH = EnergonWebdataset(
    parts={"txt": "text"},
    key="id",
    sample_type="TextSample",
    field_map={"text": "txt"},
    tokenizer=TOKENIZER.name,
    shard_samples=3,
)
FORMATS: dict[str, ExportFormat] = {
    "tars": TARS,
    "lines": EnergonJsonl(),
    "joined": EnergonJsonl(file_bytes=1 << 20),
    "epoch": EPOCH,
    "epoch-lines": EnergonJsonl(file_bytes=1 << 20, tokenizer=TOKENIZER.name),
}
PAGES, NOTES = 20, 10
WEIGHTS = {"pages": 8.0, "notes": 3.0}
EPOCH_SAMPLES = 2 * PAGES + NOTES * 3 // 2
"""40 of pages and 15 of notes, which are as 8 to 3."""
TOKENS = BYTES + 2  # one at the start, one at the end


class Lake(NamedTuple):
    """The lake, and the client to ask."""

    root: Path
    blend: Blend
    ask: Ask

    def drawn(self, export: str, count: int | None, **options: object) -> Counter[str]:
        """How often each document is drawn, by its name such as `page 0007`."""
        path = f"{self.root}/exports/blend/{export}/index/metadataset.yaml"
        job = {"path": path, "cooker": cooker_of(export), "training": True, **options}
        opened, found = self.ask(
            {"do": "open", "name": "drawn", **job}, {"do": "take", "name": "drawn", "count": count}
        )
        assert "error" not in opened, opened["error"]
        return Counter(map(text_of, found["samples"]))


@pytest.fixture(scope="module")
def lake(energon: Ask, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("blend") / "lake"
    root.mkdir()
    blend = Blend(Mill(root), FORMATS, WEIGHTS, token_budget=EPOCH_SAMPLES * TOKENS)
    blend.write({"2024/a": range(10), "2024/b": range(10, PAGES)}, NOTES)
    blend.make("2024", tokens=True)
    return Lake(root, blend, energon)


@pytest.mark.parametrize("export", ["tars", "lines", pytest.param("joined", marks=pytest.mark.exhaustive)])
def test_streams_are_drawn_by_their_weights_and_their_samples_alike(lake: Lake, export: str) -> None:
    found = lake.drawn(export, 1100)
    assert set(found) == {*texts("page", PAGES), *texts("note", NOTES)}
    pages, notes = ({text: found[text] for text in found if text.startswith(word)} for word in ("page", "note"))
    assert sum(pages.values()) == pytest.approx(800, abs=30)  # 8 of 11; the loader's seed is fixed
    for stream in (pages, notes):
        assert max(stream.values()) - min(stream.values()) <= 5


@pytest.mark.parametrize("export", ["epoch", "epoch-lines"])
def test_an_epoch_gives_each_sample_as_often_as_the_budget_says(lake: Lake, export: str) -> None:
    found = lake.drawn(export, None, once=True)
    assert {text: found[text] for text in texts("page", PAGES)} == dict.fromkeys(texts("page", PAGES), 2)
    notes = Counter(found[text] for text in texts("note", NOTES))
    assert notes == {1: 5, 2: 5}
    assert sum(found.values()) == EPOCH_SAMPLES


@pytest.mark.parametrize(
    ("export", "workers"),
    [("tars", 0), ("lines", 0), ("epoch", 2), pytest.param("epoch-lines", 2, marks=pytest.mark.exhaustive)],
)
def test_a_saved_loader_continues_with_the_same_samples(lake: Lake, tmp_path: Path, export: str, workers: int) -> None:
    path = f"{lake.root}/exports/blend/{export}/index/metadataset.yaml"
    once = export.startswith("epoch")
    job = {"path": path, "cooker": cooker_of(export), "training": True, "buffer": 7, "workers": workers, "once": once}
    rest, state = None if once else 80, str(tmp_path / "state.pt")
    _, before, _, after, _, again = lake.ask(
        {"do": "open", "name": "first", **job},
        {"do": "take", "name": "first", "count": 25},
        {"do": "save", "name": "first", "state": state},
        {"do": "take", "name": "first", "count": rest},
        {"do": "open", "name": "second", "state": state, **job},
        {"do": "take", "name": "second", "count": rest},
    )
    assert again == after
    drawn = [text_of(sample) for sample in (*before["samples"], *after["samples"])]
    each_worker = 2 * PAGES // 2 + int(NOTES // 2 * 1.5)  # each rounds its own share of half a repetition down
    assert len(drawn) == (2 * each_worker if once else 25 + 80)
    assert set(drawn) == {*texts("page", PAGES), *texts("note", NOTES)}


@pytest.mark.parametrize(
    ("export", "options"),
    [
        ("tars", {"training": True, "once": True}),
        ("joined", {}),
        pytest.param("tars", {}, marks=pytest.mark.exhaustive),
        pytest.param("joined", {"training": True, "once": True}, marks=pytest.mark.exhaustive),
    ],
    ids=["tars-drawn", "joined-in order", "tars-in order", "joined-drawn"],
)
def test_ranks_and_workers_share_the_samples(lake: Lake, export: str, options: dict[str, object]) -> None:
    release = f"{lake.root}/{lake.blend.release(export).folder}"
    path = release if export == "tars" else f"{release}pages/train-00000.jsonl"
    found: list[list[str]] = []
    for rank in range(2):
        name = f"rank {rank}"
        job = {"path": path, "cooker": cooker_of(export), "rank": rank, "world": 2, "workers": 2, **options}
        opened, taken = lake.ask({"do": "open", "name": name, **job}, {"do": "take", "name": name})
        assert "error" not in opened, opened["error"]
        found.append([text_of(sample) for sample in taken["samples"]])
    wanted = [*texts("page", PAGES), *(texts("note", NOTES) if export == "tars" else [])]
    assert sorted(found[0] + found[1]) == sorted(wanted)
    assert len(found[0]) == len(found[1])


def texts(word: str, count: int) -> list[str]:
    """The texts of a stream."""
    return [f"{word} {number:04}" for number in range(count)]


def text_of(sample: dict[str, Any]) -> str:
    return str(sample["text"] if "text" in sample else sample["parts"]["json"]["text"])


def cooker_of(export: str) -> str:
    return "everything" if isinstance(FORMATS[export], EnergonJsonl) else ""
