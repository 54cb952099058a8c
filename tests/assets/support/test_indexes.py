import dagster as dg
from dagster_kit import (
    BLEND_INDEX,
    TINY_INDEX,
    TINY_LETTERS,
    Works,
    letters,
)


def test_an_index_lists_its_slices_and_what_is_absent(milled: Works) -> None:
    milled.raw(letters(1, source="diary"), source="diary", snapshot="2023")
    milled.arrive("diary")
    done = milled.run("blend_index", None)
    said = done.metadata(BLEND_INDEX)
    assert [(r.data["stream"], r.data["snapshot"], r.data["rows"]) for r in said["slices"].records] == [
        ("letters", "2024", 5)
    ]
    assert said["absent slices"] == "diary/2023"
    tokens = done.metadata(TINY_INDEX)["tokens"]
    assert tokens == milled.refresh().metadata(TINY_LETTERS)["tokens"] > 0


def test_an_index_without_a_slice_is_a_warning_that_names_it_until_the_slice_is_there(milled: Works) -> None:
    milled.know("2023", source="diary")
    check = milled.run("blend_index", None).checks[f"{BLEND_INDEX}:slices_present"]
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.WARN
    assert check.description == "1 slice not made yet: diary/2023"
    milled.instance.delete_dynamic_partition("snapshots/diary", "2023")
    assert milled.run("blend_index", None).checks[f"{BLEND_INDEX}:slices_present"].passed
