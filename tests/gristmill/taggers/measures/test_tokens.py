from pathlib import Path

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from tinybpe import EOS, raw, trained

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Tagger
from gristmill.taggers.measures.tokens import TOKENS, token_count

TINY = trained()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_bytes(raw(TINY))
    return token_count("tokens-tiny-1", model="tiny-1").opened({"tiny-1": path})


def counts(tagger: Tagger, texts: list[str]) -> list[float]:
    documents = [Document(id=str(number), text=text, source="tales") for number, text in enumerate(texts)]
    return [float(each or 0) for each in tagger.look(documents)["tokens"] if not isinstance(each, list)]


pieces = st.sampled_from(["the ", "fox", " ", "\n", "ö", "世界", "7", EOS])


@settings(max_examples=draws(50))
@given(texts=st.lists(st.lists(pieces, max_size=30).map("".join), max_size=5))
def test_counts_are_those_of_tokenizers(opened: Tagger, texts: list[str]) -> None:
    assert counts(opened, texts) == [len(TINY.encode(text, add_special_tokens=False).ids) for text in texts]


def test_a_special_string_is_one_token_and_none_is_added(opened: Tagger) -> None:
    assert counts(opened, ["", EOS, EOS + EOS]) == [0, 1, 2]


def test_a_lone_surrogate_is_read_as_a_question_mark(opened: Tagger) -> None:
    assert counts(opened, ["the fox \ud800", "the fox"]) == counts(opened, ["the fox ?", "the fox"])


def test_what_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(RecipeError, match=r"model 'tokens-1': tokenizer\.json cannot be loaded"):
        TOKENS.opened({"tokens-1": path})
