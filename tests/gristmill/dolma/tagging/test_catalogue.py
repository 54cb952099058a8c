import pytest

from gristmill.dolma.tagging.catalogue import NOT_HERE, TAGGERS, digest_of_tagger, label_makers
from gristmill.errors import RecipeError


def test_an_unknown_tagger_lists_the_near_ones() -> None:
    with pytest.raises(RecipeError, match="unknown tagger 'gopher_1'; did you mean 'gopher_v"):
        label_makers(["char_length_v1", "gopher_1"])


def test_a_tagger_that_is_not_here_is_named_with_the_reason() -> None:
    with pytest.raises(
        RecipeError,
        match=r"--leave-out NAME runs the others:\nlingua_doc_v1: .*package.*\ndclm-oh-eli5: its model is fetched",
    ):
        label_makers(["lingua_doc_v1", "gopher_v1", "dclm-oh-eli5"])


def test_each_name_is_in_one_table_and_has_a_digest_of_its_own() -> None:
    assert not TAGGERS.keys() & NOT_HERE.keys()
    assert len({digest_of_tagger(name) for name in TAGGERS}) == len(TAGGERS)
    assert list(label_makers(["gopher_v1"])) == ["gopher_v1"]
