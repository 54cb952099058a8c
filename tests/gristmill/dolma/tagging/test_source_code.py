import pytest
from scriptrows import documents

from gristmill.dolma.tagging.source_code import CODE_TAGGERS
from gristmill.recipes.batch import Batch


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("", [(0, 1, 1.0)]),
        ("x = 1", None),
        ("# a\n\n# b\nx", [(0, 7, 1.0)]),
        ("# a\n", [(0, 4, 1.0)]),
        ("\n\nx", [(0, 2, 1.0)]),
        ("# a\n/* copyright */", None),
    ],
)
def test_a_block_of_comments_has_the_length_that_dolma_gives_it(text: str, block: object) -> None:
    labels = CODE_TAGGERS["code_copyright_comments_v1"](Batch(documents([text])))
    assert labels["comment_block"][0] == block


def test_statistics_of_code_have_dolmas_names() -> None:
    labels = CODE_TAGGERS["code_redpajama_taggers_v1"](Batch(documents(["ab = 1\n"])))
    assert {name: values[0] for name, values in labels.items()} == {
        "max_line_length_doc": [(0, 7, 6.0)],
        "avg_line_length_doc": [(0, 7, 6.0)],
        "alnum_prop_doc": [(0, 7, round(3 / 7, 5))],
        "alpha_token_prop_doc": [(0, 7, 0.5)],
    }
