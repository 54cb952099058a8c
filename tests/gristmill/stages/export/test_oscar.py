from gristmill.recipes.export import Oscar
from gristmill.recipes.export_formats.codec import Cut, ExportedFile, FileFacts, Piece, Release
from gristmill.stages.export.oscar import OscarCodec

FACTS = FileFacts(30, 300, "", (Cut(0, 0, 0), Cut(10, 10, 100), Cut(20, 20, 200)))


def file(part: int, name: str = "en.jsonl.gz") -> ExportedFile:
    return ExportedFile("pages", f"p{part}/{name}", name, "", 30, FACTS)


def names(most: int, *files: ExportedFile) -> dict[str, tuple[Piece, ...]]:
    return {each.name: each.pieces for each in OscarCodec(Oscar(part_bytes=most)).release(files).files}


def test_files_of_one_language_are_joined_in_their_order() -> None:
    found = names(10_000, file(1), file(2), file(1, "fr.jsonl.gz"))
    assert found == {
        "en/en.jsonl.gz": (Piece("p1/en.jsonl.gz", 0, 30, 0, 30), Piece("p2/en.jsonl.gz", 0, 30, 0, 30)),
        "fr/fr.jsonl.gz": (Piece("p1/fr.jsonl.gz", 0, 30, 0, 30),),
    }


def test_spellings_of_one_language_are_one_folder_and_a_single_spelling_is_kept() -> None:
    """On a disk that knows no case, `EN/` and `en/` are one folder."""
    found = names(10_000, file(1, "EN.jsonl.gz"), file(1), file(1, "Fr.jsonl.gz"))
    assert found == {
        "Fr/Fr.jsonl.gz": (Piece("p1/Fr.jsonl.gz", 0, 30, 0, 30),),
        "en/en.jsonl.gz": (Piece("p1/EN.jsonl.gz", 0, 30, 0, 30), Piece("p1/en.jsonl.gz", 0, 30, 0, 30)),
    }


def test_a_part_has_as_many_members_as_fit_and_may_end_inside_an_object() -> None:
    found = names(499, file(1), file(2))
    assert found == {
        "en/en_part_1.jsonl.gz": (Piece("p1/en.jsonl.gz", 0, 30, 0, 30), Piece("p2/en.jsonl.gz", 0, 10, 0, 10)),
        "en/en_part_2.jsonl.gz": (Piece("p2/en.jsonl.gz", 10, 30, 10, 20),),
    }
    assert list(names(600, file(1), file(2))) == ["en/en.jsonl.gz"]
    one_each = names(1, file(1), file(2), *(file(n) for n in range(3, 5)))
    assert [name.removeprefix("en/en_part_") for name in one_each] == [f"{n}.jsonl.gz" for n in range(1, 13)]


def test_splits_stay_apart() -> None:
    train, held = file(1, "train/en.jsonl.gz"), file(1, "validation/en.jsonl.gz")
    assert list(names(1000, train, held)) == ["train/en/en.jsonl.gz", "validation/en/en.jsonl.gz"]


def test_checksums_lie_beside_what_they_name_in_natural_order() -> None:
    release = Release(1, {}, "exports/blend/oscar/index/release-1f/", ())
    beside = OscarCodec(Oscar()).beside(release, {f"en/en_part_{n}.jsonl.gz": "0" * 64 for n in (10, 9, 1)})
    assert list(beside) == ["release-1f/en/en_sha256.txt"]
    order = [line.split(b"  ")[1] for line in beside["release-1f/en/en_sha256.txt"].splitlines()]
    assert order == [b"en_part_1.jsonl.gz", b"en_part_9.jsonl.gz", b"en_part_10.jsonl.gz"]
