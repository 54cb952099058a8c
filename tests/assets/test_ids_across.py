import pytest
from dagster_kit import LETTERS_V0, Works, letters


@pytest.mark.slow
@pytest.mark.parametrize(("second", "passed"), [(4, True), (3, False)])
def test_an_id_in_two_snapshots_fails_the_check_of_a_source_that_accumulates(
    works: Works, second: int, *, passed: bool
) -> None:
    for snapshot, number in (("2024", 3), ("2025", second)):
        works.raw(letters(number), snapshot=snapshot)
        works.arrive("letters")
        assert works.run("letters_journey", snapshot, only=[LETTERS_V0]).success
    done = works.run("ids_across", None)
    check = done.checks[f"{LETTERS_V0}:ids_unique_across"]
    assert (done.success, check.passed, check.blocking) == (True, passed, False)
    assert check.metadata["ids compared"].value == 2
