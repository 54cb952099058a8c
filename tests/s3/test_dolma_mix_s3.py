"""`gristmill dolma mix` from and to a bucket: the files that it writes in a folder, and nothing in a second run."""

import gzip
import json
from pathlib import Path

import pytest
from seaweed import Seaweed

from gristmill.__main__ import main

STREAM = {
    "name": "s",
    "attributes": ["pii"],
    "filter": {"exclude": ["$.attributes[?(@.words && @.words[0] && @.words[0][2] < 2)]"]},
    "span_replacement": [{"span": "$.attributes.mail", "min_score": 0.5, "replacement": "|||E|||"}],
}


def files() -> dict[str, bytes]:
    """Two files of documents, and their attributes, by path."""
    found = {}
    for number in range(2):
        texts = [f"mail a{row}@b.c now" if row % 3 else "short" for row in range(9)]
        documents = [{"id": f"{number}-{row}", "source": "x", "text": text} for row, text in enumerate(texts)]
        beside = [
            {
                "id": f"{number}-{row}",
                "attributes": {"words": [[0, 5, float(row % 3)]], "mail": [[5, 11, 0.9]] * (row % 3 > 0)},
            }
            for row in range(9)
        ]
        for folder, rows in (("documents", documents), ("attributes/pii", beside)):
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            found[f"{folder}/{number}.json.gz"] = gzip.compress(lines.encode(), mtime=0)
    return found


def configuration(home: str, work: Path) -> str:
    path = work / "mix.json"
    output = {"path": f"{home}/out", "discard_fields": ["attributes"], "max_size_in_bytes": 1}
    path.write_text(json.dumps({"streams": [{**STREAM, "documents": [f"{home}/documents/*.gz"], "output": output}]}))
    return str(path)


@pytest.mark.slow
def test_a_bucket_is_mixed_as_a_folder_is(seaweed: Seaweed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "far").mkdir()
    store = seaweed.store("mixing")
    for name, data in files().items():
        store.put(name, data)
        path = tmp_path / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert main(["dolma", "mix", "-c", configuration(str(tmp_path / "local"), tmp_path / "local")]) == 0
    options = [f"--option={key}={value}" for key, value in seaweed.options.items()]
    words = ["dolma", "mix", "-c", configuration(seaweed.url("mixing"), tmp_path / "far"), *options]
    assert main(words) == 0
    assert "6 of 18 documents kept in 2 files" in capsys.readouterr().out
    for name in ("out/s-0000.jsonl.gz", "out/s-0001.json.gz"):
        assert store.read(name) == (tmp_path / "local" / name).read_bytes()
    assert "|||E||| now" in gzip.decompress(store.read("out/s-0000.jsonl.gz")).decode()
    assert main(words) == 0
    assert "0 files to write, 2 are done" in capsys.readouterr().out
    store.put("attributes/pii/1.json.gz", gzip.compress(b"{}\n", mtime=0))
    assert main(words) == 2
    assert "attributes/pii/1.json.gz" in capsys.readouterr().err
