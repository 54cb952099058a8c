"""What the page of `dolma mix` says of values that differ: each expression is run there and here, over one document."""

import json
from pathlib import Path
from typing import Any

import pytest
from peer import Ask

from gristmill.__main__ import main

ROW = r"""{"id": 12345678901234567890123, "text": "t", "n": 0.9208034002519163, "zero": "\u0000", "line": "\n",
    "quote": "\"", "next": "\u0085", "large": 1e17}""".replace("\n    ", "")
JQ = [  # expression, its value there, its value here
    (".n", 0.9208034002519164, 0.9208034002519163),
    (".zero | tojson | length", 3, 8),
    (".line | @json | length", 3, 4),
    (".quote | tojson | length", 3, 4),
    (".zero | @html | length", 1, 2),
    (".zero | @sh | length", 3, 4),
    ("[.zero] | @csv | length", 3, 4),
    ("[.zero] | @tsv | length", 1, 2),
    ('.next | test("[[:cntrl:]]")', False, True),
    (".large | tostring", "1e17", "1E+17"),
    (".large | @json", "1e17", "1E+17"),
]


def config(work: Path, who: str, filters: list[dict[str, Any]]) -> Path:
    streams = [
        {
            "name": f"s{number}",
            "documents": [f"{work}/documents/0.json"],
            "filter": each,
            "output": {"path": f"{work}/{who}/{number}", "max_size_in_bytes": 1 << 20},
            "compression": {"input": "", "output": ""},
        }
        for number, each in enumerate(filters)
    ]
    folders = {"input": f"{work}/{who}-in", "output": f"{work}/{who}-out"}
    path = work / f"{who}.json"
    path.write_text(json.dumps({"streams": streams, "work_dir": folders}))
    return path


@pytest.mark.slow
def test_values_differ_as_the_page_says(dolma: Ask, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/0.json").write_text(f"{ROW}\n")
    for who, column in (("dolma", 1), ("ours", 2)):
        equal = [f"({each[0]}) == {json.dumps(each[column])}" for each in JQ]
        path = config(tmp_path, who, [{"include": [line], "syntax": "jq"} for line in equal])
        if who == "ours":
            assert main(["dolma", "mix", "-c", str(path)]) == 0
        else:
            dolma({"do": "mix", "config": str(path)})
        rows = [(tmp_path / who / f"{number}/s{number}-0000.json").read_text() for number in range(len(JQ))]
        assert [line for line, row in zip(equal, rows, strict=True) if not row] == []
        assert ("0.9208034002519164" in rows[0], "1.2345678901234568e22" in rows[0]) == (who == "dolma",) * 2
