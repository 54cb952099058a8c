"""Peak memory of a process that makes token caches: of texts, of conversations, of one text of 100 MB, and of one
conversation of 100 MB.
"""

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench.harness.cost import timed
from bench.harness.place import SOURCE
from bench.harness.row import Row
from bench.inputs.bpe import pair
from bench.inputs.conversations import TEMPLATE, write_conversations
from bench.inputs.corpus import texts, write_texts
from bench.inputs.shelf import raw_folder, variables, write_shelf
from bench.tokens.tokenizing import SIZE, bring, spell

LIMIT = 1_000_000_000
MEGABYTES = 200
HUGE = 100_000_000
SEED = 12


def run(work: Path) -> list[Row]:
    """A row a shard; `work` is an empty folder."""
    tokenizers = pair(work / "tokenizers")
    file = tokenizers["100k"]
    template = work / "template.jinja"
    template.write_text(TEMPLATE, "utf-8")
    size = round(float(os.environ.get(SIZE, str(MEGABYTES))) * 1e6)
    chat = ("--template", template)
    rows: list[Row] = []
    for name, options in (("texts", ()), ("chat", chat), ("one text", ()), ("one conversation", chat)):
        folder = work / name.replace(" ", "-")
        folder.mkdir()
        write_shelf(folder, file)
        lake = folder / "lake"
        _write(name, raw_folder(lake), folder / "plain", size)
        timed(
            [sys.executable, "-m", "bench.stages.steps", "convert", "mix:whole"],
            folder / "log",
            variables(folder, lake),
        )
        cost, said = spell(lake, bring(lake, "100k", file), folder / "ours.log", *options)
        made = said["made"]
        rows.append(
            Row(
                name=f"memory, token cache, {name}",
                ours=cost,
                bar="peak < 1 GB",
                met=made["peak"] < LIMIT,
                note=f"peak {made['peak'] / 1e6:.0f} MB on {made['text bytes'] / 1e6:.0f} MB in {made['rows']:,} rows",
                detail={"ours": said},
            )
        )
    return rows


def _write(name: str, raw: Path, plain: Path, size: int) -> None:
    if name == "texts":
        write_texts(raw, [texts(SEED, size)])
    elif name == "chat":
        write_conversations(raw, plain, size)
    elif name == "one text":
        write_texts(raw, [[*itertools.islice(texts(SEED, HUGE), 100), "\n\n".join(_long()), "short"]])
    else:
        raw.mkdir(parents=True)
        said = "\n\n".join(_long())
        turns = [{"role": "user", "content": "Say all."}, {"role": "assistant", "content": said}]
        row = {"id": "0", "text": "", "source": SOURCE, "metadata": {"messages": turns}}
        (raw / "shard-0000.jsonl").write_bytes(orjson.dumps(row) + b"\n")


def _long() -> Iterator[str]:
    """Texts of 100 MB together."""
    yield from texts(SEED, HUGE)
