"""Rule taggers without a bar of their own: paragraphs of marks, code as RedPajama filters it, a random number.

Random numbers differ by their nature, and our span of a block of comments covers its line feeds: they are not compared.
"""

from bench.taggers.comparison import Attributes, Comparison, renamed

_CODE = {
    "code-copyright-1__copyright_notice": "code_copyright_comments_v1__copyright_notice",
    "code-copyright-1__doc": "code_copyright_comments_v1__doc",
    "code-redpajama-1__max_line_length_doc": "code_redpajama_taggers_v1__max_line_length_doc",
    "code-redpajama-1__avg_line_length_doc": "code_redpajama_taggers_v1__avg_line_length_doc",
    "code-redpajama-1__alnum_prop_doc": "code_redpajama_taggers_v1__alnum_prop_doc",
    "code-redpajama-1__alpha_token_prop_doc": "code_redpajama_taggers_v1__alpha_token_prop_doc",
}
_MARKS = {"mark-paragraphs-1__paragraphs": "not_alphanum_paragraph_v1__all_punct"}
_NAMES = _CODE | _MARKS


def theirs(attributes: Attributes) -> Attributes:
    """Dolma's, under our names. Where it has no paragraph of marks it gives a span of score 0.

    >>> theirs({"not_alphanum_paragraph_v1__all_punct": [[0, 4, 0.0]]})
    {}
    """
    found = renamed({peer: ours for ours, peer in _NAMES.items()})(attributes)
    return {name: spans for name, spans in found.items() if name not in _MARKS or spans[0][2]}


OTHERS = Comparison(
    name="others",
    modules=(
        "gristmill.taggers.quality.paragraphs",
        "gristmill.taggers.code.copyright",
        "gristmill.taggers.code.redpajama",
        "gristmill.taggers.measures.random",
    ),
    sets=("mark-paragraphs-1", "code-copyright-1", "code-redpajama-1", "random-1"),
    peer=(
        "not_alphanum_paragraph_v1",
        "code_copyright_comments_v1",
        "code_redpajama_taggers_v1",
        "random_number_v1",
    ),
    ours=renamed({name: name for name in _NAMES}),
    theirs=theirs,
)
