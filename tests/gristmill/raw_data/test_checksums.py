import hashlib
import re
from dataclasses import replace

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, make_documents, packed

from gristmill.errors import DataError, RecipeError
from gristmill.execution.checks import Verdict
from gristmill.execution.survey import survey_step
from gristmill.lake.address import raw_folder
from gristmill.raw_data.checksums import compare_checksums
from gristmill.raw_data.listing import list_raw
from gristmill.raw_data.scan import scan_raw
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep

PATTERN = r"(^|/)(SHA256SUMS|[a-z]+_sha256\.txt|checksum\.sha384)$"
NAMES = ("en/en_part_1.jsonl.gz", "en/en_part_2.jsonl.gz", "en/en_part_10.jsonl.gz", "fr/fr.jsonl.gz")
DATA = {name: packed(make_documents(5, start=5 * number)) for number, name in enumerate(NAMES)}


def sums(*names: str, algorithm: str = "sha256", below: str = "en/") -> bytes:
    lines = (f"{hashlib.new(algorithm, DATA[name]).hexdigest()}  {name.removeprefix(below)}\n" for name in names)
    return "".join(lines).encode()


@pytest.fixture
def source(mill: Mill) -> Source:
    for name, data in DATA.items():
        mill.raw(name, data)
    mill.raw("en/en_sha256.txt", sums(*NAMES[:3]))
    mill.raw("fr/fr_sha256.txt", sums(NAMES[3], below="fr/"))
    return replace(mill.source(), checksums=PATTERN)


def step(source: Source) -> ConversionStep:
    return ConversionStep(source, SNAPSHOT, SHELVES)


def verdict(mill: Mill, source: Source) -> Verdict:
    """What the check says of the table that is there."""
    partition = mill.documents()
    return step(source).checks(partition.asset)["checksums_match"](
        mill.store, partition, list(mill.table(partition).values())
    )


def test_checksum_files_are_no_data_and_every_object_has_its_hash(mill: Mill, source: Source) -> None:
    assert sorted(list_raw(source, mill.store, SNAPSHOT).entries) == sorted(NAMES)
    scan = scan_raw(source, mill.store)
    assert (scan.seen[SNAPSHOT].objects, scan.unmatched) == (4, {})
    mill.make(step(source))
    found = verdict(mill, source)
    assert found.passed
    assert found.description == "4 raw objects have the hashes that 2 checksum files name"
    assert found.metadata["compared"] == 4


def test_without_checksums_in_the_recipe_nothing_is_compared(mill: Mill) -> None:
    assert list(mill.conversion().checks("sources/pages/v0/documents")) == ["ids_unique"]


def test_one_other_byte_stops_the_snapshot_and_names_the_object(mill: Mill, source: Source) -> None:
    mill.raw(NAMES[1], packed(make_documents(5, start=100)))
    wrong = hashlib.sha256(packed(make_documents(5, start=100))).hexdigest()
    with pytest.raises(DataError, match="wrong checksum: en/en_part_2") as error:
        mill.make(step(source))
    right = hashlib.sha256(DATA[NAMES[1]]).hexdigest()
    assert f"en/en_part_2.jsonl.gz has sha256 {wrong}, but en/en_sha256.txt says {right}" in str(error.value)
    assert mill.store.head(mill.documents().ledger) is None
    mill.raw(NAMES[1], DATA[NAMES[1]])
    assert mill.make(step(source)).totals["rows"] == 20


def test_only_the_object_that_was_wrong_is_ground_again(mill: Mill, source: Source) -> None:
    mill.raw("en/en_sha256.txt", sums(*NAMES[:2]) + b"0" * 64 + b"  en_part_10.jsonl.gz\n")
    with pytest.raises(DataError, match=r"en/en_part_10\.jsonl\.gz has sha256"):
        mill.make(step(source))
    mill.raw("en/en_sha256.txt", sums(*NAMES[:3]))
    mill.make(step(source))
    assert mill.ground == ["en/en_part_10"]


@pytest.mark.parametrize("algorithm", ["sha256", "sha384"])
def test_a_wrong_object_does_not_replace_the_shard_that_was_made_before(
    mill: Mill, source: Source, algorithm: str
) -> None:
    for name in ("en/en_sha256.txt", "fr/fr_sha256.txt"):
        mill.store.delete([f"sources/pages/raw/{SNAPSHOT}/{name}"])
    mill.raw("checksum.sha384", sums(*NAMES, algorithm=algorithm, below=""))
    mill.make(step(source))
    shard = mill.documents().shard("fr/fr")
    before = mill.store.read(shard)
    mill.raw(NAMES[3], packed(make_documents(5, start=100)))
    with pytest.raises(DataError, match=rf"sources/pages/raw/2024: wrong checksum: {NAMES[3]} has {algorithm} "):
        mill.make(step(source))
    assert mill.store.read(shard) == before
    mill.raw(NAMES[3], DATA[NAMES[3]])
    mill.make(step(source))
    assert mill.store.read(shard) == before


def test_what_a_checksum_file_names_must_be_there(mill: Mill, source: Source) -> None:
    mill.raw("en/en_sha256.txt", sums(*NAMES[:3]) + b"0" * 64 + b"  en_part_11.jsonl.gz\n")
    with pytest.raises(
        DataError,
        match=r"not published: checksums_match: 1 checksums are of no object in the snapshot: en/en_part_11\.jsonl\.gz"
        r" \(in en/en_sha256\.txt\); download what is missing, or remove its line from the checksum file$",
    ):
        mill.make(step(source))
    assert mill.store.head(mill.documents().ledger) is None
    mill.raw("en/en_sha256.txt", sums(*NAMES[:3]))
    mill.make(step(source))


@pytest.mark.parametrize(
    ("name", "told"),
    [("../../2023/en/en_part_1.jsonl.gz", "../2023/en/en_part_1"), ("/etc/passwd", "/etc/passwd (in en/en_sha256")],
)
def test_what_leads_out_of_the_snapshot_is_absent(mill: Mill, source: Source, name: str, told: str) -> None:
    mill.raw("en/en_sha256.txt", sums(*NAMES[:3]) + b"0" * 64 + f"  {name}\n".encode())
    with pytest.raises(DataError, match=re.escape(f"1 checksums are of no object in the snapshot: {told}")):
        mill.make(step(replace(source, select=r"\.gz$")))


def test_parts_that_select_leaves_out_are_told(mill: Mill, source: Source) -> None:
    mill.raw("en/en_sha256.txt", sums(*NAMES[:3]) + b"0" * 64 + b"  en_part_11.jsonl.gz\n")
    only = replace(source, select=r"^fr/|part_[12]\.")
    mill.make(step(only))
    assert verdict(mill, only).description == (
        "3 raw objects have the hashes that 2 checksum files name; 2 checksums are of what the source does not read:"
        " en/en_part_10.jsonl.gz, en/en_part_11.jsonl.gz"
    )


def test_an_object_without_a_line_in_the_checksum_file_of_its_folder_is_not_proven(mill: Mill, source: Source) -> None:
    mill.raw("en/en_sha256.txt", sums(NAMES[1]))
    with pytest.raises(
        DataError,
        match=r"2 objects have no line in the checksum files of their folders: en/en_part_1\.jsonl\.gz,"
        r" en/en_part_10\.jsonl\.gz; add the lines, or leave the objects out by select$",
    ):
        mill.make(step(source))


def test_a_checksum_file_counts_for_the_folders_below_and_for_no_other(mill: Mill, source: Source) -> None:
    mill.store.delete([f"sources/pages/raw/{SNAPSHOT}/fr/fr_sha256.txt"])
    mill.make(step(source))
    assert verdict(mill, source).description == (
        "3 raw objects have the hashes that 1 checksum files name; 1 are in folders without a checksum file:"
        " fr/fr.jsonl.gz"
    )
    mill.raw("SHA256SUMS", sums(NAMES[0], below=""))
    assert verdict(mill, source).description.startswith("1 objects have no line in the checksum files of their folders")


def test_a_changed_checksum_file_alone_is_compared_again(mill: Mill, source: Source) -> None:
    """Whatever the algorithm: the digests of the files are compared, and no object is read for it."""
    mill.make(step(source))
    assert survey_step(step(source), mill.store)[0].finished
    lines = sums(*NAMES, algorithm="sha384", below="")
    mill.raw("checksum.sha384", b"0" * 96 + lines[96:])
    (found,) = survey_step(step(source), mill.store)
    assert (found.finished, found.kept, found.why) == (False, 4, ("the checksum files changed; compare again",))
    before = mill.store.read(mill.documents().ledger)
    with pytest.raises(DataError, match=r"not published: checksums_match: .*en_part_1\.jsonl\.gz has sha384"):
        mill.make(step(source))
    mill.raw("checksum.sha384", lines)
    mill.make(step(source))
    assert (mill.ground, mill.store.read(mill.documents().ledger)) == ([], before)
    assert survey_step(step(source), mill.store)[0].finished


def test_checksums_that_are_new_in_the_recipe_are_compared(mill: Mill, source: Source) -> None:
    without = replace(source, checksums=None, select=r"\.gz$")
    mill.make(step(without))
    asked = replace(source, select=r"\.gz$")
    assert survey_step(step(asked), mill.store)[0].why == ("not compared with checksum files yet",)
    mill.make(step(asked))
    assert survey_step(step(asked), mill.store)[0].finished
    assert survey_step(step(without), mill.store)[0].finished


def test_a_changed_checksum_file_is_another_raw_version(mill: Mill, source: Source) -> None:
    before = scan_raw(source, mill.store).seen[SNAPSHOT]
    mill.raw("fr/fr_sha256.txt", b"")
    after = scan_raw(source, mill.store).seen[SNAPSHOT]
    assert before.version != after.version
    assert (before.objects, before.bytes) == (after.objects, after.bytes)


def test_a_recipe_that_asks_for_checksums_needs_a_checksum_file(mill: Mill, source: Source) -> None:
    none = replace(source, checksums=r"\.sums$", select=r"\.gz$")
    with pytest.raises(DataError, match=r"no raw object of the snapshot is a checksum file"):
        step(none).plan(mill.store)  # no shard is ground first
    mill.raw("a.sums", "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in DATA.items()).encode())
    assert mill.make(step(none)).totals["rows"] == 20
    mill.store.delete([f"{raw_folder('pages', SNAPSHOT)}a.sums"])
    with pytest.raises(DataError, match=r"no raw object of the snapshot is a checksum file"):
        step(none).plan(mill.store)


def test_what_the_source_does_not_read_is_not_compared(mill: Mill, source: Source) -> None:
    mill.raw("fr/fr_sha256.txt", b"0" * 64 + b"  fr.jsonl.gz\n")
    only = replace(source, select="^en/")
    mill.make(step(only))
    assert verdict(mill, only).metadata["compared"] == 3


def test_another_algorithm_is_computed_from_the_bytes(mill: Mill, source: Source) -> None:
    mill.raw("checksum.sha384", sums(*NAMES, algorithm="sha384", below=""))
    mill.make(step(source))
    assert verdict(mill, source).passed
    lines = sums(*NAMES, algorithm="sha384", below="").splitlines(keepends=True)
    mill.raw("checksum.sha384", b"".join([b"0" * 96 + lines[0][96:], *lines[1:]]))
    assert r"en/en_part_1.jsonl.gz has sha384" in verdict(mill, source).description


def test_an_object_that_was_not_hashed_as_a_whole_is_read(mill: Mill, source: Source) -> None:
    found = compare_checksums(source, mill.store, SNAPSHOT, {})
    assert found.compared == list(NAMES)  # in natural order
    assert found.wrong == []
    wrong = compare_checksums(source, mill.store, SNAPSHOT, {NAMES[0]: "0" * 64})
    assert len(wrong.wrong) == 1


def test_a_snapshot_that_has_vanished_needs_no_checksums(mill: Mill, source: Source) -> None:
    mill.make(step(source))
    for name in (*NAMES, "en/en_sha256.txt", "fr/fr_sha256.txt"):
        mill.store.delete([f"sources/pages/raw/{SNAPSHOT}/{name}"])
    ledger = mill.make(replace(step(source), vanished=True))
    assert ledger.totals["rows"] == 0


@pytest.mark.parametrize(("data", "words"), [(b"no checksum\n", "line 1"), (b"\xff", "not UTF-8")])
def test_a_file_that_holds_no_checksums_is_an_error(mill: Mill, source: Source, data: bytes, words: str) -> None:
    mill.raw("en/en_sha256.txt", data)
    with pytest.raises(DataError, match=rf"sources/pages/raw/2024/en/en_sha256\.txt.*{words}"):
        mill.make(step(source))


def test_a_file_too_large_for_checksums_is_an_error(
    mill: Mill, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.raw_data.checksums._MOST", 10)
    with pytest.raises(DataError, match=r"en_sha256\.txt: \d+ bytes, but a checksum file has at most 10; correct"):
        mill.make(step(source))


def test_the_pattern_is_checked() -> None:
    with pytest.raises(RecipeError, match="source 'a': checksums"):
        Source(name="a", convert=lambda _: (), checksums="(")
