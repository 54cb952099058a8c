"""A small lake with everything: each kind of asset, of file and of selection; its recipes are those of wideshelf."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adoptions import write_rows
from energonsets import picture
from oldshelf.rows import exams, talks
from testkit import Mill, own_shelf

from gristmill.__main__ import main
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.packing.plans import plan_cache

SHELVES = ("wideshelf", "own_sources")
TARGETS = ("reading", "shares", "near-1", "theirs", "sources/papers/v2/attributes/kinds-1")
BLOCKED = "blocklists/takedowns.jsonl"


def papers(snapshot: str) -> Iterator[dict[str, Any]]:
    """Sixteen papers: each fifth French, each seventh short, some with stops, an exam question, one that was there."""
    for number in range(16):
        words = " ".join(f"word{number * k % 7}" for k in range(2 if number % 7 == 6 else 4 + number % 5))
        text = f"Paper {number} of {snapshot} says STOP naïve: {words}"
        text = words if number % 7 == 6 else "who was the first man on the moon" if number == 3 else text
        text = "A paper that comes each year, word for word" if number in {0, 9} else text
        metadata = {"language": "fr" if number % 5 == 4 else "en", "page": number % 6}
        yield {"id": f"{snapshot}-{number}", "text": text, "source": "papers", "metadata": metadata}


def arrive(mill: Mill, snapshot: str) -> None:
    """Raw data of a year: of each source one object a half, and among the papers a row that is no document."""
    for source, rows in (("papers", papers(snapshot)), ("talks", talks(snapshot)), ("exams", exams(snapshot))):
        lines: list[Any] = [{**row, "metadata": {**row["metadata"], "picture": "a.png"}} for row in rows]
        half = len(lines) // 2
        mill.raw("a.jsonl.gz", [*lines[:half], *([b"no document"] if source == "papers" else [])], source, snapshot)
        mill.raw("b.jsonl.gz", lines[half:], source, snapshot)


def make_targets(root: Path) -> Mill:
    """Makes two snapshots of all targets."""
    root.mkdir(parents=True)
    mill = Mill(root)
    top = root.parent / "theirs"
    adopted = f"Adopted(name='theirs', root={str(top)!r}, sets=('liked',))"
    own_shelf(mill, "sources", f"from gristmill.recipes.adopted.dataset import Adopted\nTHEIRS = {adopted}\n")
    rows = [{"id": f"t{n}", "source": "web", "text": f"their text {n}", "metadata": {"page": n}} for n in range(6)]
    write_rows(top / "documents" / "a.jsonl.gz", rows)
    labels = [{"id": row["id"], "source": "web", "attributes": {"liked__score": [[0, 5, 0.5]]}} for row in rows]
    write_rows(top / "attributes" / "liked" / "a.jsonl.gz", labels)
    asked = ["who was the first man on the moon", *(f"what is the name of number {n}" for n in range(12))]
    mill.raw("a.txt", "".join(f"q{n} {text}\n" for n, text in enumerate(asked)).encode(), "quiz")
    mill.store.put("media/a.png", picture((1, 2, 3), (4, 5, 6)))
    blocked = [{"source": "papers", "id": f"{year}-{n}", "reason": "asked"} for year in (2024, 2025) for n in (5, 8)]
    blocked.append({"source": "web", "id": "t2", "reason": "asked"})
    mill.store.put(BLOCKED, b"".join(json.dumps(row).encode() + b"\n" for row in blocked))
    for snapshot in ("2024", "2025"):
        arrive(mill, snapshot)
        run(mill, "make", *TARGETS, "--engine", "inline")
    return mill


def make_wide(root: Path) -> Mill:
    """Makes it: two snapshots, all targets, copies, plans and two releases."""
    mill = make_targets(root)
    catalogue = read_catalogue(SHELVES)
    for mix in catalogue.mixes.values():
        (tokenizer,) = catalogue.tokenizers_of_mix(mix)
        sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
        known = {key: ["all"] if source.name == "theirs" else ["2024", "2025"] for key, source in sources.items()}
        index_cache(mill.store, mix, tokenizer, sources, known, consolidated=mix.name == "reading")
        plan_cache(mill.store, mix, tokenizer, 48, mill.said.append)
    for version, name in (("v0", "length-1"), ("v0", "stops-1"), ("v2", "near-1")):
        run(mill, "report", f"papers/{version}", name, "--output", str(root.parent / f"{name}.html"))
    assert main(["gc", str(mill.root)]) == 0
    run(mill, "release", "reading", "tiny-1", "first", "--export", "lines", "--export", "oscar", "--export", "tars")
    run(mill, "release", "shares", "tiny-1", "second", "--export", "joined")
    return mill


def run(mill: Mill, command: str, *words: str) -> None:
    """A command on the lake, which must succeed."""
    assert main([command, str(mill.root), *words, "--shelves", ",".join(SHELVES)]) == 0
