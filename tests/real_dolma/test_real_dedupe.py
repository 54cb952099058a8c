"""`gristmill dolma dedupe` against the real `dolma dedupe`: the same files at the same paths, and the same rows."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from peer import Ask

from gristmill.__main__ import main
from gristmill.stages.dolma_dedupe.config import DEDUPE_FIELDS, dedupe_config
from gristmill.stages.dolma_tagging.config import read_config

BLOOM = {"read_only": False, "estimated_doc_count": 300_000, "desired_false_positive_rate": 1e-12}
"""So that the real filter makes no error."""

BY_HAND = [
    "",
    " ",
    "\n",
    "\n\n",
    "a",
    "é",
    "a\r\na\r\n",
    "a b c d e\u2028f\na b c d e\u2028f",
    " \x1c \x85\n\u200b\n \x1c \x85",
]

PARAGRAPHS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "skip empty": {"skip_empty": True},
    "long ones": {"min_length": 40},
    "min words": {"min_words": 3},
    "separator": {"paragraphs": {"paragraph_separator": "\n\n"}},
    "separator of a letter": {"paragraphs": {"paragraph_separator": "e"}, "skip_empty": True},
}
NGRAMS: Mapping[str, Mapping[str, Any]] = {
    "13-grams": {"ngram_length": 13, "stride": 0, "overlap_threshold": 0.0},
    "13-grams, stride": {"ngram_length": 13, "stride": 5, "overlap_threshold": 0.3, "skip_short_paragraphs": True},
    "2-grams": {"ngram_length": 2, "stride": 2, "overlap_threshold": 0.75},
    "words": {"ngram_length": 1, "stride": 0, "overlap_threshold": 0.5, "skip_short_paragraphs": False},
}
DOCUMENTS: Mapping[str, Mapping[str, Any]] = {
    "key": {"documents": {"attribute_name": "dup", "key": "$.text"}},
    "key below, skip empty": {"documents": {"attribute_name": "dup", "key": "$.metadata.first"}, "skip_empty": True},
    "long keys": {"documents": {"attribute_name": "dup", "key": "$.metadata['all'][0]"}, "min_length": 20},
    "keys with words": {"documents": {"attribute_name": "dup", "key": "$.text"}, "min_words": 5},
}


def options() -> dict[str, dict[str, Any]]:
    """All options, by name."""
    found = {name: {"paragraphs": {}, **each} for name, each in PARAGRAPHS.items()}
    found |= {name: {"paragraphs": {"by_ngram": by_ngram}} for name, by_ngram in NGRAMS.items()}
    for each in found.values():
        each["paragraphs"] = {"attribute_name": "dup", **each["paragraphs"]}
    return {**found, **{name: dict(each) for name, each in DOCUMENTS.items()}}


def drawn(texts: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Documents in several files, many of which repeat paragraphs of others."""
    draw = Random(5)
    lines = [line for text in texts for line in text.split("\n")]
    mixed = ["\n".join(draw.choices(lines, k=draw.randrange(1, 8))) for _ in range(400)]
    every = [*BY_HAND, *texts, *mixed, *draw.choices(texts, k=100), *BY_HAND]
    draw.shuffle(every)
    names = ("b/0.jsonl", "a/1.jsonl", "a-b/2.json.gz", "a.json.gz")
    return {
        name: [
            {"id": f"{name} {row}", "text": text, "metadata": {"first": text.split("\n")[0], "all": [text[:30]]}}
            for row, text in enumerate(every[number::4])
        ]
        for number, name in enumerate(names)
    }


def write(home: Path, files: Mapping[str, Sequence[object]]) -> None:
    for name, rows in files.items():
        path = home / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


def attributes(home: Path) -> dict[str, bytes]:
    """The unpacked bytes of all files of attributes, by their paths."""
    found = {}
    for path in sorted((home / "attributes").rglob("*")):
        name = path.relative_to(home).as_posix()
        if path.is_file() and "/." not in name:
            data = path.read_bytes()
            found[name] = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return found


def configured(home: Path, dedupe: Mapping[str, Any]) -> Path:
    patterns = [f"{home}/documents/**/*.jsonl", f"{home}/documents/**/*.gz"]
    config = {"documents": patterns, "dedupe": {"name": "n", **dedupe}, "processes": 1}
    path = home / "config.json"
    path.write_text(json.dumps({**config, "bloom_filter": {"file": f"{home}/bloom", **BLOOM}}))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", options())
def test_the_attributes_are_those_of_dolma(dolma: Ask, short: list[str], tmp_path: Path, name: str) -> None:
    files = drawn([text for text in short[::25] if "\ud800" not in text][:800])
    homes = tmp_path / "ours", tmp_path / "theirs"
    for home in homes:
        write(home, files)
    assert main(["dolma", "dedupe", "-c", str(configured(homes[0], options()[name]))]) == 0
    dolma({"do": "dedupe", "config": str(configured(homes[1], options()[name]))})
    ours, theirs = map(attributes, homes)
    assert list(ours) == list(theirs)
    for path, data in ours.items():
        for row, (mine, other) in enumerate(zip(data.splitlines(), theirs[path].splitlines(), strict=True)):
            assert mine == other, (files[path.split("/", 2)[2]][row]["text"][:500], name)
        assert data == theirs[path]


@pytest.mark.slow
def test_each_published_configuration_runs(samples: Path, tmp_path: Path) -> None:
    found = [path for path in sorted((samples / "dolma/configs").rglob("*.yaml")) if "\ndedupe:" in path.read_text()]
    assert len(found) >= 2
    for path in found:
        home = tmp_path / path.stem
        write(home, {"train/0.json.gz": [{"id": "0", "text": "one\n\none"}]})
        config = dedupe_config(read_config(path.read_bytes(), str(path), DEDUPE_FIELDS))
        words = ["--documents", f"{home}/documents/*/*.gz", "--bloom_filter.file", f"{home}/bloom"]
        assert main(["dolma", "dedupe", "-c", str(path), *words]) == 0
        (data,) = attributes(home).values()
        assert json.loads(data)["attributes"] == {config.attribute: [[5, 8, 1]]}
