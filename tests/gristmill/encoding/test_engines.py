import numpy as np
import pytest
from tinybpe import CORPUS, raw
from tokenizers import Tokenizer

from gristmill.encoding.engines import (
    REFERENCE_TEXTS,
    ReferenceEngine,
    TokenEngine,
    batch_texts,
    fast_engines,
    joined,
)


def test_batches_have_at_most_so_many_characters_and_texts_or_one_text() -> None:
    texts = ["aaa", "bb", "c" * 9, "", "", "", "d"]
    assert list(batch_texts(texts, 5, 3)) == [["aaa", "bb"], ["c" * 9], ["", "", ""], ["d"]]
    assert list(batch_texts([], 5, 3)) == []


def test_arrays_are_joined_in_order_and_let_go() -> None:
    parts = [np.array([1, 2]), np.array([], np.int64), np.array([3])]
    assert joined(parts, np.int32).tolist() == [1, 2, 3]
    assert parts == []


def test_every_engine_gives_the_ids_of_one_text_at_a_time(small: Tokenizer) -> None:
    texts = [CORPUS[number % 4][: number % 60] for number in range(REFERENCE_TEXTS + 3)]
    expected = [small.encode(text, add_special_tokens=False).ids for text in texts]
    engines: list[TokenEngine] = [ReferenceEngine(small), *fast_engines(raw(small).decode())]
    for engine in engines:
        ids, lengths = engine.encode(texts)
        assert [row.tolist() for row in np.split(ids, np.cumsum(lengths)[:-1])] == expected, engine.name


def test_a_tokenizer_that_fastokens_does_not_know_has_no_fast_engine() -> None:
    with pytest.raises((ValueError, RuntimeError)):
        list(fast_engines('{"model": {"type": "Unheard", "vocab": {}}}'))
