import xml.etree.ElementTree as ET

import numpy as np

from gristmill.reports.histogram import Histogram, Tallies, doubling_edges, draw_histogram, trim_histogram


def counted(edges: list[int], *numbers: int) -> Histogram:
    tally = Tallies(edges)
    for number in numbers:
        tally.add(np.array([number]))
    return tally.build_histogram()


def test_a_bin_begins_at_its_edge() -> None:
    assert counted([0, 1, 2, 4, 8], 0, 1, 2, 3, 4, 7).counts == (1, 1, 2, 2)


def test_a_number_outside_of_the_edges_counts_at_the_end() -> None:
    assert counted([1, 2, 4], 0, 9).counts == (1, 1)


def test_edges_double() -> None:
    assert doubling_edges(5) == [0, 1, 2, 4, 8]
    assert doubling_edges(8) == [0, 1, 2, 4, 8, 16]


def test_empty_bins_at_the_end_are_left_out() -> None:
    assert trim_histogram(Histogram((0, 1, 2, 4, 8), (0, 3, 0, 0))) == Histogram((0, 1, 2), (0, 3))
    assert trim_histogram(Histogram((0, 1, 2), (0, 0))) == Histogram((0, 1), (0,))


def test_a_number_may_count_many_times() -> None:
    tally = Tallies([0, 5, 10])
    tally.add(np.array([7]), times=1_000_000_000)
    assert tally.build_histogram().counts == (0, 1_000_000_000)


def test_the_drawing_has_a_bar_a_bin_as_tall_as_its_count() -> None:
    root = ET.fromstring(draw_histogram(Histogram((0, 1, 2048), (5, 10)), "Letters & <more>", "tokens"))
    name = "{http://www.w3.org/2000/svg}"
    bars = root.findall(f"{name}rect")
    assert [float(bar.attrib["height"]) * 2 for bar in bars] == [float(bars[1].attrib["height"]), 264]
    assert [bar[0].text for bar in bars] == ["0 to 1: 5", "1 to 2,048: 10"]
    words = [text.text for text in root.findall(f"{name}text")]
    assert words[0] == "Letters & <more>"
    assert words[-1] == "tokens; 15 in all"


def test_nothing_can_be_drawn_too() -> None:
    assert "0 in all" in draw_histogram(Histogram((0, 1), (0,)), "Nothing", "tokens")
