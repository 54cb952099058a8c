"""The configuration of `dolma dedupe`, as the toolkit's file and its options give it.

Source: github.com/allenai/dolma, release 1.2.1, `cli/deduper.py` (DeduperConfig).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gristmill.dolma.dedupe.key_path import KeyPath
from gristmill.dolma.tagging.config import check_values
from gristmill.errors import RecipeError
from gristmill.lake.identity import digest_of

VERSION = 1
"""Of the marks. Raised when any changes."""

DEDUPE_FIELDS: Mapping[str, type] = {
    "documents": list,
    "processes": int,
    "dryrun": bool,
    "is_s3_volume": bool,
    "dedupe.name": str,
    "dedupe.documents.attribute_name": str,
    "dedupe.documents.key": str,
    "dedupe.paragraphs.attribute_name": str,
    "dedupe.paragraphs.paragraph_separator": str,
    "dedupe.paragraphs.by_ngram.ngram_length": int,
    "dedupe.paragraphs.by_ngram.stride": int,
    "dedupe.paragraphs.by_ngram.overlap_threshold": float,
    "dedupe.paragraphs.by_ngram.skip_short_paragraphs": bool,
    "dedupe.skip_empty": bool,
    "dedupe.min_length": int,
    "dedupe.min_words": int,
    "dedupe.num_partitions": int,
    "dedupe.partition_index": int,
    "dedupe.file_partition": bool,
    "dedupe.document_dir": str,
    "bloom_filter.file": str,
    "bloom_filter.read_only": bool,
    "bloom_filter.size_in_bytes": int,
    "bloom_filter.estimated_doc_count": int,
    "bloom_filter.desired_false_positive_rate": float,
    "compression.input": str,
    "compression.output": str,
    "work_dir.input": str,
    "work_dir.output": str,
}
"""The toolkit's options, a dot between the parts of a name."""

UNNEEDED = (
    "bloom_filter.size_in_bytes",
    "bloom_filter.estimated_doc_count",
    "bloom_filter.desired_false_positive_rate",
    "processes",
    "is_s3_volume",
    "work_dir.input",
    "work_dir.output",
)
"""Options that are accepted and change nothing: keys are compared exactly, by one process, in the files' order."""

PACKINGS = {"gz": ".gz", "zst": ".zst"}

_DOCUMENTS, _PARAGRAPHS, _NGRAM = "dedupe.documents.", "dedupe.paragraphs.", "dedupe.paragraphs.by_ngram."


@dataclass(frozen=True)
class NgramOptions:
    """How paragraphs are compared by their n-grams; as `by_ngram` in the toolkit.

    Attributes:
        length: words in an n-gram.
        stride: least words between the beginnings of two n-grams.
        threshold: least share of n-grams that occurred before.
        skip_short: whether paragraphs with fewer than two n-grams are not compared as a whole.
    """

    length: int
    stride: int = 0
    threshold: float = 1.0
    skip_short: bool = False


@dataclass(frozen=True)
class DedupeConfig:
    """What is compared, and how.

    Attributes:
        documents: paths or patterns of files, folders or addresses in a bucket, in the order of comparison.
        name: the folder below `attributes`, without the number of the partition.
        attribute: the key of the attribute, without the number of the partition.
        key: path of the documents' key; None: paragraphs are compared.
        separator: between two paragraphs.
        ngram: options for comparing n-grams of paragraphs; None: whole paragraphs are compared.
        skip_empty: whether keys and paragraphs of white space are left out.
        min_length: the shortest that are compared: bytes of a key, code points of a paragraph.
        min_words: the least words; see gristmill.dolma.dedupe.units.
        partitions: number of parts into which the work is divided.
        partition: index of the part that is done.
        document_dir: the folder's name that `attributes/<name>` replaces.
        packing: ending of the packing of the attributes, such as `.gz`; empty: that of the documents.
        bloom_file: path of the file with the keys, in place of the toolkit's Bloom filter; empty: not given.
        read_only: whether documents are compared with the keys of `bloom_file`, and not with each other.
        dryrun: whether nothing is done.
    """

    documents: tuple[str, ...]
    name: str
    attribute: str
    key: KeyPath | None = None
    separator: str = "\n"
    ngram: NgramOptions | None = None
    skip_empty: bool = False
    min_length: int = 0
    min_words: int = 0
    partitions: int = 1
    partition: int = 0
    document_dir: str = "documents"
    packing: str = ""
    bloom_file: str = ""
    read_only: bool = False
    dryrun: bool = False

    def numbered_name(self, name: str) -> str:
        """A name with the number of the partition, if there are several."""
        return f"{name}_{self.partition}" if self.partitions > 1 else name

    @property
    def digest(self) -> str:
        """The digest that identifies the marks, besides the documents."""
        left_out = ("documents", "name", "document_dir", "bloom_file", "read_only", "dryrun")
        options = {name: value for name, value in asdict(self).items() if name not in left_out}
        options |= {"read_only": True} if self.read_only else {}
        return digest_of([VERSION, options])[:16]


def dedupe_config(fields: Mapping[str, Any]) -> DedupeConfig:
    """The configuration of the merged fields of file and options.

    Args:
        fields: values by the names of DEDUPE_FIELDS; null is the default.

    Raises:
        RecipeError: a field is missing, or asks for what only the toolkit itself can do.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    check_values(given)
    _check_configuration(given)
    _check_bloom(given)
    by_key = any(key.startswith(_DOCUMENTS) for key in given)
    above = _DOCUMENTS if by_key else _PARAGRAPHS
    attribute = given[f"{above}attribute_name"]
    return DedupeConfig(
        documents=tuple(given["documents"]),
        name=given.get("dedupe.name") or attribute,
        attribute=attribute,
        key=KeyPath.parse(given[f"{_DOCUMENTS}key"]) if by_key else None,
        separator=given.get(f"{_PARAGRAPHS}paragraph_separator", "\n"),
        ngram=None if by_key else _ngram_options(given),
        skip_empty=given.get("dedupe.skip_empty", False),
        min_length=given.get("dedupe.min_length", 0),
        min_words=given.get("dedupe.min_words", 0),
        partitions=given.get("dedupe.num_partitions", 1),
        partition=given.get("dedupe.partition_index", 0),
        document_dir=given.get("dedupe.document_dir", "documents"),
        packing=PACKINGS.get(given.get("compression.output", ""), ""),
        bloom_file=given.get("bloom_filter.file", ""),
        read_only=given.get("bloom_filter.read_only", False),
        dryrun=given.get("dryrun", False),
    )


def _ngram_options(given: Mapping[str, Any]) -> NgramOptions | None:
    if not given.get(f"{_NGRAM}ngram_length"):
        return None
    return NgramOptions(
        given[f"{_NGRAM}ngram_length"],
        given.get(f"{_NGRAM}stride", 0),
        given.get(f"{_NGRAM}overlap_threshold", 1.0),
        given.get(f"{_NGRAM}skip_short_paragraphs", False),
    )


def _check_configuration(given: Mapping[str, Any]) -> None:
    if not given.get("documents"):
        raise RecipeError("documents: give at least one, in the configuration or by --documents")
    units = [above for above in (_DOCUMENTS, _PARAGRAPHS) if any(key.startswith(above) for key in given)]
    if len(units) != 1:
        raise RecipeError("dedupe: give either dedupe.documents or dedupe.paragraphs; the toolkit takes one of them")
    needed = [f"{units[0]}attribute_name", *([f"{_DOCUMENTS}key"] if units[0] == _DOCUMENTS else [])]
    for key in needed:
        if not given.get(key):
            raise RecipeError(f"{key}: give it, in the configuration or by --{key}")
    for key, value in given.items():
        if isinstance(value, int) and value < 0:
            raise RecipeError(f"{key}: {value} is less than 0")
    if given.get(f"{_PARAGRAPHS}paragraph_separator") == "":
        raise RecipeError(f"{_PARAGRAPHS}paragraph_separator: it is empty; give one character or more")
    _check_places(given)


def _check_places(given: Mapping[str, Any]) -> None:
    partitions, partition = given.get("dedupe.num_partitions", 1), given.get("dedupe.partition_index", 0)
    if not 0 <= partition < partitions:
        raise RecipeError(
            f"dedupe.partition_index: {partition}; give one from 0 to before {partitions}, the partitions"
        )
    if given.get("dedupe.file_partition") and partitions > 1:
        raise RecipeError(
            "dedupe.file_partition: the toolkit chooses files by a hash of their paths that is not published; give"
            " each run its own documents instead"
        )
    attribute = given.get(f"{_DOCUMENTS}attribute_name") or given[f"{_PARAGRAPHS}attribute_name"]
    name = given.get("dedupe.name") or attribute
    if not all(part not in {"", ".", ".."} for part in name.split("/")):
        raise RecipeError(f"dedupe.name: {name!r} is not a name; it becomes the name of a folder; give another")
    packing = given.get("compression.output", "gz")
    if packing not in PACKINGS:
        raise RecipeError(f"compression.output: {packing!r} is not supported; give gz or zst, or leave it out")
    if given.get("compression.input"):
        raise RecipeError(
            "compression.input: the ending of a file's name says how it is packed; rename the files, and leave it out"
        )


def _check_bloom(given: Mapping[str, Any]) -> None:
    if given.get("bloom_filter.read_only") and not given.get("bloom_filter.file"):
        raise RecipeError(
            "bloom_filter.file: give the file that a run with `read_only: false` wrote (docs/how-to/dolma-dedupe.md)"
        )
