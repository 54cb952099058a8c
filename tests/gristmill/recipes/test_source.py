from dataclasses import replace
from typing import Any

import pytest
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import RecipeError
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Hashed, OneToOne, RawRoot, Revision, Source
from gristmill.stages.conversion.step import ConversionStep

WORDS = score("count-1__words", "words")


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
    words: dict[str, Any] = {
        "description": "words",
        "terms": "words",
        "homepage": "https://example.org/a",
        "changes": "words",
    }
    same = replace(source, **words, licence="MIT", owners=("team:a",), quarantine_limit=0.5)
    step = ConversionStep(source, SNAPSHOT, SHELVES)
    assert ConversionStep(same, SNAPSHOT, SHELVES).recipe == step.recipe
    other = replace(source, shards=Hashed(2))
    assert ConversionStep(other, SNAPSHOT, SHELVES).recipe != step.recipe
    assert OneToOne().parameters() == ["one-to-one"]


def test_the_history_says_of_each_version_what_changed_and_why() -> None:
    short = Rule("short", "words < 2", "one word says nothing")
    first = Revision(version="v1", description="Letters that say something", exclude=(short,), columns=(WORDS,))
    source = Source(name="a", convert=lambda _: [], changes="line ends", revisions=(first, Revision(version="v2")))
    assert source.history == (
        ("v0", "line ends"),
        ("v1", "Letters that say something; short: one word says nothing"),
        ("v2", ""),
    )


@pytest.mark.parametrize("given", ["example.org", "ftp://example.org", "https://", "https://a b", "see https://a.org"])
def test_a_homepage_is_an_address(given: str) -> None:
    with pytest.raises(RecipeError, match=r"source 'a': homepage is .*; give an address, https://"):
        Source(name="a", convert=lambda _: [], homepage=given)


def test_limits_are_checked_and_only_another_row_limit_changes_the_recipe() -> None:
    plain = Source(name="tales", convert=lambda _: [])
    assert replace(plain, unpack_limit=9, quarantine_limit=0.5).conversion_parameters() == plain.conversion_parameters()
    assert replace(plain, row_limit=256 << 20).conversion_parameters() == {"shards": ["one-to-one"], "select": None}
    assert replace(plain, row_limit=1000).conversion_parameters()["row_limit"] == 1000
    for row_limit in (0, (1 << 30) + 1):
        with pytest.raises(RecipeError, match=r"'tales': row_limit is \d+; give at least 1 and at most 1073741824"):
            replace(plain, row_limit=row_limit)
    with pytest.raises(RecipeError, match="'tales': unpack_limit is 0; give at least 1"):
        replace(plain, unpack_limit=0)


@pytest.mark.parametrize("field", ["raw", "inventory"])
def test_an_address_with_a_password_is_refused_and_not_shown(field: str) -> None:
    with pytest.raises(RecipeError, match=rf"^source 'pages': {field} holds a user or a password") as refused:
        Source(name="pages", convert=list, **{field: "s3://me:hunter2@bucket/raw"})  # type: ignore[arg-type]
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": ""}, "the url is empty; give a folder or s3://bucket/prefix"),
        ({"url": "gs://corpus"}, "RawRoot: url is 'gs://corpus'; give a folder or s3://bucket/prefix"),
        ({"url": "/data", "anonymous": True}, r"a folder has no such options; give its path alone"),
        ({"url": "s3://b", "endpoint": "minio"}, "endpoint is no address of a server"),
        ({"url": "s3://b", "region": "a b"}, "region is no name of a region"),
        (
            {"url": "s3://b", "credentials": "hunter2"},
            "credentials .not shown. must be the beginning of the variables'",
        ),
        ({"url": "s3://b", "credentials": "MINIO_"}, "credentials .not shown. must be the beginning of the variables'"),
        ({"url": "s3://b", "credentials": "B", "anonymous": True}, "an anonymous bucket needs no credentials"),
    ],
)
def test_a_root_of_raw_data_that_says_too_much_or_too_little_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError, match=words) as refused:
        RawRoot(**given)
    assert "hunter2" not in str(refused.value)


def test_where_raw_data_are_is_no_part_of_the_recipe() -> None:
    plain = Source(name="tales", convert=lambda _: [])
    for raw in ("s3://corpus/texts", RawRoot("s3://corpus/texts", credentials="MINIO")):
        assert replace(plain, raw=raw).raw_url == "s3://corpus/texts"
        assert replace(plain, raw=raw).conversion_parameters() == plain.conversion_parameters()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("snapshots", "replcae", "source 's': snapshots is 'replcae'; give accumulate, replace"),
        ("quarantine_limit", float("nan"), "quarantine_limit is nan; give a finite number"),
        ("quarantine_limit", -1, "quarantine_limit is -1; give at least 0 and at most 1"),
        ("quarantine_limit", 1.5, "quarantine_limit is 1.5; give at least 0 and at most 1"),
        ("draft", "False", "draft is 'False'; give True or False"),
        ("watched", "no", "watched is 'no'; give True or False"),
        ("select", 5, "select is 5; give a string, or None"),
    ],
)
def test_an_option_of_another_type_is_refused(option: str, value: Any, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        Source(name="s", convert=lambda _: [], **{option: value})


@pytest.mark.parametrize("count", [0, -1, 1.5, "8"])
def test_a_number_of_shards_is_a_whole_number(count: Any) -> None:
    with pytest.raises(RecipeError, match="Hashed: count is"):
        Hashed(count)


def test_an_option_of_a_raw_root_is_of_its_type() -> None:
    with pytest.raises(RecipeError, match=r"RawRoot: anonymous is of type str .not shown.; give True or False"):
        RawRoot("s3://corpus", anonymous="no")  # type: ignore[arg-type]
