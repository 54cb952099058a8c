from dagster_kit import (
    COUNT_V0,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    Works,
    letter,
    letters,
)

from gristmill.lake.address import place


def test_one_set_alone_can_be_asked_for(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0, COUNT_V0, LETTERS_V1]).success
    done = works.run("letters_journey", only=[COUNT_V1])
    assert done.success
    assert set(done.made) == {COUNT_V1}
    assert set(done.checks) == {f"{COUNT_V1}:row_alignment"}
    assert works.ledger(MOODY_V1) is None
    rest = works.run("letters_journey", only=[MOODY_V1])
    assert set(rest.made) == {MOODY_V1}


def test_a_failing_tagger_leaves_the_other_sets_and_is_named_with_shard_and_row(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "RAISE hell")])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    assert set(done.made) == set(JOURNEY) - {MOODY_V1}
    assert works.ledger(MOODY_V1) is None
    [(step, said)] = done.failures.items()
    assert step == "sources__letters__v1__attributes.commit_moody_1"
    assert said.startswith(f"{MOODY_V1} (2024): ")
    assert f"{place(MOODY_V1, '2024').shard('a')}: tagger 'moody-1' on row 1 (id 'letter-2')" in said
    assert "LookupError: letter-2" in said
