"""Ten documents and four attribute sets in the forms that Dolma itself writes, made by us."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

SHARD = "000.json.gz"
FOUND = '{"pii" : {"email":[[0,4, 0.8]]}}'
SETS = ("toxicity", "sample", "duplicate_paragraphs", "pii")


def write_dolma(folder: Path) -> Path:
    """Writes `documents/` and `attributes/<set>/`, with what is odd about Dolma's own.

    No attribute row has a source. `toxicity` is a bare number. `sample` has the long keys of version 1, with spans as
    long as another text. The labels of `duplicate_paragraphs` lack the set's name, and its id comes last. `pii` holds a
    dictionary, and only where something was found.
    """
    ids = [f"https://example.org/{number}?q=a&b=ü" for number in range(10)]
    rows = [
        {
            "source": "common-crawl",
            "id": id_,
            "text": f"Home\nPage {number}\n" + "It was a day like any other. \u20ac\n" * (number + 1),
            "added": f"2023-03-21T06:21:25.{number:06d}+00:00",
            "created": "2023-01-27T21:38:46Z",
            "metadata": {"url": id_, "line_ids": [4, number], "language_score": 0.95, "bucket": "head"},
        }
        for number, id_ in enumerate(ids)
    ]
    _write(folder / "documents", [json.dumps(row) for row in rows])
    quoted = [json.dumps(id_) for id_ in ids]
    sets = {
        "toxicity": [f'{{"id": {q}, "attributes": {{"toxicity" :  {(n + 1) / 10}}}}}' for n, q in enumerate(quoted)],
        "sample": [
            f'{{"id": {q}, "attributes":{{"sample__random_number_v1__random":[[0,2610,{0.421 + n / 100:.3f}]]}}}}'
            for n, q in enumerate(quoted)
        ],
        "duplicate_paragraphs": [
            f'{{"attributes":{{"bff_duplicate_paragraph_spans":{"[[0,5,1],[5,12,1]]" if n % 3 else "[]"}}},"id":{q}}}'
            for n, q in enumerate(quoted)
        ],
        "pii": [f'{{"id": {q}, "attributes": {FOUND if n > 7 else "{}"}}}' for n, q in enumerate(quoted)],
    }
    for name in SETS:
        _write(folder / "attributes" / name, sets[name])
    return folder


def _write(folder: Path, lines: Sequence[str]) -> None:
    folder.mkdir(parents=True)
    (folder / SHARD).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
