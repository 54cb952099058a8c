"""Takedowns and new snapshots, as the real loader sees them: one that is open, one that is opened anew, and by key."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from blendlake import Blend, page
from peer import Ask
from testkit import Mill

from gristmill.__main__ import main
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.recipes.export import ExportFormat

pytestmark = pytest.mark.slow
TARS = EnergonWebdataset(parts={"txt": "text"}, key="id", sample_type="TextSample", field_map={"text": "txt"})
EXPORTS: dict[str, ExportFormat] = {"tars": TARS, "lines": EnergonJsonl(file_bytes=1 << 20)}
COOKERS = {"tars": "", "lines": "everything"}
IDS = [page(number)["id"] for number in range(30)]
MANY = 48
"""Samples that are drawn from a split of at most 24: each comes out, also if its epoch has begun."""


class Reader(NamedTuple):
    """Reads the exports of a lake with the real loader."""

    ask: Ask
    lake: Path
    blend: Blend

    def open(self, name: str, export: str, **options: object) -> None:
        """Opens a loader over an export as it is now."""
        path = f"{self.lake}/exports/blend/{export}/index/metadataset.yaml"
        [opened] = self.ask({"do": "open", "name": name, "path": path, "cooker": COOKERS[export], **options})
        assert "error" not in opened, opened["error"]

    def take(self, name: str, count: int | None = None) -> set[int]:
        """The numbers of the documents that an open loader gives next. Each has the text of its number."""
        [found] = self.ask({"do": "take", "name": name, "count": count})
        assert "error" not in found, found["error"]
        return {number_of(sample) for sample in found["samples"]}

    def by_key(self, store: str = "", release: str = "") -> set[int]:
        """The numbers of the documents that random access finds, in the release of now or in one that is open."""
        job = {"do": "files", "path": str(self.lake / (release or self.blend.release("tars").folder))}
        [found] = self.ask({**job, "names": [f"{each}.txt" for each in IDS], **({"store": store} if store else {})})
        assert "error" not in found, found["error"]
        texts = {n: bytes.fromhex(each["bytes"]).decode() for n, each in enumerate(found["files"]) if "bytes" in each}
        assert texts == {n: page(n)["text"] for n in texts}
        return set(texts)

    def named(self, export: str) -> Path:
        """The metadataset of now, by the name that never changes its content."""
        [entry] = (self.lake / f"exports/blend/{export}/index").glob(f"metadataset-{self._digest(export)}.yaml")
        return entry

    def _digest(self, export: str) -> str:
        data = (self.lake / f"exports/blend/{export}/index/metadataset.yaml").read_bytes()
        return hashlib.sha256(data).hexdigest()[:16]

    def anew(self) -> dict[str, set[int]]:
        """What loaders give that are opened now: in order and drawn, of both splits and exports; and by key."""
        found: dict[str, set[int]] = {"by key": self.by_key()}
        for export in EXPORTS:
            for split in ("train", "val"):
                self.open("in order", export, split=split)
                self.open("drawn", export, split=split, training=True)
                found[f"{export} {split}"] = self.take("in order")
                found[f"{export} {split}, drawn"] = self.take("drawn", MANY)
        return found


def number_of(sample: dict[str, Any]) -> int:
    """The number of a sample's document. A sample of tars has the key of the document, too."""
    text = sample["text"] if "text" in sample else sample["parts"]["json"]["text"]
    number = int(text.removeprefix("page "))
    assert text == page(number)["text"]
    assert sample.get("text") is None or sample["__key__"] == page(number)["id"]
    return number


def expected(numbers: set[int], held: set[int]) -> dict[str, set[int]]:
    """What anew() is to find, if these documents are in the lake."""
    splits = {"train": numbers - held, "val": numbers & held}
    found = {f"{export} {split}": each for export in EXPORTS for split, each in splits.items()}
    return {"by key": numbers, **found, **{f"{name}, drawn": each for name, each in found.items()}}


def test_takedowns_and_snapshots(energon: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    blend = Blend(Mill(lake), EXPORTS, {"pages": 1.0}, validation=0.2)
    reader = Reader(energon, lake, blend)
    blend.write({"2024/a": range(10), "2024/b": range(10, 20)})
    blend.make("2024")
    reader.open("val", "tars", split="val")
    both, held = set(range(20)), reader.take("val")
    assert reader.anew() == expected(both, held)
    first = blend.release("tars").folder
    reader.open("old", "tars", training=True)
    assert reader.by_key("old", first) == both

    gone = {min(both - held), min(held)}
    blend.block(*(IDS[number] for number in gone))
    blend.index("2024")
    excluded = blend.release("tars").folder
    assert excluded != first
    found = reader.anew()
    tars = {name: numbers for name, numbers in found.items() if not name.startswith("lines")}
    assert tars == {name: numbers for name, numbers in expected(both - gone, held).items() if name in tars}
    assert (reader.take("old", MANY), reader.by_key("old")) == (both - held, both)

    blend.make("2024")  # the documents leave the tars and the lines
    assert blend.release("tars").folder not in {first, excluded}
    assert reader.anew() == expected(both - gone, held)

    before = blend.release("tars").folder
    entry, state = reader.named("tars"), str(tmp_path / "state.pt")
    run = {"path": str(entry), "training": True, "buffer": 5}
    reader.open("before", "tars", training=True)
    assert reader.by_key("before", before) == both - gone
    *_, wanted = energon(
        {"do": "open", "name": "run", **run},
        {"do": "take", "name": "run", "count": 5},
        {"do": "save", "name": "run", "state": state},
        {"do": "take", "name": "run", "count": 30},
    )
    blend.write({"2025/c": range(20, 30)})
    blend.make("2024", "2025")
    reader.open("val", "tars", split="val")
    held_now = reader.take("val")
    everything = set(range(30)) - gone
    assert reader.anew() == expected(everything, held_now)
    assert reader.take("before", MANY) == both - gone - held
    assert reader.by_key("before") == both - gone
    assert (reader.take("old", MANY), reader.by_key("old")) == (both - held, both)
    _, again = energon(
        {"do": "open", "name": "run again", "state": state, **run}, {"do": "take", "name": "run again", "count": 30}
    )
    assert again == wanted
    assert reader.named("tars") != entry

    assert main(["gc", str(lake)]) == 0
    removed = capsys.readouterr().out
    assert [f"{each}: " in removed for each in (first, excluded, before, entry.name)] == [True] * 4
    assert reader.anew() == expected(everything, held_now)
    assert (reader.take("before", MANY), reader.by_key("before")) == (both - gone - held, both - gone)  # its tars stay
    [closed] = energon({"do": "files", "path": str(lake / before), "names": []})
    assert "error" in closed  # but no loader opens it again
