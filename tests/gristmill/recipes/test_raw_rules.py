import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.raw_rules import Everything, Folders, Hashed, Matching, OneToOne, Split


@pytest.mark.parametrize(
    ("rule", "name", "snapshot", "prefix"),
    [
        (Folders(), "2024/a.jsonl", "2024", "2024/"),
        (Folders(), "a.jsonl", None, None),
        (Folders(2), "en/2024/a.jsonl", "en.2024", ""),
        (Folders(2), "en/a.jsonl", None, None),
        (Matching(r"-(?P<snapshot>\d{4})/"), "crawl-2024/a.jsonl", "2024", ""),
        (Matching(r"-(?P<snapshot>\d{4})/"), "crawl/a.jsonl", None, None),
        (Everything(), "a.jsonl", "all", ""),
    ],
)
def test_a_rule_gives_the_snapshot_of_a_name(
    rule: Folders | Matching | Everything, name: str, snapshot: str | None, prefix: str | None
) -> None:
    assert rule.split(name) == (None if snapshot is None else (snapshot, name))
    if snapshot is not None:
        assert rule.prefix(snapshot) == prefix


def test_a_pattern_needs_its_group() -> None:
    with pytest.raises(RecipeError, match=r"Matching: pattern is 'x'; give it a group \(\?P<snapshot>...\)"):
        Matching("x")


@pytest.mark.parametrize("rule", [OneToOne(), Hashed(2), Split()])
@pytest.mark.parametrize("name", ["a\\b", "a\x00b", "/a", "a//b", "a/../b", "a/./b", "a/", "..", ""])
def test_no_rule_takes_a_name_that_no_store_reads(rule: OneToOne | Hashed | Split, name: str) -> None:
    with pytest.raises(DataError, match=r"rename the raw object$"):
        rule.shard(name)
