import pytest

from gristmill.energon.preparing import splits as module
from gristmill.energon.preparing.splits import make_splits, parse_split_parts, parse_split_ratio
from gristmill.errors import RecipeError

SHARDS = [f"shards/{name}.tar" for name in ("train_0", "train_1", "val_0")]


def flaws(ratio: str = "", *patterns: str, shards: list[str] = SHARDS) -> list[tuple[str, str, bool]]:
    found = make_splits(shards, parse_split_ratio(ratio) if ratio else {}, parse_split_parts(patterns), shuffle=False)[
        1
    ]
    return [(flaw.path, flaw.what, flaw.warning) for flaw in found]


@pytest.mark.parametrize("text", ["8,1", "8,1,1,1", "a,b,c", "0,0,0", "-1,1,1", "nan,1,1", "inf,1,1", ""])
def test_ratios_that_are_no_three_shares_are_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="shares of train, val and test"):
        parse_split_ratio(text)


@pytest.mark.parametrize("texts", [["train"], [":x"], ["train:"], ["a:x", "a:y"]])
def test_patterns_without_a_name_or_twice_are_refused(texts: list[str]) -> None:
    with pytest.raises(RecipeError, match="--split-parts"):
        parse_split_parts(texts)


def test_a_pattern_may_hold_colons() -> None:
    assert parse_split_parts(["train:a:.*"]) == [("train", "a:.*")]


def test_a_shard_goes_to_the_split_whose_pattern_its_path_begins_with() -> None:
    made, found = make_splits(SHARDS, {}, [("train", "shards/train"), ("val", "shards/val_.*")], shuffle=False)
    assert made == {"train": SHARDS[:2], "val": SHARDS[2:]}
    assert found == []


def test_a_glob_in_place_of_a_pattern_is_told() -> None:
    assert flaws("", "train:shards/.*", "val:val*") == [
        (".nv-meta/split.yaml", "no shard is in split 'val': none begins with 'val*'", False)
    ]


def test_a_repetition_in_a_pattern_is_told_for_braces_are_lists() -> None:
    found = make_splits(SHARDS[:1], {}, [("train", r"shards/train_\d{1}")], shuffle=False)[1]
    assert "braces are lists" in found[0].mend
    assert make_splits(SHARDS, {}, [("train", "shards/train_{0..1}"), ("val", ".*val")], shuffle=False)[1] == []


def test_no_share_for_train_is_a_warning() -> None:
    empty = (".nv-meta/split.yaml", "split 'train' is empty, as asked", True)
    assert flaws("0,1,0") == [empty]
    assert flaws("", "val:.*") == [empty]


def test_shards_in_no_split_and_in_two_are_named() -> None:
    assert flaws("", "train:shards/train_0", "val:shards/.*_0") == [
        ("shards/train_1.tar", "it is in no split", False),
        ("shards/train_0.tar", "it is in split 'train' and in 'val'", False),
    ]
    many = [f"{number}.tar" for number in range(10)]
    assert [path for path, _, _ in flaws("", "train:0", shards=many)][-1] == ".nv-meta/split.yaml"
    assert "4 more shards are in no split" in flaws("", "train:0", shards=many)[-1][1]


def test_the_rounding_of_the_real_tool_is_told_with_a_ratio_that_is_right() -> None:
    many = [f"{number}.tar" for number in range(13)]
    assert flaws("7,2,1", shards=many) == [("12.tar", "it is in no split", False)]
    [flaw] = make_splits(many, parse_split_ratio("7,2,1"), [], shuffle=False)[1]
    assert "0.7,0.2,0.1 for 7,2,1" in flaw.mend
    assert flaws("0.7,0.2,0.1", shards=many) == []


def test_one_shard_by_ratio_leaves_train_empty_which_is_no_warning() -> None:
    assert [(what.partition(":")[0], warning) for _, what, warning in flaws("8,1,1", shards=SHARDS[:1])] == [
        ("split 'train' is empty", False),
        ("split 'val' is empty", True),
    ]
    assert flaws("1,0,0", shards=SHARDS[:1]) == []


def test_the_shard_that_rounding_leaves_out_is_named() -> None:
    assert flaws("1,6,2", shards=[f"{number}.tar" for number in range(9)])[0][:2] == ("8.tar", "it is in no split")


def test_more_shards_than_advised_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SHARDS", 2)
    assert flaws("1,0,0") == [(".nv-meta/split.yaml", "3 shards; the specification advises at most 2", True)]
