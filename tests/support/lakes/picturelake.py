"""A lake with drawn pictures and their captions, for exports to Energon; its recipes are those of pictureshelf."""

import json
from pathlib import Path

from energonsets import Color, picture, write_dataset

from gristmill import api
from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

COUNT = 20
SHELVES = ("pictureshelf",)


def colors(number: int) -> tuple[Color, Color]:
    """The two pixels of a picture: no two pictures have the same."""
    return (number, 10 * number, 255), (255 - number, 0, number)


def caption(number: int) -> str:
    return f"Picture «{number}»."


def name(number: int) -> str:
    return f"drawn/{number:02}.png"


def draw(store: Store, scratch: Path) -> None:
    """Raw captions, the pictures as files, and the pictures as a prepared WebDataset."""
    rows = [{"id": f"shape-{n:02}", "caption": caption(n), "image": name(n)} for n in range(COUNT)]
    store.put("sources/shapes/raw/first/captions.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    for number in range(COUNT):
        store.put(f"media/shapes/{name(number)}", picture(*colors(number)))
    samples = {name(n).removesuffix(".png"): {"png": picture(*colors(n))} for n in range(COUNT)}
    write_dataset(scratch / "tars", {"0.tar": samples}, {"train": ["0.tar"]}, crude_dataset())
    for file in sorted(path for path in (scratch / "tars").rglob("*") if path.is_file()):
        store.put(f"media/{file.relative_to(scratch).as_posix()}", file.read_bytes())


def make(lake: Lake, scratch: Path) -> None:
    """From raw to all exports."""
    draw(lake.store(), scratch)
    for _ in api.make(lake, "pictures", shelves=SHELVES):
        pass
    findings = list(api.verify(lake))
    assert findings == [], findings
