"""Each function of jq that an expression may call: what real Dolma makes of it, as a text put in place of a span.

`jaq_answers.jsonl` has the answers; `dolma/mixing/test_jaq_functions.py` compares ours with them. With GRISTMILL_RECORD
set, the file is written anew.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from peer import Ask

ANSWERS = Path(__file__).resolve().parent / "jaq_answers.jsonl"
"""The row; then an expression in each line, its values there (or `error`, `refused`), and those here if they differ."""
COUNTED = 'walk(if type == "string" then {text: explode} else . end) | tojson'
"""JSON with the code points of texts: jaq does not escape them."""


def texts(value: Any) -> Any:
    """The value with its texts."""
    if isinstance(value, list):
        return [texts(each) for each in value]
    if isinstance(value, dict):
        return "".join(map(chr, value["text"])) if "text" in value else {k: texts(each) for k, each in value.items()}
    return value


def config(work: Path, number: int, expression: str) -> Path:
    """A configuration that puts the values of an expression in place of a text."""
    replacement = f'$try ([{expression}] | {COUNTED}) catch "error"'
    stream = {
        "name": "s",
        "documents": [f"{work}/documents/0.json"],
        "span_replacement": [{"span": ".attributes.x", "syntax": "jq", "min_score": 0.5, "replacement": replacement}],
        "output": {"path": f"{work}/{number}", "max_size_in_bytes": 1 << 20, "discard_fields": ["attributes"]},
        "compression": {"input": "", "output": ""},
    }
    path = work / f"{number}.json"
    folders = {"input": f"{work}/in", "output": f"{work}/out"}
    path.write_text(json.dumps({"streams": [stream], "processes": 1, "work_dir": folders}, ensure_ascii=False))
    return path


def answer(path: Path) -> Any:
    """What Dolma wrote; without a file it refused the expression."""
    if not path.exists():
        return "refused"
    text = json.loads(path.read_text())["text"]
    return text if text == "error" else texts(json.loads(text))


@pytest.mark.slow
def test_the_recorded_answers_are_those_of_real_dolma(dolma: Ask, tmp_path: Path) -> None:
    row, *asked = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/0.json").write_text(json.dumps(row))
    configs = [str(config(tmp_path, number, each[0])) for number, each in enumerate(asked)]
    dolma({"do": "mixes", "configs": configs})
    found = [answer(tmp_path / f"{number}/s-0000.json") for number in range(len(asked))]
    if os.environ.get("GRISTMILL_RECORD"):
        lines = [row, *([each[0], new, *each[2:]] for each, new in zip(asked, found, strict=True))]
        ANSWERS.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    assert [(each[0], new) for each, new in zip(asked, found, strict=True) if each[1] != new] == []
