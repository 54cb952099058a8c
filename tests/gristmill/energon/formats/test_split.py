import pytest

from gristmill.energon.formats.split import (
    read_split,
    shards_without_split,
    split_by_pattern,
    split_by_ratio,
    split_bytes,
)
from gristmill.errors import DataError, RecipeError

SHARDS = [f"shards/{number:03}.tar" for number in range(10)]
EIGHT_ONE_ONE = {"train": 8, "val": 1, "test": 1}


def test_ratios_cut_the_list_in_order() -> None:
    splits = split_by_ratio(SHARDS, EIGHT_ONE_ONE)
    assert splits == {"train": SHARDS[:8], "val": SHARDS[8:9], "test": SHARDS[9:]}
    assert shards_without_split(SHARDS, splits) == []


def test_one_shard_goes_to_the_last_split_as_in_the_real_tool() -> None:
    assert split_by_ratio(SHARDS[:1], EIGHT_ONE_ONE) == {"train": [], "val": [], "test": SHARDS[:1]}


def test_rounding_may_leave_the_last_shard_in_no_split_as_in_the_real_tool() -> None:
    splits = split_by_ratio(SHARDS, {"train": 1, "val": 6, "test": 2})
    assert shards_without_split(SHARDS, splits) == SHARDS[-1:]


def test_shuffled_shards_always_come_in_the_same_order() -> None:
    order = split_by_ratio(SHARDS, {"train": 1}, shuffle=True)["train"]
    assert [int(name[7:10]) for name in order] == [7, 3, 2, 8, 5, 6, 9, 4, 0, 1]


@pytest.mark.parametrize("ratios", [{}, {"train": 0}, {"train": 1, "val": -1}, {"train": float("nan")}])
def test_ratios_that_are_not_valid_are_refused(ratios: dict[str, float]) -> None:
    with pytest.raises(RecipeError, match="give ratios"):
        split_by_ratio(SHARDS, ratios)


def test_patterns_are_regular_expressions_at_the_start() -> None:
    shards = ["train_a/0.tar", "val/0.tar", "old/val/0.tar"]
    assert split_by_pattern(shards, [("train", "train_{a,b}/.*"), ("val", "val/.*"), ("glob", "*_[")][:2]) == {
        "train": ["train_a/0.tar"],
        "val": ["val/0.tar"],
    }
    assert shards_without_split(shards, {"train": ["train_a/0.tar"], "val": ["val/0.tar"]}) == ["old/val/0.tar"]


@pytest.mark.parametrize("pattern", ["*.tar", "{a"])
def test_patterns_that_are_not_valid_are_refused(pattern: str) -> None:
    with pytest.raises(RecipeError, match="split 'train'"):
        split_by_pattern(SHARDS, [("train", pattern)])


def test_the_file_is_that_of_the_real_tool() -> None:
    data = split_bytes(split_by_ratio(SHARDS, {"train": 9, "val": 1, "test": 0}))
    assert data.decode() == (
        "split_parts:\n  train:\n  - shards/{000..008}.tar\n  val:\n  - shards/009.tar\n  test: []\nexclude: []\n"
    )


def test_a_file_is_read_without_braces() -> None:
    data = split_bytes({"train": SHARDS}, exclude=["shards/000.tar/a", "shards/001.tar"])
    split = read_split(data, "split.yaml")
    assert split.split_parts == {"train": SHARDS}
    assert split.exclude == ["shards/000.tar/a", "shards/001.tar"]
    assert read_split(b'{"split_parts": {"train": []}}', "split.json").exclude == []


@pytest.mark.parametrize(
    "data", [b"exclude: []", b"split_parts: []", b"split_parts: {a: ['{']}", b"split_parts: {}\nours: 1", b"x: ["]
)
def test_what_energon_refuses_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^split\.yaml: "):
        read_split(data, "split.yaml")
