"""A token cache of conversations: ours, and real Levanter's own build of the same rows.

Ours reads gzip documents of a mix, renders, encodes and masks them, writes a finished cache and proves it; Levanter
reads gzip rows that hold nothing but the messages. Ids and masks of every conversation are compared.
"""

import os
import sys
from pathlib import Path

from bench.harness.cost import timed
from bench.harness.row import Row
from bench.inputs.bpe import pair
from bench.inputs.conversations import TEMPLATE, write_conversations
from bench.inputs.shelf import raw_folder, variables, write_shelf
from bench.tokens.peers import levanter_cache, levanter_folder, levanter_imports
from bench.tokens.tokenizing import MEGABYTES, SIZE, bring, cheapest, same_cache

REQUIRED = 5.0
FIELDS = ("input_ids", "assistant_masks")


def run(work: Path) -> list[Row]:
    """A row a tokenizer; `work` is an empty folder."""
    tokenizers = pair(work / "tokenizers")
    write_shelf(work, next(iter(tokenizers.values())))
    lake, plain = work / "lake", work / "plain"
    size = round(float(os.environ.get(SIZE, str(MEGABYTES))) * 1e6)
    write_conversations(raw_folder(lake), plain, size)
    timed([sys.executable, "-m", "bench.stages.steps", "convert", "mix:whole"], work / "mix.log", variables(work, lake))
    template = work / "template.jinja"
    template.write_text(TEMPLATE, "utf-8")
    imports = levanter_imports(work)
    rows: list[Row] = []
    for kind, file in tokenizers.items():
        tokenizer = bring(lake, kind, file)
        ours, said = cheapest(lake, tokenizer, work / f"{kind}.log", "--template", template)
        declared = {"type": "chat", "chat_template": TEMPLATE, "messages_field": "messages"}
        folder = levanter_folder(file, work / f"{kind}-levanter-tokenizer")
        peer = levanter_cache(sorted(plain.iterdir()), folder, work / f"{kind}-levanter", declared)
        made = said["made"]
        rows.append(
            Row(
                name=f"chat, {kind}",
                ours=ours,
                peer=peer,
                peer_name="Levanter",
                agree=same_cache(lake, tokenizer, work, f"{kind}-levanter", FIELDS),
                bar=f">= {REQUIRED:.0f}x CPU",
                met=peer.cpu_s / ours.cpu_s >= REQUIRED,
                note=f"{made['text bytes'] / 1e6:.0f} MB rendered, {made['rows']:,} rows, {made['tokens']:,} tokens",
                detail={"ours": said, "imports": imports.plain()},
            )
        )
    return rows
