"""`gristmill dolma mix` against the real `dolma mix`: the same files, and the same rows."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from peer import Ask

from gristmill.__main__ import main

SETS = {"first": ("a", "b"), "second": ("b", "c"), "third": ("marks", "d")}
PLACES = [f"@.{label}{index}" for label in "abcd" for index in ("", "[0]", "[0][2]", "[1][2]", "[0][0]")]
BOUNDS = ["0", "1", "1.0", "0.5", "3", "2.5"]
PATHS = """\
$.metadata[?(@.n == 3)]
$.metadata[?(@.n >= 2 && !(@.word == 'mill'))]
$.metadata[?(@.word ~= '^m.*l$' || @.list[0] < @.n)]
$.metadata.list[?(@ > 1)]
$.metadata[?(@.word in ['mill','grain'])]
$.metadata[?(@.list anyOf [0,4])]
$.metadata.list[1:]
$.metadata.list[-2:]
$..deep
$.*.n
$.attributes.*[0]
$.attributes[?(!@.a)]
$.attributes.marks[?(@[2] > 0.5)]
$.attributes.marks[?(@[0] && @[1])]
$[?(@.source == 'x')]
$.attributes
$.attributes[?(@.a[0][2] > 0.99)]
@.attributes""".splitlines()
JQ = """\
(.metadata // {}).n > 2
(((.attributes // {}).a // [])[0] // [])[2] >= 0.5
((.attributes // {}).marks // []) | length > 1
(((.attributes // {}).marks // []) | map(.[1] - .[0]) | add // 0) / ((.text | length) + 1) > 0.1
.text | test("mill")
[.text | match("mill"; "g")] | length > 1
(.metadata // {}).n > 0
.attributes != null and .attributes.c != null and .attributes.c != [] and .attributes.c[0][-1] > 1
((.metadata // {}).list // [])[] | . > 2
(.metadata // {}) | to_entries | length == 0 or (.[0].key == "list")
[(.attributes // {})[]] | length > 1 and .[0] != []""".splitlines()
"""None asks for a field of null: Dolma's engine stops there, and jq goes on.

`match`, `> 0` and, of the paths, `> 0.99` are what docs/how-to/dolma-mix.md says to write instead of something else.
"""


def documents(draw: Random, count: int) -> list[dict[str, Any]]:
    """Documents with metadata of several shapes."""
    found = []
    for number in range(count):
        text = "".join(draw.choices(["mill ", "é", "😀", "\n", "grain", " ", '"', "\\"], k=draw.randrange(0, 25)))
        row: dict[str, Any] = {"id": f"{number}", "text": text, "source": draw.choice(["x", "y"])}
        if draw.random() < 0.8:
            numbers = {"n": draw.randrange(5), "list": [draw.randrange(5) for _ in range(draw.randrange(4))]}
            row["metadata"] = {**numbers, "word": draw.choice(["mill", "grain", "stone"])}
        if draw.random() < 0.2:
            row["attributes"] = {"a": [[0, 1, draw.choice([0.5, 3])]], "deep": 1}
        found.append(row)
    return found


def attributes(draw: Random, text: str, labels: Sequence[str]) -> dict[str, Any]:
    """Attributes of one set: scores, and spans that overlap, are nested, empty, or in any order."""
    found: dict[str, Any] = {}
    for label in labels:
        if draw.random() < 0.25:
            continue
        ends = [sorted((draw.randint(0, len(text)), draw.randint(0, len(text)))) for _ in range(draw.randrange(4))]
        found[label] = [[*pair, draw.choice([0, 1, 1.0, 0.5, 2.75, 0.25])] for pair in ends]
    return found


def condition(draw: Random, depth: int = 2) -> str:
    """A condition over attributes."""
    if depth and draw.random() < 0.5:
        inner = condition(draw, depth - 1), condition(draw, depth - 1)
        return f"({inner[0]} {draw.choice(['&&', '||'])} {inner[1]})"
    place = draw.choice(PLACES)
    sign = draw.choice(["", "<", ">", "<=", ">=", "==", "!="])
    return f"{place} {sign} {draw.choice(BOUNDS)}" if sign else place


def stream(draw: Random, number: int) -> dict[str, Any]:
    """A stream with what the mixer has."""
    paths = [*PATHS, *(f"$.attributes[?({condition(draw)})]" for _ in range(len(PATHS)))]
    syntax = "jq" if draw.random() < 0.25 else "jsonpath"
    rules = JQ if syntax == "jq" else paths
    chosen: dict[str, Any] = {"name": f"s{number}", "attributes": draw.sample(sorted(SETS), draw.randrange(1, 4))}
    include = draw.choices(rules, k=draw.choice([0, 1, 2]))
    chosen["filter"] = {"include": include, "exclude": draw.choices(rules, k=draw.choice([1, 2])), "syntax": syntax}
    if draw.random() < 0.6:
        selectors = [("$.attributes.marks", "jsonpath"), (".attributes?.marks?", "jq"), ("$.attributes.b", "jsonpath")]
        chosen["span_replacement"] = [
            {
                "span": span,
                "syntax": language,
                "min_score": draw.choice([0.5, 0.0]),
                "replacement": draw.choice(["", "X", "[{}]", "$.source" if language == "jsonpath" else "$.id"]),
                **({"max_score": 2.0} if draw.random() < 0.3 else {}),
            }
            for span, language in draw.choices(selectors, k=draw.randrange(1, 3))
        ]
    chosen["output"] = {
        "discard_fields": draw.sample(["attributes", "source", "metadata"], draw.randrange(3)),
        "min_text_length": draw.choice([0, 0, 5]),
        "max_size_in_bytes": draw.choice([1, 1 << 30]),
    }
    return chosen


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), 1, mtime=0))


def written(folder: Path) -> dict[str, list[Any]]:
    """The rows of all files of a folder."""
    found = {}
    for path in sorted(folder.rglob("*.gz")):
        lines = gzip.decompress(path.read_bytes()).splitlines()
        found[path.relative_to(folder).as_posix()] = [json.loads(line) for line in lines]
    return found


def compared(
    dolma: Ask, streams: Sequence[Mapping[str, Any]], work: Path, *, shuffle: bool = True
) -> dict[str, list[Any]]:
    """Runs both; the rows of ours, which are those of Dolma."""
    configs = {}
    for who in ("ours", "dolma"):
        placed = [{**one, "output": {**one["output"], "path": f"{work}/{who}/{one['name']}"}} for one in streams]
        folders = {"input": f"{work}/{who}-in", "output": f"{work}/{who}-out"}
        configs[who] = work / f"{who}.json"
        configs[who].write_text(json.dumps({"streams": placed, "work_dir": folders, "shuffle": shuffle}))
    assert main(["dolma", "mix", "-c", str(configs["ours"])]) == 0
    dolma({"do": "mix", "config": str(configs["dolma"])})
    ours, theirs = written(work / "ours"), written(work / "dolma")
    assert list(ours) == list(theirs)
    for name, rows in ours.items():
        assert len(rows) == len(theirs[name]), name
        for mine, other in zip(rows, theirs[name], strict=True):
            assert mine == other, (name, next(one for one in streams if name.startswith(f"{one['name']}/")))
    return ours


def drawn(dolma: Ask, work: Path, seed: int, *, count: int, streams: int) -> int:
    """Compares drawn streams over drawn documents. Returns the rows that were kept."""
    draw = Random(seed)
    rows = documents(draw, count)
    for number in range(3):
        part = rows[number::3]
        write(work / f"in/documents/{number}.json.gz", part)
        for name, labels in SETS.items():
            beside = [{"id": row["id"], "attributes": attributes(draw, row["text"], labels)} for row in part]
            write(work / f"in/attributes/{name}/{number}.json.gz", beside)
    chosen = [{**stream(draw, number), "documents": [f"{work}/in/documents/*.gz"]} for number in range(streams)]
    return sum(map(len, compared(dolma, chosen, work).values()))


@pytest.mark.slow
def test_drawn_streams_give_the_rows_of_dolma(dolma: Ask, tmp_path: Path) -> None:
    assert drawn(dolma, tmp_path, 1, count=1_000, streams=40) > 2_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_drawn_streams_give_the_rows_of_dolma(dolma: Ask, tmp_path: Path, seed: int) -> None:
    assert drawn(dolma, tmp_path, seed, count=2_000, streams=120) > 2_000


@pytest.mark.slow
def test_without_shuffle_files_keep_their_names(dolma: Ask, tmp_path: Path) -> None:
    for name in ("x/0.json.gz", "x/1.json.gz", "2.json.gz"):
        write(tmp_path / "in/documents" / name, documents(Random(3), 5))
    patterns = [f"{tmp_path}/in/documents/*/*.gz", f"{tmp_path}/in/documents/*.gz"]
    one = {"name": "s", "documents": patterns, "filter": {"exclude": ["$.nope"]}, "output": {}}
    assert len(compared(dolma, [one], tmp_path, shuffle=False)) == 3


FIELDS: list[dict[str, Any]] = [
    {"attributes": None},
    {"attributes": {"a": None, "b": None}},
    {"attributes": {"b": [[0, 1, 2]]}},
    {},
    *({"metadata": each} for each in (None, [1], "m", 7, False, {}, {"provenance": "p"})),
    *({name: None} for name in ("added", "created", "source", "version", "foo", "id")),
    {"bar": {"a": None}},
]
BESIDE: list[dict[str, Any]] = [
    {"attributes": {"a": [[0, 4, 9]]}},
    {"attributes": {}},
    {"attributes": {"a": None}},
    {"attributes": {"other": [[0, 1, 1]]}},
    {"attributes": {"a": [[0, 4, 2]], "other": 1}, "source": "s", "foo": None},
]


@pytest.mark.slow
@pytest.mark.parametrize("sets", [[], ["s"]])
def test_rows_with_nulls_and_without_fields_give_the_rows_of_dolma(dolma: Ask, tmp_path: Path, sets: list[str]) -> None:
    """Each kind of document beside each kind of row of attributes, and beside none."""
    rows = [(own, beside) for own in FIELDS for beside in BESIDE]
    made = [{"id": f"{n}", "text": "text of a row", **own} for n, (own, _) in enumerate(rows)]
    write(tmp_path / "in/documents/0.json.gz", made)
    write(tmp_path / "in/attributes/s/0.json.gz", [
        {"id": row["id"], **beside} for row, (_, beside) in zip(made, rows, strict=True)
    ])  # fmt: skip
    spans = [{"span": "$.attributes.a", "min_score": 0.5, "replacement": "X"}]
    ways: list[dict[str, Any]] = [
        {"filter": {"exclude": ["$.attributes[?(@.a && @.a[0][2] > 5)]"]}},
        {"filter": {"include": ["$.attributes.b"], "exclude": ["$.nope"]}},
        {"filter": {"include": [".attributes != null"], "exclude": [".attributes?.a? == null"], "syntax": "jq"}},
        {"span_replacement": spans},
    ]
    streams = [
        {
            "name": f"s{number}-{len(gone)}",
            "documents": [f"{tmp_path}/in/documents/*.gz"],
            "attributes": sets,
            "output": {"max_size_in_bytes": 1 << 20, "discard_fields": gone},
            **way,
        }
        for number, way in enumerate(ways)
        for gone in ([], ["attributes"])
    ]
    assert len(compared(dolma, streams, tmp_path)) == len(streams)


@pytest.mark.slow
def test_each_published_configuration_gives_the_rows_of_dolma(dolma: Ask, samples: Path, tmp_path: Path) -> None:
    paths = [
        path for path in sorted((samples / "dolma/configs").rglob("*.yaml")) if "\nstreams:" in f"\n{path.read_text()}"
    ]
    assert len(paths) >= 9
    for number, path in enumerate(paths):
        work = tmp_path / path.stem
        text = path.read_text().replace("s3://ai2-llm", str(work))
        draw = Random(number)
        labels = sorted(set(re.findall(r"@\.(\w+)|\$\.attributes\.(\w+)", text)))
        streams = yaml.safe_load(text)["streams"]
        for one in streams:
            one["documents"] = one["documents"][:2]
            one["output"].pop("path")
            for pattern in one["documents"]:
                file = pattern.replace("/*/", "/x/").replace("*", "0.json" if pattern.endswith("*.gz") else "0")
                rows = documents(draw, 60)
                write(Path(file), rows)
                for name in one["attributes"]:
                    keys = [a or b for a, b in labels if draw.random() < 0.3]
                    beside = [{"id": row["id"], "attributes": attributes(draw, row["text"], keys)} for row in rows]
                    write(Path(file.replace("/documents/", f"/attributes/{name}/")), beside)
        compared(dolma, streams, work)
