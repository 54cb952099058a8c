import pytest

from gristmill.api import open_split
from gristmill.errors import DataError
from gristmill.reading.opened_lake import OpenedLake
from gristmill.reading.training_examples import examples_of, read_plan, show_example
from gristmill.recipes.row_format import Text


def test_a_split_is_given_as_the_trainer_gives_it(opened: OpenedLake) -> None:
    split = open_split(opened, "even", "tiny-1", "pages")
    spelling = opened.tokenizer("tiny-1")
    examples = examples_of(split, Text(), 8, eos=spelling.token_to_id("<|endoftext|>"))
    assert (len(examples), len(examples[0].tokens)) == (44 // 8, 8)
    assert "word" in show_example(examples[0], spelling.decode)
    with pytest.raises(DataError, match="pages-train-8"):
        read_plan(opened, split, Text(pack=True), 8)
