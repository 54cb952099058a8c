"""`gristmill dolma dedupe` with keys in a bucket: the attributes and the keys that it writes in a folder."""

import json
from pathlib import Path

import pytest
from seaweed import Seaweed

from gristmill.__main__ import main
from gristmill.dolma.tagging.records import MANIFEST

TEXTS = {"eval": ["one\ntwo"], "train": ["two\nthree", "three"]}


def configuration(home: str, work: Path, step: int) -> str:
    path = work / f"{step}.json"
    paragraphs = {"attribute_name": "dup"}
    config = {
        "documents": [f"{home}/documents/{list(TEXTS)[step]}.jsonl"],
        "dedupe": {"name": f"n{step}", "paragraphs": paragraphs},
        "bloom_filter": {"file": f"{home}/filters/keys", "read_only": bool(step)},
    }
    path.write_text(json.dumps(config))
    return str(path)


@pytest.mark.slow
def test_keys_are_saved_in_a_bucket_and_compared_with(seaweed: Seaweed, tmp_path: Path) -> None:
    store = seaweed.store("decontaminating")
    options = [f"--option={key}={value}" for key, value in seaweed.options.items()]
    for name, texts in TEXTS.items():
        rows = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
        store.put(f"documents/{name}.jsonl", rows.encode())
    for step in (0, 1, 1):
        words = ["dolma", "dedupe", "-c", configuration(seaweed.url("decontaminating"), tmp_path, step)]
        assert main([*words, *options]) == 0
    marks = [json.loads(line)["attributes"]["dup"] for line in store.read("attributes/n1/train.jsonl").splitlines()]
    assert marks == [[[0, 4, 1]], []]
    header, _, keys = store.read("filters/keys").partition(b"\n")
    assert json.loads(header)["keys"] == 2
    assert len(keys) == 32
    paths = {entry.path for entry in store.list("")}
    assert {path for path in paths if ".dolma" in path} == {f"attributes/n{step}/{MANIFEST}" for step in (0, 1)}
