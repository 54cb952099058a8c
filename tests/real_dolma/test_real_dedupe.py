"""`gristmill dolma dedupe` against the real `dolma dedupe`: the same files at the same paths, and the same rows."""

import gzip
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from paths import ROOT
from peer import Ask

from gristmill.__main__ import main
from gristmill.dolma.dedupe.config import DEDUPE_FIELDS, dedupe_config
from gristmill.dolma.tagging.config import read_config

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


PUBLISHED_STEPS = {
    "step1_4-create-bloom-filter/option1": """
documents:
  - ${oc.env:HOME}/perplexity/option1/documents/*.gz

dedupe:
  name: perplexity_suite_v3
  paragraphs:
    attribute_name: bff_duplicate_paragraph_spans_decontamination
  skip_empty: true

bloom_filter:
  read_only: false
  estimated_doc_count: 759208
  size_in_bytes: 104857600  # 100 MB; smaller causes too many FPs
  file: s3://ai2-llm/bloom-filters/perplexity-suite-v3_option1.bin

processes: 188
""",
    "step2-run-decontamination/cc": """
documents:
  - s3://ai2-llm/pretraining-data/sources/common-crawl/v1-c4-cleaned/documents/cc_en_head/*.gz
  - s3://ai2-llm/pretraining-data/sources/common-crawl/v1-c4-cleaned/documents/cc_en_middle/*.gz
  - s3://ai2-llm/pretraining-data/sources/common-crawl/v1-c4-cleaned/documents/cc_en_tail/*.gz

dedupe:
  name: perplexity_suite_v3_option1
  paragraphs:
    attribute_name: bff_duplicate_paragraph_spans_decontamination
  skip_empty: true

bloom_filter:
  read_only: true
  estimated_doc_count: 759208
  size_in_bytes: 104857600  # 100 MB; smaller causes too many FPs
  file: s3://ai2-llm/bloom-filters/perplexity-suite-v3_option1.bin

processes: 188
""",
    "step2-run-decontamination/peS2o": """
documents:
  - s3://ai2-llm/pretraining-data/sources/s2/v3/documents/dataset=s2ag/split=train/part_id=0/*.gz
  - s3://ai2-llm/pretraining-data/sources/s2/v3/documents/dataset=s2orc/split=train/part_id=9/*.g

dedupe:
  name: perplexity_suite_v3_option1
  paragraphs:
    attribute_name: bff_duplicate_paragraph_spans_decontamination
  skip_empty: true

bloom_filter:
  read_only: true
  estimated_doc_count: 759208
  size_in_bytes: 4195316
  desired_false_positive_rate: 0.00001
  file: s3://ai2-llm/bloom-filters/perplexity-suite-v3_option1.bin

processes: 188
""",
}
"""Steps of the decontamination of Dolma v1.5, of which step 2 reads what step 1 wrote.

Source: allenai/dolma (Apache-2.0), configs/dolma-v1_5/decontamination; of peS2o two of its twenty patterns.
"""

EVALUATION = "perplexity/option1/documents"
TRAINING = {
    "step2-run-decontamination/cc": "pretraining-data/sources/common-crawl/v1-c4-cleaned/documents/cc_en_middle",
    "step2-run-decontamination/peS2o": "pretraining-data/sources/s2/v3/documents/dataset=s2ag/split=train/part_id=0",
}


def below(home: Path) -> dict[str, bytes]:
    """The unpacked bytes of all files of attributes below a folder, by their paths."""
    found = {}
    for path in sorted(home.rglob("*.gz")):
        name = path.relative_to(home).as_posix()
        if "/attributes/" in name:
            found[name] = gzip.decompress(path.read_bytes())
    return found


def placed(home: Path, folder: str, rows: Sequence[object]) -> None:
    path = home / folder / "0.json.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))


@pytest.mark.slow
def test_published_steps_of_a_decontamination_mark_as_dolma_does(dolma: Ask, short: list[str], tmp_path: Path) -> None:
    """Unmodified but for the bucket, which is a folder here."""
    texts = [text for text in short[::50] if "\ud800" not in text][:300]
    rows = [{"id": str(number), "text": text, "source": "s"} for number, text in enumerate([*texts, *BY_HAND])]
    homes = tmp_path / "ours", tmp_path / "theirs"
    for home in homes:
        placed(home, EVALUATION, rows[::3])
        for folder in TRAINING.values():
            placed(home, folder, [*rows, *rows[1:9]])  # what only the training data repeat is not marked
        for name, text in PUBLISHED_STEPS.items():
            path = home / f"{name}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("s3://ai2-llm", str(home)).replace("${oc.env:HOME}", str(home)))
        for name in PUBLISHED_STEPS:
            if home == homes[0]:
                assert main(["dolma", "dedupe", "-c", str(home / f"{name}.yaml")]) == 0
            else:
                dolma({"do": "dedupe", "config": str(home / f"{name}.yaml")})
    ours, theirs = map(below, homes)
    assert list(ours) == list(theirs)
    assert len(ours) == 3
    assert ours == theirs
    marked = [json.loads(row)["attributes"] for row in ours[max(ours)].splitlines()]
    assert 0 < sum(bool(spans) for row in marked for spans in row.values()) < len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", options())
def test_a_comparison_with_saved_keys_marks_as_dolma_does(
    dolma: Ask, short: list[str], tmp_path: Path, name: str
) -> None:
    files = drawn([text for text in short[::25] if "\ud800" not in text][:400])
    homes = tmp_path / "ours", tmp_path / "theirs"
    for home in homes:
        write(home, files)
        for step, pattern in enumerate(("b/*", "**/*.gz")):
            config = {"documents": [f"{home}/documents/{pattern}"], "dedupe": {"name": f"n{step}", **options()[name]}}
            bloom = {"file": f"{home}/keys", **BLOOM, "read_only": bool(step)}
            path = home / f"{step}.json"
            path.write_text(json.dumps({**config, "bloom_filter": bloom, "processes": 1}))
            if home == homes[0]:
                assert main(["dolma", "dedupe", "-c", str(path)]) == 0
            else:
                dolma({"do": "dedupe", "config": str(path)})
    ours, theirs = map(attributes, homes)
    assert ours == theirs
    assert {path.split("/")[1] for path in ours} == {"n0", "n1"}


@pytest.mark.slow
def test_a_bloom_filter_of_dolma_is_refused_by_name(
    dolma: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"0.jsonl": [{"id": "0", "text": "one"}], "0.json.gz": [{"id": "0", "text": "one"}]})
    dolma({"do": "dedupe", "config": str(configured(tmp_path, options()["plain"]))})
    words = ["--bloom_filter.read_only", "--dedupe.name", "other"]
    assert main(["dolma", "dedupe", "-c", str(tmp_path / "config.json"), *words]) == 2
    assert f"{tmp_path}/bloom is a Bloom filter that Dolma's toolkit wrote" in capsys.readouterr().err


def ran(tmp_path: Path, dolma: Ask, *steps: tuple[bool, Mapping[str, Any]], name: str = "n") -> dict[str, bytes]:
    """The attributes after some runs, each of ours (True) or of the toolkit, with its fields beside the usual ones."""
    for number, (ours, fields) in enumerate(steps):
        path = tmp_path / f"{number}-{ours}.json"
        dedupe = {"name": name, "paragraphs": {"attribute_name": "dup"}} | dict(fields.get("dedupe", {}))
        bloom = {"file": f"{tmp_path}/bloom{number}-{ours}", **BLOOM} | dict(fields.get("bloom_filter", {}))
        given = {**fields, "dedupe": dedupe, "bloom_filter": bloom, "processes": 1}
        path.write_text(json.dumps({"documents": [f"{tmp_path}/documents/*.gz"], **given}))
        if ours:
            assert main(["dolma", "dedupe", "-c", str(path)]) == 0
        else:
            dolma({"do": "dedupe", "config": str(path)})
    return attributes(tmp_path)


def row(id_: str, text: str, **more: object) -> dict[str, object]:
    return {"id": id_, "text": text, **more}


FILES = {
    "0.json.gz": [row("00", "one\ntwo"), row("01", "two")],
    "1.json.gz": [row("10", "three\none"), row("11", "four")],
    "2.json.gz": [row("20", "four\ntwo"), row("21", "five")],
}


def _saved_by_the_toolkit(dolma: Ask, home: Path) -> None:
    first = {"documents": [f"{home}/documents/0*.gz"], "dedupe": {"name": "first"}}
    second = {"bloom_filter": {"read_only": True, "file": f"{home}/bloom"}}
    theirs = ran(home, dolma, (False, first | {"bloom_filter": {"file": f"{home}/bloom"}}), (False, second))
    shutil.rmtree(home / "attributes")
    again = {"bloom_filter": {"file": f"{home}/keys"}}, {"bloom_filter": {"read_only": True, "file": f"{home}/keys"}}
    assert ran(home, dolma, (True, first | again[0]), (True, again[1])) == theirs


def _adding_runs(dolma: Ask, home: Path) -> None:
    adding = [
        {"documents": [f"{home}/documents/{n}*.gz"], "bloom_filter": {"file": f"{home}/bloom"}} for n in (0, 1, 2)
    ]
    theirs = ran(home, dolma, *[(False, each) for each in adding])
    shutil.rmtree(home / "attributes")
    with pytest.raises(AssertionError):
        ran(home, dolma, *[(True, {**each, "bloom_filter": {"file": f"{home}/keys"}}) for each in adding])
    shutil.rmtree(home / "attributes")
    assert ran(home, dolma, (True, {})) == theirs


def _file_partition(dolma: Ask, home: Path) -> None:
    parts = {"num_partitions": 2, "file_partition": True}
    theirs = ran(home, dolma, *[(False, {"dedupe": {**parts, "partition_index": index}}) for index in (0, 1)])
    shutil.rmtree(home / "attributes")
    files: dict[str, list[str]] = {"n_0": [], "n_1": []}
    for path in theirs:
        files[path.split("/")[1]].append(f"{home}/documents/{Path(path).name}")
    own = [{"documents": paths, "dedupe": {"name": name}} for name, paths in files.items() if paths]
    ours = ran(home, dolma, *[(True, each) for each in own])
    shutil.rmtree(home / "attributes")
    for bloom in home.glob("bloom*"):
        bloom.unlink()
    assert ours == ran(home, dolma, *[(False, each) for each in own])
    assert [*ours] == [*theirs]
    for path, data in theirs.items():  # which leave out half of the keys, too
        for mine, other in zip(data.splitlines(), ours[path].splitlines(), strict=True):
            (few,), (all_,) = (json.loads(each)["attributes"].values() for each in (mine, other))
            assert all(mark in all_ for mark in few)


def _packing(dolma: Ask, home: Path) -> None:
    documents = home / "documents"
    for path in documents.iterdir():
        path.rename(path.with_suffix(".packed"))
    packed = {"documents": [f"{documents}/*.packed"], "compression": {"input": "gz"}}
    theirs = ran(home, dolma, (False, packed))
    shutil.rmtree(home / "attributes")
    for path in documents.iterdir():
        path.rename(path.with_suffix(".gz"))
    ours = ran(home, dolma, (True, {}))
    assert {path.removesuffix(".gz"): data for path, data in ours.items()} == {
        path.removesuffix(".packed"): data for path, data in theirs.items()
    }


def _wildcard_key(dolma: Ask, home: Path) -> None:
    urls = [["a", "x"], ["b", "y"], ["a", "z"]]
    write(home, {name: [row(str(n), "t", urls=each) for n, each in enumerate(urls)] for name in FILES})
    theirs = ran(
        home,
        dolma,
        (False, {"dedupe": {"documents": {"attribute_name": "dup", "key": "$.urls[*]"}, "paragraphs": None}}),
    )
    shutil.rmtree(home / "attributes")
    ours = ran(
        home,
        dolma,
        (True, {"dedupe": {"documents": {"attribute_name": "dup", "key": "$.urls[0]"}, "paragraphs": None}}),
    )
    assert ours == theirs


def _hidden_files(dolma: Ask, home: Path) -> None:
    (home / "documents/0.json.gz").rename(home / "documents/.0.json.gz")
    assert "attributes/n/0.json.gz" not in ran(home, dolma, (True, {}))
    shutil.rmtree(home / "attributes")
    (home / "documents/.0.json.gz").rename(home / "documents/0.json.gz")
    theirs = ran(home, dolma, (False, {}))
    shutil.rmtree(home / "attributes")
    assert ran(home, dolma, (True, {})) == theirs


REMEDIES = {
    "a `bloom_filter.file` that the toolkit wrote": _saved_by_the_toolkit,
    "several runs that add to one `bloom_filter.file`": _adding_runs,
    "`dedupe.file_partition` with several partitions": _file_partition,
    "`compression.input`": _packing,
    "keys with wildcards, filters or `..`": _wildcard_key,
    "files whose names begin with a dot, which are not read": _hidden_files,
}


@pytest.mark.slow
@pytest.mark.parametrize("option", REMEDIES)
def test_what_the_page_says_instead_gives_the_rows_of_dolma(dolma: Ask, tmp_path: Path, option: str) -> None:
    write(tmp_path, FILES)
    REMEDIES[option](dolma, tmp_path)


def test_each_remedy_of_the_page_has_its_comparison() -> None:
    page = (ROOT / "docs/how-to/dolma-dedupe.md").read_text()
    _, _, table = page.partition("| option | instead |\n| --- | --- |\n")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("|")]
    assert rows == [*REMEDIES]
