import os

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.rules import Column, Rule, check_rules, field, score, spans

COLUMNS = (field("metadata.ok", "BOOLEAN"), score("length-1__words", "words"))


def test_a_columns_name_comes_from_its_path() -> None:
    assert field("metadata.a.license") == Column("license", "metadata.a.license", "VARCHAR")
    assert field("metadata.Minhash-Cluster", "BIGINT").name == "minhash_cluster"
    assert score("gopher-1__word_count") == Column("gopher_1__word_count", "gopher-1__word_count", "score")
    assert spans("lang-2__en", "english") == Column("english", "lang-2__en", "spans")


@pytest.mark.parametrize(
    ("path", "kind", "name", "complaint"),
    [
        ("id", "INTEGER", "id", "no type 'INTEGER'"),
        ("id", "BIGINT", "id", "no BIGINT at 'id'"),
        ("licence", "VARCHAR", "licence", "no VARCHAR at 'licence'"),
        ("metadata", "VARCHAR", "metadata", "no VARCHAR at 'metadata'"),
        ("metadata..a", "VARCHAR", "a", "no VARCHAR at 'metadata..a'"),
        ("length-1", "score", "words", "no score at 'length-1'"),
        ("__words", "spans", "words", "no spans at '__words'"),
        ("metadata.1st", "VARCHAR", "1st", "give a name"),
        ("metadata.a", "VARCHAR", 'a"b', "give a name"),
        ("metadata.a", "VARCHAR", "A", "give a name"),
    ],
)
def test_a_wrong_column_is_refused(path: str, kind: str, name: str, complaint: str) -> None:
    with pytest.raises(RecipeError, match=complaint):
        Column(name, path, kind)


@pytest.mark.parametrize(
    ("name", "where", "because", "complaint"),
    [
        ("Too Short", "ok", "a test", "kebab-case"),
        ("too_short", "ok", "a test", "kebab-case"),
        ("too-short", "ok", " ", "say why"),
        ("too-short", "ok \0", "a test", "NUL"),
        ("too-short", "id = '\ud800'", "a test", "surrogates"),
    ],
)
def test_a_wrong_rule_is_refused(name: str, where: str, because: str, complaint: str) -> None:
    with pytest.raises(RecipeError, match=complaint):
        Rule(name, where, because)


def test_one_name_for_two_things_is_refused() -> None:
    rule = Rule("short", "words < 5", "a test")
    with pytest.raises(RecipeError, match="rule 'short' is declared twice"):
        check_rules(COLUMNS, [rule], [rule])
    with pytest.raises(RecipeError, match="column 'words' is declared twice"):
        check_rules([*COLUMNS, score("length-2__words", "words")], [rule], [])


def test_more_rules_than_decisions_can_count_are_refused() -> None:
    many = [Rule(f"r{number}", "ok", "a test") for number in range(32_768)]
    with pytest.raises(RecipeError, match="32,768 rules; one selection may have at most 32,767"):
        check_rules(COLUMNS, many[:9], many[9:])


def test_rules_need_columns_but_columns_need_no_rules() -> None:
    check_rules([], [], [])
    check_rules(COLUMNS, [], [])
    with pytest.raises(RecipeError, match="rule 'all': no columns"):
        check_rules([], [Rule("all", "TRUE", "a test")], [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # what forking pools do as well
def test_a_forked_child_can_check_rules_as_well() -> None:
    check_rules(COLUMNS, [Rule("parent", "ok", "a test")], [])
    child = os.fork()
    if child == 0:
        try:
            check_rules(COLUMNS, [Rule("child", "NOT ok", "a test")], [])
        except BaseException:  # noqa: BLE001 - the child must not go on as a second pytest
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
