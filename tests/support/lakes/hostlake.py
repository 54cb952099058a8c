"""A mix that is held out by the host of its documents."""

from pathlib import Path
from typing import Any

from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.lake.rows.draw import VALIDATION_SEED, draw_fraction, key_fraction
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import field
from gristmill.stages.mixing.step import stream_step

HOSTS = ("alpha", "beta", "gamma", "delta", "epsilon")
SHARE = 0.5


def rows(start: int, count: int) -> list[dict[str, Any]]:
    """Documents of five hosts in turn; every sixth has none."""
    found = []
    for number in range(start, start + count):
        host = {} if number % 6 == 5 else {"host": HOSTS[number % 5]}
        found.append({"id": f"d{number}", "text": f"text {number}", "source": "pages", "metadata": host})
    return found


def is_held(row: dict[str, Any]) -> bool:
    host = row["metadata"].get("host")
    pair = (row["source"], row["id"])
    return (key_fraction(host, VALIDATION_SEED) if host else draw_fraction(pair, VALIDATION_SEED)) < SHARE


def mix_of(**options: Any) -> Mix:
    """The mix; options of the stream go to the stream."""
    rules = {name: options.pop(name) for name in ("columns", "exclude", "origin", "rate") if name in options}
    chosen = {"validation": SHARE, "validation_key": field("metadata.host"), "draft": True, **options}
    return Mix(name="blend", streams=(Stream(source="pages", version="v0", **rules),), **chosen)


def start(root: Path, mix: Mix) -> Mill:
    """A lake with two shards of 20 and 10 documents, and the slice of the mix."""
    mill = Mill(root)
    mill.raw("a.jsonl.gz", rows(0, 20))
    mill.raw("b.jsonl.gz", rows(20, 10))
    mill.convert()
    mill.tag("words-1")
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    return mill
