"""A document of 100 MB is tagged in less than 1 GB, as the grinder does it: read, tagged, encoded."""

import gzip
import json
import sys
from pathlib import Path

import pytest
from peak_memory import run_with_peak

SIZE = 100 * 10**6

TAG = """
import importlib, json, sys
from gristmill.lake.rows.batches import read_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.batch import Batch
from gristmill.stages.tagging.label_lines import LabelLines
folder, module, constant = sys.argv[1:]
tagger = getattr(importlib.import_module(module), constant)
for _, documents in read_rows(FolderStore(folder), "a.jsonl.gz", None, Document):
    batch = Batch.of(documents)
    columns = tagger.columns(batch)
    lines = LabelLines(batch).of([(name, columns[name], False) for name in sorted(columns)])
labels = json.loads(lines.splitlines()[-1])["attributes"]
print(json.dumps([peak(), labels["words" if "words" in labels else "word_count"]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "\U0001f600"])
@pytest.mark.parametrize("tagger", ["gopher", "length"])
def test_a_text_of_100_mb_is_tagged_in_less_than_1_gb(tmp_path: Path, tagger: str, end: str) -> None:
    line = "".join(f"word{n * n % 9973} and the other {n}, " for n in range(3_000)) + "\n"
    text = line * (SIZE // len(line)) + end
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", compresslevel=1) as file:
        file.write(json.dumps({"id": "a", "text": text, "source": "s"}, ensure_ascii=False) + "\n")
    found, ((_, length, words),) = json.loads(
        run_with_peak(TAG, tmp_path, f"gristmill.taggers.{tagger}", tagger.upper())
    )
    assert (length, words) == (len(text), len(text.split()))
    sys.stdout.write(f"{tagger}: {found} MiB\n")
    assert found < 10**9 >> 20
