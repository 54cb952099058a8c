import statistics

from gristmill.lake.rows.document import Document
from gristmill.taggers.measures.random import RANDOM


def numbers(*documents: Document) -> list[object]:
    return list(RANDOM.look(documents)["number"])


def test_a_number_depends_on_source_and_id_alone() -> None:
    one, text, other_id, other_source = numbers(
        Document(id="1", text="a", source="s"),
        Document(id="1", text="b", source="s"),
        Document(id="2", text="a", source="s"),
        Document(id="1", text="a", source="t"),
    )
    assert one == text
    assert len({one, other_id, other_source}) == 3


def test_numbers_are_spread_evenly() -> None:
    drawn = [float(str(n)) for n in numbers(*(Document(id=str(n), text="", source="s") for n in range(1_000)))]
    assert 0 <= min(drawn) < 0.01
    assert 0.99 < max(drawn) < 1
    assert abs(statistics.mean(drawn) - 0.5) < 0.03
