import re
from xml.etree import ElementTree as ET

from gristmill.reports.retention_plot import draw_retention

EVERY = [(float(at), 1 - at / 10) for at in range(10)]


def test_each_point_lies_at_its_threshold_and_share() -> None:
    svg = draw_retention(EVERY, EVERY[:2], [("long >= 3", 3.0), ("far > 99", 99.0)], "<words>", "documents")
    root = ET.fromstring(svg)
    lines = [each.attrib["points"].split() for each in root if each.tag.endswith("polyline")]
    assert [len(points) for points in lines] == [10, 2]
    across = [float(point.split(",")[0]) for point in lines[0]]
    down = [float(point.split(",")[1]) for point in lines[0]]
    assert across == sorted(across)
    assert down == sorted(down)
    [mark] = [each for each in root if each.attrib.get("stroke") == "#cf222e"]
    assert abs(float(mark.attrib["x1"]) - across[3]) < 0.1
    assert "&lt;words&gt;" in svg
    [label] = [each for each in root if each.text == "long >= 3"]
    assert float(label.attrib["y"]) > down[3]  # below the curve, because most documents are above the threshold
    assert "far" not in svg


def test_few_large_numbers_are_drawn_by_their_logarithms() -> None:
    skewed = [(1.0, 1.0), (2.0, 0.04), (1000.0, 0.01)]
    svg = draw_retention(skewed, [], [], "words", "")
    points = re.search(r'points="([^"]+)"', svg)
    assert points is not None
    begin, middle, end = (float(point.split(",")[0]) for point in points[1].split())
    assert middle - begin > (end - begin) / 20


def test_one_number_has_a_drawing() -> None:
    assert draw_retention([(5.0, 1.0)], [(5.0, 1.0)], [], "words", "").endswith("</svg>")
