"""A lake with two attribute sets whose rows have all forms that rules meet, and random selections over it."""

from pathlib import Path
from random import Random
from typing import Any

from labelrows import write_labels
from testkit import SNAPSHOT, Mill

from gristmill.lake.address import place
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field, score, spans

ROWS = 60
MARKS = place("sources/pages/v0/attributes/characters-1", SNAPSHOT)
KINDS = {"characters-1": {"share": "score", "found": "spans"}}
COLUMNS = (
    field("metadata.number", "BIGINT"),
    field("metadata.language", name="lang", optional=True),
    field("metadata.stars", "DOUBLE", optional=True),
    field("metadata.tags", "VARCHAR[]", optional=True),
    score("words-1__count", "words"),
    score("characters-1__share", "share", optional=True),
    spans("characters-1__found", "found", optional=True),
    spans("characters-1__bare", "bare", optional=True),
    score("characters-1__bare", "weight", optional=True),
)
WHERES = (
    "words >= {n}",
    "number % 7 < {n}",
    "lang = 'en'",
    "stars > {n} / 4",
    "len(tags) > 1 OR number > {n}",
    "share < {n} / 5",
    "coalesce(share, 0) < 0.5",
    "len(found) < {n}",
    'list_sum(list_transform(found, lambda s: s."end" - s.start)) > {n}',
    'bare[1]."end" > 4 * {n}',
    "weight > {n}",
    "lang IS NULL OR words > 1",
)
TEXT_WHERES = ("length(text) > 5 * {n}", "text LIKE '%word word%'")


def make_previewed(root: Path, shards: int = 3) -> Mill:
    """Three shards of 20 documents with two sets. Two blocklists name some documents."""
    root.mkdir()
    mill, random = Mill(root), Random(16)
    rows = [_document(number, random) for number in range(ROWS)]
    size = ROWS // shards
    for number in range(shards):
        mill.raw(f"{'abc'[number]}.jsonl.gz", rows[number * size : (number + 1) * size])
    mill.convert()
    mill.tag("words-1", "characters-1")
    for number in range(shards):
        labels = [_labels(random) for _ in range(size)]
        write_labels(mill, MARKS, "abc"[number], labels, first=number * size)
    for name in ("gone", "exams"):
        listed = random.sample(range(ROWS), 6)
        lines = [f'{{"source":"pages","id":"doc-{n:05d}","reason":"for the test"}}\n' for n in listed]
        mill.store.put(f"blocklists/{name}.jsonl", "".join(lines).encode())
    return mill


def _document(number: int, random: Random) -> dict[str, Any]:
    metadata: dict[str, Any] = {"number": number}
    for key, values in {
        "language": ("en", "fr", None),
        "stars": (0, 0.5, 1, 2.25, None),
        "tags": ([], ["a"], ["a", "b"], None),
        "url": ("https://a.example/x", 7, None),
    }.items():
        if random.random() < 0.8:
            metadata[key] = random.choice(values)
    text = " ".join(random.choice(("word", "größer", "\U0001f600")) for _ in range(random.randrange(1, 9)))
    return {"id": f"doc-{number:05d}", "text": text, "source": "pages", "metadata": metadata}


def _labels(random: Random) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    if random.random() < 0.8:
        labels["characters-1__share"] = random.choice(([], [[0, 4, round(random.random(), 3)]]))
    if random.random() < 0.8:
        labels["characters-1__found"] = [[n, n + random.randrange(5), 0.5] for n in range(random.randrange(4))]
    if random.random() < 0.8:
        labels["characters-1__bare"] = random.randrange(5)
    return labels


def random_stream(seed: int, *, text: bool = False, edits: bool = False) -> Stream:
    """A stream with some rules, blocklists and a rate."""
    random = Random(seed)
    columns = (*COLUMNS, *((field("text"),) if text else ()))
    wheres = (*WHERES, *(TEXT_WHERES if text else ()))
    rules = [
        Rule(f"rule-{number}", where.format(n=random.randrange(1, 5)), "for the test")
        for number, where in enumerate(random.sample(wheres, random.randrange(5)))
    ]
    half = random.randrange(len(rules) + 1)
    return Stream(
        source="pages",
        version="v0",
        columns=columns,
        include=tuple(rules[:half]),
        exclude=tuple(rules[half:]),
        blocklists=tuple(random.sample(("gone", "exams"), random.randrange(3))),
        rate=random.choice((1.0, 1.0, 0.5)),
        seed=random.randrange(3),
        **_edits(random) if edits else {},
    )


def _edits(random: Random) -> dict[str, Any]:
    """Edits of the first word, which drop what is left too short; and other fields of the rows."""
    replacement = random.choice(("", "|||WORD|||"))
    return {
        "edits": (Edit(spans="words-1__first", replacement=replacement),),
        "least_kept": random.choice((0.0, 0.5)),
        "shortest": random.choice((0, 8)),
        "discard": random.choice(((), ("metadata.tags",))),
        "origin": random.choice((False, True)),
    }


def mix_of(*streams: Stream) -> Mix:
    """The mix `blend`."""
    return Mix(name="blend", streams=streams, draft=True)
