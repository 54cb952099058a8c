"""The column of the worked cases that says what Dolma's mixer makes of them, computed by the real one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from peer import Ask
from spancases import EDITS, span_cases


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))


@pytest.mark.slow
def test_dolmas_mixer_makes_of_the_worked_cases_what_the_page_says(dolma: Ask, tmp_path: Path) -> None:
    cases = [case for case in span_cases() if case.dolmas is not None]
    rows = [{"id": str(n), "text": case.text, "source": "x"} for n, case in enumerate(cases)]
    write(tmp_path / "documents" / "a.jsonl.gz", rows)
    attributes = [{"id": str(n), "attributes": case.labels} for n, case in enumerate(cases)]
    write(tmp_path / "attributes" / "pii" / "a.jsonl.gz", attributes)
    replaced = [
        {
            "span": f"$.attributes.{edit.spans[-1]}",
            "min_score": -1.0 if edit.least is None else edit.least,
            "max_score": 2.0 if edit.below is None else edit.below,
            "replacement": edit.replacement,
        }
        for edit in EDITS
        if edit.replacement is not None
    ]
    stream = {
        "name": "s",
        "documents": [str(tmp_path / "documents" / "a.jsonl.gz")],
        "attributes": ["pii"],
        "span_replacement": replaced,
        "output": {"path": str(tmp_path / "out"), "max_size_in_bytes": 1 << 20},
    }
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"processes": 1, "streams": [stream]}))
    dolma({"do": "mix", "config": str(config)})
    (made,) = (tmp_path / "out").iterdir()
    texts = [json.loads(line)["text"] for line in gzip.decompress(made.read_bytes()).splitlines()]
    assert texts == [case.dolmas for case in cases]
