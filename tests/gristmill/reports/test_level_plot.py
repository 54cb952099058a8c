import math
from dataclasses import replace
from xml.etree import ElementTree as ET

from gristmill.reports.level_plot import Panel, draw_levels
from gristmill.reports.retention_plot import MARK

ROWS = Panel("rows", (10.0, 20.0, None, 5.0), 15.0, 7.5, 30.0, wrong=True, words=lambda value: f"{value:g}")
KEYS = ["a", "b", "c", "2024-05-06<&>"]


def titles(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]


def test_each_snapshot_has_a_bar_and_one_without_the_number_has_none() -> None:
    svg = draw_levels([ROWS], KEYS)
    assert titles(svg) == ["a: 10", "b: 20", "2024-05-06<&>: 5"]
    assert svg.count(f'fill="{MARK}"') == 2  # the bar of the newest and its title


def test_panels_lie_three_beside_each_other() -> None:
    assert 'width="726" height="284"' in draw_levels([ROWS] * 4, KEYS)
    assert 'width="726" height="150"' in draw_levels([ROWS], KEYS)


def test_of_a_long_title_and_key_the_end_is_shown() -> None:
    panel = replace(ROWS, title="fraction_of_characters_in_duplicate_5grams 50%")
    svg = draw_levels([panel], ["a", "b", "c", "cc-main-2024-10-segment-7"])
    assert "_in_duplicate_5grams 50%: 5<" in svg
    assert "-segment-7<" in svg


def test_numbers_below_zero_and_without_bounds_are_drawn_inside() -> None:
    panel = Panel("score", (-4.0, 4.0), None, -math.inf, math.inf, wrong=False, words=str)
    root = ET.fromstring(draw_levels([panel], ["a", "b"]))
    bars = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    tops = [(float(each.attrib["y"]), float(each.attrib["height"])) for each in bars]
    assert all(top >= 0 and top + tall <= 128 for top, tall in tops)
    assert tops[1][1] == tops[0][1]


def test_equal_numbers_of_nothing_are_drawn_too() -> None:
    panel = Panel("rows", (0.0, 0.0), 0.0, 0.0, 0.0, wrong=False, words=str)
    assert titles(draw_levels([panel], ["a", "b"])) == ["a: 0.0", "b: 0.0"]
