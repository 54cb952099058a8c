"""C4's rules. Lines are compared by their number: Dolma counts offsets in the lower case, which `İ` makes longer."""

from bench.taggers.comparison import Attributes, Comparison, by_label


def counted(attributes: Attributes) -> Attributes:
    """The spans by label; of spans of lines only how many there are. tests/real_dolma compares the lines themselves.

    >>> counted({"c4-1__line_count": [[0, 9, 2.0]], "c4-1__lines_with_too_few_words": [[0, 4, 1], [4, 9, 1]]})
    {'line_count': [[0, 9, 2.0]], 'lines_with_too_few_words': 2}
    """
    labels = by_label(attributes)
    return {label: len(spans) if label.startswith("lines_with") else spans for label, spans in labels.items()}


C4 = Comparison(
    name="c4",
    modules=("gristmill.taggers.quality.c4",),
    sets=("c4-1",),
    peer=("c4_v2",),
    bar=8.0,
    ours=counted,
    theirs=counted,
)
