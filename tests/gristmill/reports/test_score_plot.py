import xml.etree.ElementTree as ET

from gristmill.reports.score_plot import draw_scores

NAME = "{http://www.w3.org/2000/svg}"


def test_each_bin_with_numbers_has_a_bar_that_can_be_seen() -> None:
    root = ET.fromstring(draw_scores([0.0, 0.5, 1.0, 1.5], [1, 0, 1_000_000], "Odd & <x>", "score"))
    bars = root.findall(f"{NAME}rect")
    assert [(bar[0].text, float(bar.attrib["height"])) for bar in bars] == [
        ("0 to 0.5: 1", 1.0),
        ("1 to 1.5: 1,000,000", 132.0),
    ]
    assert [text.text for text in root.findall(f"{NAME}text")] == [
        "Odd & <x>",
        "1,000,000",
        "0",
        "0",
        "0.5",
        "1",
        "1.5",
        "score",
    ]


def test_the_range_of_a_bar_is_written_in_full() -> None:
    root = ET.fromstring(draw_scores([-0.5078125, -0.0078125, 2.197e18], [2, 1], "lp", "score"))
    assert [bar[0].text for bar in root.findall(f"{NAME}rect")] == [
        "-0.5078125 to -0.0078125: 2",
        "-0.0078125 to 2.197e+18: 1",
    ]


def test_nothing_can_be_drawn_too() -> None:
    root = ET.fromstring(draw_scores([0.0, 0.0], [0], "none", "score"))
    assert root.findall(f"{NAME}rect") == []
