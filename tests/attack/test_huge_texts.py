"""A document of 100 MB is tagged in less than 1 GB, as the grinder does it: read, tagged, encoded."""

import gzip
import json
import sys
from pathlib import Path

import pytest
from peak_memory import run_with_peak

SIZE = 100 * 10**6
MOST = 10**9 >> 20

TAG = """
import importlib, json, sys
from pathlib import Path
from gristmill.errors import DataError
from gristmill.lake.rows.batches import read_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Tagger
from gristmill.stages.tagging.label_lines import LabelLines
from gristmill.taggers.lists.words import open_word_lists
folder, module, constant = sys.argv[1:]
if constant == "open_words":
    tagger = Tagger(name="words-1", batch=open_word_lists({"words": Path(folder) / "en"}))
else:
    tagger = getattr(importlib.import_module(f"gristmill.taggers.{module}"), constant)
for _, documents in read_rows(FolderStore(folder), "a.jsonl.gz", None, Document):
    batch = Batch.of(documents)
    del documents
    try:
        columns = tagger.columns(batch)
        lines = LabelLines(batch).of([(name, columns[name], False) for name in sorted(columns)])
        labels = json.loads(lines)["attributes"] if len(lines) < 1000 else {}
    except DataError as error:
        labels = str(error)
print(json.dumps([peak(), labels]))
"""

TAGGERS = [
    *("gopher.GOPHER", "length.LENGTH", "pii.PII", "language.LANGUAGE"),
    *("quality.c4.C4", "quality.fineweb.FINEWEB", "quality.madlad.MADLAD", "quality.paragraphs.MARK_PARAGRAPHS"),
    *("quality.redpajama.REDPAJAMA", "quality.redpajama_lines.REDPAJAMA_LINES", "quality.refinedweb.REFINEDWEB"),
    *("quality.repetitions.REPETITIONS", "languages.lines.LINES", "languages.paragraphs.PARAGRAPHS"),
    *("languages.cld2.CLD2", "measures.lengths.LENGTHS", "measures.paragraph_lengths.PARAGRAPH_LENGTHS"),
    *("measures.compression.COMPRESSION", "measures.simhash.SIMHASH", "measures.tlsh.TLSH", "measures.random.RANDOM"),
    *("code.copyright.COPYRIGHT", "code.generated.GENERATED", "code.redpajama.REDPAJAMA_CODE", "code.secrets.SECRETS"),
    "lists.words.open_words",
]
LINE = "".join(f"word{n * n % 9973} and the other {n}, " for n in range(3_000)) + "\n"
HOSTILE = ["x", "\n", "a ", "a\n", "\U0001f600", "a@b.c ", "1.2.3.4 ", "123.", "\u0301\u0316", "и\u0306", "/*", LINE]


def tagged(folder: Path, tagger: str, text: str) -> tuple[int, dict[str, list[list[float]]] | str]:
    (folder / "en").mkdir()
    (folder / "en" / "en").write_text("other\nи\u0306\na b\n", encoding="utf-8")
    with gzip.open(folder / "a.jsonl.gz", "wt", compresslevel=1) as file:
        file.write(json.dumps({"id": "a", "text": text, "source": "s"}, ensure_ascii=False) + "\n")
    module, constant = tagger.rsplit(".", 1)
    found, labels = json.loads(run_with_peak(TAG, folder, module, constant))
    sys.stdout.write(f"{tagger}: {found} MiB\n")
    return found, labels


@pytest.mark.slow
@pytest.mark.parametrize("tagger", ["length.LENGTH", "quality.refinedweb.REFINEDWEB"])
def test_a_text_of_100_mb_is_tagged_in_less_than_1_gb(tmp_path: Path, tagger: str) -> None:
    text = LINE * (SIZE // len(LINE))
    found, labels = tagged(tmp_path, tagger, text)
    assert isinstance(labels, dict)
    assert found < MOST
    if "words" in labels:
        assert labels["words"] == [[0, len(text), len(text.split())]]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("end", ["", "\U0001f600"])
@pytest.mark.parametrize("tagger", TAGGERS)
def test_every_tagger_tags_a_text_of_100_mb_in_less_than_1_gb(tmp_path: Path, tagger: str, end: str) -> None:
    found, labels = tagged(tmp_path, tagger, LINE * (SIZE // len(LINE)) + end)
    assert isinstance(labels, dict)
    assert found < MOST


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", HOSTILE, ids=ascii)
@pytest.mark.parametrize("tagger", TAGGERS)
def test_no_text_of_100_mb_takes_1_gb(tmp_path: Path, tagger: str, unit: str) -> None:
    found, labels = tagged(tmp_path, tagger, unit * (SIZE // len(unit.encode())))
    assert isinstance(labels, dict) or "more than 1,000,000 spans" in labels
    assert found < MOST
