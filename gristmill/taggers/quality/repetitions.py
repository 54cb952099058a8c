"""REPETITIONS: stretches in which letters, words or lines follow themselves at least three times.

Source: repetitions_v1 of the Dolma toolkit 1.2.1 (github.com/allenai/dolma, `taggers/repetitions`), whose regular
expression does not end on long lines. Values are equal for units of at most 100 code points.
"""

from collections.abc import Iterator
from typing import Any

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Spans, Tagger
from gristmill.text.code_points import CodePoints
from gristmill.text.column import text_columns
from gristmill.text.huge.blocks import blocks
from gristmill.text.huge.limits import bounded
from gristmill.text.huge.windows import HUGE
from gristmill.text.repetitions import MOST, repetitions


def tag(batch: Batch) -> dict[str, Any]:
    """The places where units repeat, and three numbers of it.

    * `repetitions`: each stretch in which a unit of 1 to 100 code points follows itself at least three times, with or
      without one white space between; its score is how often the unit occurs in it.
    * `most_times`: the highest of these scores. `longest`: code points of the longest stretch.
    * `share`: of the text's code points, how many are in such stretches. All three are 0 without any.

    >>> from gristmill.lake.rows.document import Document
    >>> labels = tag(Batch([Document(id="a", text="no no no no, he said", source="tales")]))
    >>> labels["repetitions"], labels["most_times"], labels["share"]
    ([[(0, 11, 4)]], [4], [0.55])
    """
    found: list[list[tuple[int, int, int]]] = [[] for _ in batch.texts]
    short = [place for place, text in enumerate(batch.texts) if len(text) <= HUGE]
    for column in batch.columns if len(short) == len(batch) else text_columns([batch.texts[place] for place in short]):
        places = [short[index] for index in column.places]
        texts = [batch.texts[place] for place in places]
        for place, spans in zip(places, repetitions(column.points, texts), strict=True):
            found[place] = spans
    for place in set(range(len(batch))).difference(short):
        found[place] = bounded(repetitions_of_huge(batch.texts[place]), "repetitions", place)
    lengths = [[end - start for start, end, _ in spans] for spans in found]
    return {
        "repetitions": found,
        "most_times": [max((times for _, _, times in spans), default=0) for spans in found],
        "longest": [max(each, default=0) for each in lengths],
        "share": [sum(each) / max(1, len(text)) for each, text in zip(lengths, batch.texts, strict=True)],
    }


def repetitions_of_huge(text: str, size: int = HUGE) -> Iterator[tuple[int, int, int]]:
    """The repetitions of one huge text, block by block. Each ends with its block.

    Args:
        text: any text.
        size: code points of a block.
    """
    for first, last in blocks(text, size=size):
        block = text[first:last]
        for start, end, times in repetitions(CodePoints.of([block]), [block])[0]:
            yield first + start, first + end, times


REPETITIONS = Tagger(
    name="repetitions-1",
    batch=tag,
    labels=(
        Spans("repetitions", "each stretch in which a unit follows itself three times or more", unit="times", low=4),
        Score("most_times", "how often the most repeated unit follows itself, and one", unit="times", low=0),
        Score("longest", "the longest such stretch", unit="code points", low=0),
        Score("share", "share of code points in such stretches", low=0, high=1),
    ),
    parameters={"times": 4, "longest_unit": MOST},
    description="Stretches in which a unit of up to 100 code points repeats, as Dolma's repetitions_v1 has them.",
)
