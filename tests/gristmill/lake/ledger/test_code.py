import pytest

from gristmill.errors import RecipeError
from gristmill.lake.address import place
from gristmill.lake.ledger.code import Code, check_same_code, join_codes

HERE = place("sources/tales/v0/attributes/words-1", "2024")


def test_code_is_changed_only_if_both_are_known_and_differ() -> None:
    assert Code("b").has_changed({"a": "", "c": "renamed"})
    assert not Code("c").has_changed({"a": "", "c": "renamed"})
    assert not Code("b").has_changed({})
    assert not Code().has_changed({"a": ""})


@pytest.mark.parametrize(
    ("code", "made", "codes", "kept"),
    [
        (Code("b"), "b", {"a": ""}, True),
        (Code("b"), "a", {"a": ""}, False),
        (Code("b", reason="r"), "a", {"a": ""}, True),
        (Code("b", reason="r"), "c", {"a": ""}, False),  # an interrupted run of a third code
        (Code("b"), "a", {"a": "", "b": "r"}, True),
        (Code("b"), "c", {}, False),
        (Code("b"), "", {"a": ""}, True),
        (Code(), "a", {"a": ""}, True),
    ],
)
def test_shards_are_kept_of_code_with_the_same_output(code: Code, made: str, codes: dict[str, str], kept: bool) -> None:  # noqa: FBT001 - parametrized
    assert code.may_keep_shard(made, codes) is kept


def test_the_note_records_each_code_with_its_reason() -> None:
    assert Code("a").codes_to_record({}) == {"a": ""}
    assert Code("b", reason="r").codes_to_record({"a": ""}) == {"a": "", "b": "r"}
    assert Code("b", reason="r").codes_to_record({}) == {"b": ""}
    assert Code("b").codes_to_record({"a": ""}) == {"b": ""}
    assert Code().codes_to_record({"a": ""}) == {"a": ""}


def test_changed_code_is_refused_unless_it_is_a_draft_or_has_a_new_reason() -> None:
    code = Code("b", "mill.taggers.words")
    check_same_code(code, {"a": ""}, HERE, draft=True)
    check_same_code(code, {"b": ""}, HERE, draft=False)
    check_same_code(Code("b", "mill.taggers.words", "renamed"), {"a": ""}, HERE, draft=False)
    words = r"words-1 \(2024\): the code of mill\.taggers\.words changed since it was made\. Declare .*next number"
    with pytest.raises(RecipeError, match=words):
        check_same_code(code, {"a": ""}, HERE, draft=False)


def test_a_changed_option_of_a_reader_is_named_beside_the_code_with_all_mends() -> None:
    code = Code("b", "corp.sources.notes", reader="TextFiles")
    with pytest.raises(RecipeError) as caught:
        check_same_code(code, {"a": ""}, HERE, draft=False)
    assert str(caught.value).endswith(
        ": the code of corp.sources.notes, or an option of its TextFiles(...), changed since it was made. Declare the"
        " change under the next number (a source: under another name), with draft=True while you try; or, if only code"
        " was edited and the output is the same, say same_output=True and reason='...' in the recipe"
    )


def test_changed_options_are_refused_whatever_the_recipe_says_of_the_code() -> None:
    code = Code("b-2", "corp.sources.notes", "made faster", reader="TextFiles")
    words = r"the options of TextFiles\(\.\.\.\) in corp\.sources\.notes changed .* whatever same_output says"
    with pytest.raises(RecipeError, match=words):
        check_same_code(code, {"a-1": ""}, HERE, draft=False)
    check_same_code(code, {"a-1": ""}, HERE, draft=True)
    assert not code.may_keep_shard("a-1", {"a-1": ""})  # so a draft makes all its shards again
    assert code.codes_to_record({"a-1": ""}) == {"b-2": ""}
    check_same_code(code, {"a-2": ""}, HERE, draft=False)
    assert code.may_keep_shard("a-2", {"a-2": ""})
    assert code.codes_to_record({"a-2": ""}) == {"a-2": "", "b-2": "made faster"}


def test_a_note_without_options_is_trusted_and_gets_them() -> None:
    code = Code("a-1", reader="TextFiles")
    assert not code.has_changed({"a": ""})
    assert code.may_keep_shard("a", {"a": ""})
    assert code.codes_to_record({"a": "", "b": "renamed"}) == {"a-1": "", "b": "renamed"}
    assert Code("c-1", reason="renamed").may_keep_shard("a", {"a": ""})


def test_a_reason_is_good_for_one_edit() -> None:
    code = Code("c", "mill.taggers.words", "renamed")
    with pytest.raises(RecipeError, match="again after the change with the reason 'renamed'"):
        check_same_code(code, {"a": "", "b": "renamed"}, HERE, draft=True)


def test_what_an_earlier_version_recorded_is_compared_with_the_former_digest() -> None:
    code = Code("b-1", former=("a-1",), wider=True)
    for codes, more in ({"a-1": "", "0": "r"}, True), ({"a": ""}, True), ({"b-1": ""}, False):
        assert (code.has_changed(codes), code.counts_more(codes)) == (False, more)
    assert code.may_keep_shard("a-1", {"a-1": ""})
    assert code.codes_to_record({"a-1": "", "0": "r"}) == {"b-1": "", "0": "r"}
    assert not Code("b", former=("a",)).counts_more({"a": ""})
    assert Code("b2", former=("a",)).has_changed({"b": ""})  # a ledger of this version has no former digest
    assert not Code("b2", former=("a",)).may_keep_shard("b", {"b": ""})


def test_each_of_several_codes_is_compared_with_what_is_recorded_of_it() -> None:
    """aa-1 has a reason, and excuses itself alone."""
    known = {"a+b": ""}
    aa = Code("a2", "mill.aa", "renamed", former=("x",))
    for b, changed in ("b", ["mill.aa"]), ("b2", ["mill.aa", "mill.bb"]):
        both = join_codes({"aa-1": aa, "bb-1": Code(b, "mill.bb", former=("y",))})
        assert [code.module for code, _ in both.changed_codes(known)] == changed
        assert both.may_keep_shard("a+b", known) is (b == "b")
    with pytest.raises(RecipeError, match=r"2024\): the code of mill\.bb changed since it was made\. Declare"):
        check_same_code(both, known, HERE, draft=False)
    assert both.codes_to_record(known) == {"a2+b2": ""}
    excused = join_codes({"bb-1": Code("b", "mill.bb"), "aa-1": aa})
    check_same_code(excused, known, HERE, draft=False)
    assert excused.codes_to_record(known) == {"a+b": "", "a2+b": "aa-1: renamed"}
    restored = join_codes({"aa-1": Code("a"), "bb-1": Code("b")})
    assert not restored.has_changed({"a2+b": "", "a+b": "aa-1: renamed"})
    again = join_codes({"aa-1": Code("a3", "mill.aa", "renamed"), "bb-1": Code("b")})
    with pytest.raises(RecipeError, match="again after the change with the reason 'aa-1: renamed'"):
        check_same_code(again, excused.codes_to_record(known), HERE, draft=False)


def test_edits_of_two_codes_at_different_times_have_a_reason_each() -> None:
    known = {"a+b": "", "a2+b": "aa-1: renamed"}
    both = join_codes({"aa-1": Code("a2", "mill.aa"), "bb-1": Code("b2", "mill.bb", "faster")})
    check_same_code(both, known, HERE, draft=False)
    assert both.may_keep_shard("a+b", known)
    assert not both.may_keep_shard("a0+b", known)  # an interrupted run of a third code
    assert both.codes_to_record(known) == {**known, "a2+b2": "bb-1: faster"}
    mixed = join_codes({"aa-1": Code("a", "mill.aa"), "bb-1": Code("b2", "mill.bb")})
    assert not mixed.has_changed(both.codes_to_record(known))  # each was said to give the same output


def test_of_a_note_that_does_not_tell_several_codes_apart_a_reason_counts_if_all_have_one() -> None:
    aa, bb = Code("a2", "mill.aa", "renamed", former=("a",)), Code("b", "mill.bb", former=("b0",))
    old = {join_codes({"aa-1": aa, "bb-1": bb}).former[-1]: ""}
    assert not join_codes({"aa-1": aa, "bb-1": bb}).has_changed(old)
    words = r"the code of mill\.aa and mill\.bb changed since it was made \(its ledger does not say which of these: a"
    with pytest.raises(RecipeError, match=words):
        check_same_code(join_codes({"aa-1": aa, "bb-1": Code("b2", "mill.bb", former=("b1",))}), old, HERE, draft=False)
    two = join_codes({"aa-1": aa, "bb-1": Code("b2", "mill.bb", "faster", former=("b1",))})
    check_same_code(two, old, HERE, draft=False)
    assert two.may_keep_shard(next(iter(old)), old)
    assert two.codes_to_record(old) == {**old, "a2+b2": "aa-1: renamed\nbb-1: faster"}


def test_the_code_of_one_is_compared_as_it_is_and_one_that_is_unknown_makes_all_unknown() -> None:
    assert join_codes({"aa-1": Code("a", "mill.aa", "renamed")}).codes_to_record({"b": ""}) == {"b": "", "a": "renamed"}
    assert join_codes({"aa-1": Code("a"), "bb-1": Code()}) == join_codes({}) == Code()
    assert join_codes({"aa-1": Code("a"), "bb-1": Code(problem="edited")}).problem == "edited"
