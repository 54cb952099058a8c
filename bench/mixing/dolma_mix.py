"""`gristmill dolma mix` against Dolma's Rust, on the same packed documents and attributes, one process each.

Both are whole commands, start-up included. The rows are compared first: all of them, as JSON.
"""

import gzip
import json
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from bench.harness.cost import BenchError, Cost, timed
from bench.harness.environments import dolma
from bench.harness.row import Row
from bench.mixing.dolma_inputs import plans, write_attributes, write_documents
from bench.taggers.corpus import SAMPLE, megabytes, write_corpus

_FILES = 2
_WORSE = 0.13
"""Share by which we may pack worse than Dolma: unpacked over packed bytes."""
_WORDS = "gopher_rules__gopher_v1__word_count"
_FEW_WORDS = f"$.attributes[?(@.{_WORDS} && @.{_WORDS}[0] && @.{_WORDS}[0][2] < 50)]"
_MAIL = "pii_detection__pii_regex_with_counts_fast_v2__EMAIL_ADDRESS"
_SPANS = [{"span": f"$.attributes.{_MAIL}", "min_score": 0.5, "replacement": " |||EMAIL_ADDRESS||| "}]
CASES: dict[str, tuple[float, dict[str, Any]]] = {
    "nothing dropped": (5.0, {"filter": {"exclude": ["$.nope"]}}),
    "one set and a filter": (4.0, {"attributes": ["gopher_rules"], "filter": {"exclude": [_FEW_WORDS]}}),
    "a filter and spans": (
        4.0,
        {
            "attributes": ["gopher_rules", "pii_detection"],
            "filter": {"exclude": [_FEW_WORDS]},
            "span_replacement": _SPANS,
        },
    ),
}
"""For each case how much less CPU it must take, and the stream."""
WEB = ("web configuration v1.5", 15.0)


def run(work: Path) -> list[Row]:
    """A row for each case; `work` is an empty folder."""
    sample = os.environ.get(SAMPLE)
    if not sample:
        raise BenchError(f"{SAMPLE} is not set: the texts and the configuration of this bench are in the sample data")
    web = yaml.safe_load((Path(sample) / "dolma/configs/v1_5-mixing/cc-head.yaml").read_text())["streams"][0]
    write_corpus(work / "raw", megabytes() * 1_000_000, _FILES)
    rows, size = write_documents(work, _texts(work / "raw"), _FILES)
    labels = plans(web["filter"]["exclude"], [each["span"] for each in web["span_replacement"]], web["attributes"])
    write_attributes(work, labels)
    cases = {**CASES, WEB[0]: (WEB[1], web)}
    return [
        _row(name, bar, stream, work, f"{rows:,} documents, {size / 1e6:.0f} MB")
        for name, (bar, stream) in cases.items()
    ]


def _texts(raw: Path) -> Iterator[str]:
    for path in sorted(raw.iterdir()):
        with path.open("rb") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def _row(name: str, bar: float, stream: Mapping[str, Any], work: Path, what: str) -> Row:
    short = name.replace(" ", "-")
    folders = {who: work / f"{short}-{who}" for who in ("ours", "dolma")}
    configs = {who: _config(stream, work, folder) for who, folder in folders.items()}
    ours = timed([sys.executable, "-m", "gristmill", "dolma", "mix", "-c", configs["ours"]], work / f"{short}.log")
    peer = _dolma(configs["dolma"], work / f"{short}-dolma.log")
    kept, different = _compared(folders["ours"], folders["dolma"])
    sizes = [sum(path.stat().st_size for path in folder.glob("*.gz")) for folder in folders.values()]
    worse = 1 - sizes[1] / sizes[0]
    ratio = peer.cpu_s / ours.cpu_s
    return Row(
        name=f"dolma mix: {name}",
        ours=ours,
        peer=peer,
        peer_name="dolma mix",
        agree=not different,
        bar=f">= {bar:g}x CPU, packed at most {_WORSE:.0%} worse",
        met=ratio >= bar and worse <= _WORSE,
        note=f"{what}, {kept:,} kept; {ratio:.2f}x, packed {worse:.1%} worse{'; ' + different if different else ''}",
        detail={"sizes": sizes},
    )


def _config(stream: Mapping[str, Any], work: Path, output: Path) -> Path:
    limits = {"max_size_in_bytes": 1 << 40, "discard_fields": ["attributes"]}
    documents = [f"{work}/documents/*.json.gz"]
    given = {**stream, "name": "bench", "documents": documents, "output": {"path": str(output), **limits}}
    path = output.with_name(f"{output.name}.json")
    path.write_text(json.dumps({"streams": [given], "processes": 1}))
    return path


def _dolma(config: Path, log: Path) -> Cost:
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    return timed([dolma().with_name("dolma"), "-c", config, "mix"], log, keys)


def _compared(ours: Path, theirs: Path) -> tuple[int, str]:
    """How many rows were compared, and the first difference."""
    count = 0
    for mine, other in zip_longest(_rows(ours), _rows(theirs)):
        if mine != other:
            return count, f"row {count} differs"
        count += 1
    return count, ""


def _rows(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.gz")):
        with gzip.open(path) as file:
            yield from map(json.loads, file)
