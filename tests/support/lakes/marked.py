"""Rows with spans, edited as the step of mixing does, without a lake."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streams import stream

from gristmill.lake.address import documents_asset, place
from gristmill.lake.store.open import Lake
from gristmill.recipes.edits.transform import Transform
from gristmill.stages.mixing.filtered_block import FilteredBlock
from gristmill.stages.mixing.row_filter import RowFilter

PATH = "sources/pages/v0/documents/2024/a.jsonl.gz"


class Feed:
    """Attribute rows, as an AttributeFeed."""

    path = "sources/pages/v0/attributes/pii-1/2024/a.jsonl.gz"

    def __init__(self, rows: Sequence[bytes]) -> None:
        self._rows = list(rows)

    def next_rows(self, count: int, beside: str) -> list[bytes]:  # noqa: ARG002 - see AttributeFeed
        taken, self._rows = self._rows[:count], self._rows[count:]
        return taken


def row(text: str, **fields: Any) -> dict[str, Any]:
    return {"id": "d1", "text": text, "source": "pages", **fields}


def edited(
    lines: Sequence[bytes],
    labels: Sequence[Mapping[str, Any]],
    counts: dict[str, int] | None = None,
    transforms: Sequence[Transform] = (),
    first: int = 0,
    **options: Any,
) -> FilteredBlock:
    """The block of rows after a stream's edits; `labels` are those of the set pii-1 for each row."""
    chosen = stream(transforms=tuple(each.name for each in transforms), **options)
    attributes = [
        json.dumps(
            {"id": json.loads(line)["id"], "source": "pages", "attributes": {f"pii-1__{k}": v for k, v in each.items()}}
        ).encode()
        for line, each in zip(lines, labels, strict=True)
    ]
    where = place(documents_asset("pages", "v0"), "2024")
    rows = RowFilter(Lake(str(Path("/nowhere"))).store(), where, chosen, [], transforms)
    feeds = {"pii-1": Feed(attributes)} if chosen.sets else {}
    block = b"".join(line + b"\n" for line in lines)
    return rows.decide_block_rows(block, feeds, PATH, first, {} if counts is None else counts, "a")


def texts(block: FilteredBlock) -> list[str]:
    """The texts of the rows that are kept."""
    return [json.loads(line)["text"] for line in block.kept_rows()[0].splitlines()]
