import pytest

from gristmill.dolma.dedupe.config import DEDUPE_FIELDS, DedupeConfig, NgramOptions, dedupe_config
from gristmill.dolma.tagging.config import read_config
from gristmill.errors import RecipeError

YAML = b"""
documents:
  - s3://ai2-llm/c4/v0/documents/train/*.gz
dedupe:
  name: dedupe_paragraphs
  documents: null
  paragraphs:
    attribute_name: bff_duplicate_paragraph_spans
    by_ngram: {ngram_length: 13, overlap_threshold: 1}
  skip_empty: true
bloom_filter:
  file: /tmp/no.bloom
  read_only: false
  estimated_doc_count: 30000000000
  desired_false_positive_rate: 1e-06
processes: 188
"""
BASE = {"documents": ["a"], "dedupe.paragraphs.attribute_name": "dup"}


def read(data: bytes) -> DedupeConfig:
    return dedupe_config(read_config(data, "c.yaml", DEDUPE_FIELDS))


def test_a_configuration_of_the_toolkit_is_read() -> None:
    assert read(YAML) == DedupeConfig(
        ("s3://ai2-llm/c4/v0/documents/train/*.gz",),
        "dedupe_paragraphs",
        "bff_duplicate_paragraph_spans",
        ngram=NgramOptions(13),
        skip_empty=True,
        bloom_file="/tmp/no.bloom",
    )


def test_without_a_length_there_are_no_ngrams_and_the_attribute_is_the_name() -> None:
    config = dedupe_config({**BASE, "dedupe.paragraphs.by_ngram.stride": 3})
    assert config == DedupeConfig(("a",), "dup", "dup")


def test_the_digest_depends_on_what_changes_marks() -> None:
    base = dedupe_config(BASE)
    assert base.digest == dedupe_config({**BASE, "documents": ["b"], "dryrun": True, "dedupe.name": "n"}).digest
    assert base.digest == dedupe_config({**BASE, "bloom_filter.file": "b", "bloom_filter.read_only": False}).digest
    assert base.digest != dedupe_config({**BASE, "dedupe.skip_empty": True}).digest
    assert base.digest != dedupe_config({**BASE, "bloom_filter.file": "b", "bloom_filter.read_only": True}).digest


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dedupe.paragraphs.attribute_name": "d"}, "documents: give at least one"),
        ({"documents": ["a"]}, "give either dedupe.documents or dedupe.paragraphs"),
        ({**BASE, "dedupe.documents.key": "$.id"}, "give either dedupe.documents or dedupe.paragraphs"),
        ({"documents": ["a"], "dedupe.documents.attribute_name": "d"}, "dedupe.documents.key: give it"),
        ({"documents": ["a"], "dedupe.documents.key": "$.id"}, "dedupe.documents.attribute_name: give it"),
        ({**BASE, "dedupe.min_length": -1}, "dedupe.min_length: -1 is less than 0"),
        ({**BASE, "dedupe.paragraphs.paragraph_separator": ""}, "paragraph_separator: it is empty"),
        ({**BASE, "dedupe.num_partitions": 2, "dedupe.partition_index": 2}, "dedupe.partition_index: 2; give one"),
        ({**BASE, "dedupe.num_partitions": 2, "dedupe.file_partition": True}, "dedupe.file_partition"),
        ({**BASE, "dedupe.name": "../x"}, "is not a name"),
        ({"documents": ["a"], "dedupe.paragraphs.attribute_name": "../../x"}, "'../../x' is not a name"),
        ({**BASE, "dedupe.name": "a\0"}, "dedupe.name: 'a.x00' has a NUL"),
        ({**BASE, "documents": ["a\ud800"]}, "documents: .* has a lone surrogate"),
        ({**BASE, "dedupe.min_length": 10**30}, "dedupe.min_length: 10+ is more than"),
        ({"documents": ["a"], "dedupe.documents.attribute_name": "d", "dedupe.documents.key": f"$[{10**30}]"}, "key: "),
        ({**BASE, "compression.output": "bz2"}, "give gz or zst"),
        ({**BASE, "compression.input": "gz"}, "compression.input: the ending"),
        ({**BASE, "bloom_filter.read_only": True}, "give the file that a run with `read_only: false` wrote"),
    ],
)
def test_what_cannot_be_done_is_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        dedupe_config(fields)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"dedupe: {nme: x}", "unknown key 'dedupe.nme'; did you mean 'dedupe.name'"),
        (b"dedupe: 3", "unknown key 'dedupe'"),
        (b"bloom_filter: {desired_false_positive_rate: low}", "'low' is not a number"),
    ],
)
def test_what_the_toolkit_does_not_know_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        read(data)
