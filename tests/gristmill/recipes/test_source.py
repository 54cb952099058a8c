from dataclasses import replace

import pytest
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import RecipeError
from gristmill.recipes.source import Hashed, OneToOne, Revision, Source
from gristmill.stages.conversion.step import ConversionStep


def test_hashed_shards_do_not_move_when_others_arrive() -> None:
    rule = Hashed(10)
    before = {name: rule.shard(name) for name in ("a", "b", "c")}
    assert {name: rule.shard(name) for name in ("a", "b", "c", "d")}.items() >= before.items()
    assert {rule.shard(str(n)) for n in range(500)} == {f"{n:02d}" for n in range(10)}


def test_a_source_whose_revisions_skip_a_number_is_refused() -> None:
    with pytest.raises(RecipeError, match="revisions are v2; name them v1, in order"):
        Source(name="a", convert=lambda _: [], revisions=(Revision(version="v2"),))


def test_what_does_not_change_the_output_does_not_change_the_recipe(mill: Mill) -> None:
    source = mill.source()
    same = replace(source, description="words", owners=("team:a",), quarantine_limit=0.5)
    step = ConversionStep(source, SNAPSHOT, SHELVES)
    assert ConversionStep(same, SNAPSHOT, SHELVES).recipe == step.recipe
    other = replace(source, shards=Hashed(2))
    assert ConversionStep(other, SNAPSHOT, SHELVES).recipe != step.recipe
    assert OneToOne().parameters() == ["one-to-one"]


def test_limits_are_checked_and_only_another_row_limit_changes_the_recipe() -> None:
    plain = Source(name="tales", convert=lambda _: [])
    assert replace(plain, unpack_limit=9, quarantine_limit=0.5).conversion_parameters() == plain.conversion_parameters()
    assert replace(plain, row_limit=256 << 20).conversion_parameters() == {"shards": ["one-to-one"], "select": None}
    assert replace(plain, row_limit=1000).conversion_parameters()["row_limit"] == 1000
    for row_limit in (0, (1 << 30) + 1):
        with pytest.raises(RecipeError, match=r"'tales': row_limit is \d+; give 1 to 1073741824 bytes"):
            replace(plain, row_limit=row_limit)
    with pytest.raises(RecipeError, match="'tales': unpack_limit is 0; give 1 or more"):
        replace(plain, unpack_limit=0)


@pytest.mark.parametrize("field", ["raw", "inventory"])
def test_an_address_with_a_password_is_refused_and_not_shown(field: str) -> None:
    with pytest.raises(RecipeError, match=rf"^source 'pages': {field} holds a user or a password") as refused:
        Source(name="pages", convert=list, **{field: "s3://me:hunter2@bucket/raw"})  # type: ignore[arg-type]
    assert "hunter2" not in str(refused.value)
