"""`gristmill dolma tag` against the real `dolma tag`: the same files at the same paths, and the same rows."""

import gzip
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from peer import Ask
from scriptrows import documents, edge_texts

from gristmill.__main__ import main
from gristmill.dolma.tagging.catalogue import NOT_HERE, TAGGERS
from gristmill.dolma.tagging.config import label_key_from_name
from gristmill.recipes.batch import Batch

SLOW = {name for name in TAGGERS if name.startswith("uniseg") or name == "gopher_v2"}
"""Dolma needs a minute for these on all short texts."""

WITH_WORDS = {"pii_regex_v1", "pii_regex_with_counts_v2"}
"""Dolma raises an error at a text without words, and so do we."""

CALL = " call 555-123-4567 "
BY_HAND = [
    *(f"{CALL}see \b{url} " for url in ("https://a.b/c", "WWW2.a.b", "http:// ", "a.b\u0131/c)", "wWw\u0663.(x(y)z)!")),
    *(f"{CALL}{'x' * far}{word}" for far in (99, 100) for word in ("isbn", "doi", "#", "ISBN")),
    *("a\n\n  a@b.c\n\n", "a\n@\n.@a@b\n.\nd@e.f. g", "@.a@b.c d", "a@b. c", "\n\n(555)\n123-4567\n\t(555) 1234567"),
    *(
        "# a\n\n# b\n",
        "# a\n\n# b\nc",
        "\n\n",
        "-- a\n/* Copyright */",
        "/* a */ /* copyright */",
        "/* copyright",
        "/*/*/",
    ),
    *("no javascript: or JavaScripts", "JAVASCRIPT", "a\n javascript \nİ javascript"),
    *("?" * count + " a@b.c 1.2.3.4 (555) 123-4567\n" for count in (10_000, 10_001)),
]
"""What the taggers take apart, or drop."""

_LONGEST = 300
HANGING = {name for name in TAGGERS if "repetitions" in name or (name.startswith("pii_regex") and "fast" not in name)}
"""Dolma's regular expressions do not end on long lines, or take seconds."""


def ours(name: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """The labels of each text, as they are written."""
    labels = TAGGERS[name](Batch(documents(texts)))
    return [
        {label: [list(span) for span in values[number] or ()] for label, values in labels.items() if values[number]}
        for number in range(len(texts))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TAGGERS.keys() - {"random_number_v1"}))
def test_a_tagger_has_dolmas_labels(dolma: Ask, short: list[str], name: str) -> None:
    texts = short[::60] if name in SLOW else [*edge_texts(), *BY_HAND, *short[::10]]
    if name in WITH_WORDS:
        texts = [text for text in texts if text.split()]
    if name in HANGING:
        texts = [text for text in texts if len(text) <= _LONGEST]
    [answer] = dolma({"do": "tag", "taggers": [name], "rows": texts})
    for text, theirs, mine in zip(texts, answer["rows"], ours(name, texts), strict=True):
        assert mine == theirs[name], (text[:200], name)


@pytest.mark.slow
def test_each_of_dolmas_taggers_is_here_or_has_a_reason(dolma: Ask) -> None:
    [answer] = dolma({"do": "names"})
    names = set(answer["names"])
    assert names == TAGGERS.keys() | NOT_HERE.keys()
    assert {label_key_from_name(name) for name in names}


def write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def attributes(folder: Path) -> dict[str, list[Any]]:
    """The rows of all files of attributes, by their paths."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "attributes" in name and "/." not in name:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found[name] = [json.loads(line) for line in data.splitlines()]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("experiment", [["--experiment", "my-exp"], []])
def test_files_are_those_of_the_real_command(tmp_path: Path, short: list[str], experiment: list[str]) -> None:
    python = os.environ.get("GRISTMILL_DOLMA_PYTHON")
    if not python:
        pytest.skip("GRISTMILL_DOLMA_PYTHON names no Python with Dolma")
    homes = tmp_path / "ours", tmp_path / "theirs"
    texts = short[::400]
    for home in homes:
        for number, name in enumerate(("en/a/0.json.gz", "en/a/1.json.gz", "en/b/0.json.gz", "de/x/y/0.jsonl")):
            rows = [{"id": f"{number}-{i}", "text": text, "source": "s"} for i, text in enumerate(texts[number::4])]
            write(home / "wiki" / "documents" / name, [*rows, {"id": "bare", "text": "no source\n"}])
    patterns = ["wiki/documents/en/*/*.gz", "wiki/documents/de/*/*/*.jsonl"]
    words = ["tag", "--documents", *patterns, "--taggers", "gopher_v1", "char_length_with_paragraphs_v1", *experiment]
    command = [python, "-c", "import nltk; nltk.download = print; from dolma.cli.main import main; main()", *words]
    subprocess.run([*command, "--debug"], cwd=homes[1], check=True, capture_output=True, timeout=300)
    before = Path.cwd()
    os.chdir(homes[0])
    try:
        assert main(["dolma", *words]) == 0
    finally:
        os.chdir(before)
    mine = attributes(homes[0])
    assert mine == attributes(homes[1])
    assert len(mine) == (4 if experiment else 8)
