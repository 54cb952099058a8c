import re
from html.parser import HTMLParser

import numpy as np

from gristmill.lake.address import place
from gristmill.scores.described import Described
from gristmill.scores.examples import Example
from gristmill.scores.page import facts_of, label_histogram, score_page, small_label_histogram
from gristmill.scores.statistics import number_statistics

PLACE = place("sources/tales/v0/attributes/odd-1", "2024")
EVIL = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


class Tags(HTMLParser):
    """Collects the tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        assert "on" not in {name[:2] for name, _ in attrs}  # type: ignore[attr-defined]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_texts_ids_and_labels_are_text_and_never_markup() -> None:
    label = number_statistics(EVIL, "spans", np.array([0.0, 2.0]), np.array([0, 1]), EVIL, characters=9)
    example = Example(EVIL, "highest", 2.0, EVIL, 1, EVIL, EVIL, f"é{EVIL} end", (1, 1 + len(EVIL)))
    page = score_page(Described(PLACE, 2, (label,), 0, 3), [example])
    found = Tags(page)
    assert "script" not in found.tags
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script>alert(1)</script>" in found.words
    assert "<mark>&lt;script&gt;" in page
    assert "3 labels of shards with too many" in found.words
    assert "default-src 'none'" in page


def test_the_facts_of_a_label_are_shares_and_quantiles() -> None:
    spans = number_statistics("found", "spans", np.array([0.0, 2.0, 4.0]), np.arange(3), "a", characters=9)
    facts = facts_of(spans, 4)
    assert list(facts)[4:8] == ["least", "mean", "most", "1%"]
    assert (facts["rows with it"], facts["rows with spans"], facts["mean"], facts["50%"], facts["most"]) == (
        "75.00%",
        "50.00%",
        "2",
        "2",
        "4",
    )
    assert facts_of(number_statistics("none", "score", np.array([]), np.array([]), "a"), 0)["mean"] == "0"


def test_a_long_tail_is_drawn_by_doubling() -> None:
    tail = number_statistics("n", "score", np.array([1.0] * 99 + [5000.0]), np.arange(100), "a")
    assert "score, logarithmic; 100 of 100 rows" in label_histogram(tail, 100)
    flat = number_statistics("n", "score", np.array([1.0, 2.0]), np.arange(2), "a")
    assert "score; 2 of 3 rows" in label_histogram(flat, 3)


def test_a_bar_tells_a_range_and_how_many_numbers_are_in_it() -> None:
    years = number_statistics("year", "score", np.arange(1990.0, 2025), np.arange(35), "a")
    assert re.findall(r"<title>(.*?)</title>", label_histogram(years, 35)) == [
        "1,984 to 2,000: 10",
        "2,000 to 2,016: 16",
        "2,016 to 2,032: 9",
    ]
    assert ">1,984</text>" in small_label_histogram(years)
    assert ">2,032</text>" in small_label_histogram(years)


def test_a_quantile_is_not_outside_of_least_and_most_and_a_range_where_no_more_is_known() -> None:
    def quantiles(*numbers: float) -> tuple[object, ...]:
        facts = facts_of(number_statistics("n", "score", np.array(numbers), np.arange(len(numbers)), "a"), len(numbers))
        return facts["1%"], facts["50%"], facts["99%"]

    assert quantiles(-1001.0, -1001.0) == ("-1,001", "-1,001", "-1,001")
    assert quantiles(1.3e18, 1.75e18, 2.2e18) == ("1.3e+18 to 2.2e+18",) * 3
    assert quantiles(-2e18, 5.0, 2e18) == ("-2e+18 to -1.153e+18", "5", "1.153e+18 to 2e+18")
    assert quantiles(2e18) == ("2e+18",) * 3


def test_a_mean_that_no_number_can_be_is_not_told() -> None:
    huge = number_statistics("n", "score", np.array([1e308, 1e308]), np.arange(2), "a")
    assert facts_of(huge, 2)["mean"] == "unknown"
    assert "1e+308 to 1e+308: 2" in label_histogram(huge, 2)


def test_a_set_without_labels_has_a_page() -> None:
    assert "0 rows, 0 labels" in score_page(Described(PLACE, 0, (), 0, 0), [])


def test_all_spans_of_an_excerpt_are_marked_and_a_label_says_what_it_means() -> None:
    label = number_statistics("mails", "spans", np.array([0.0, 2.0]), np.array([0, 1]), "a", characters=9)
    example = Example("mails", "highest", 2.0, "a", 1, "tales", "t1", "to a@b or c@d now", (3, 6), ((10, 13),))
    page = score_page(Described(PLACE, 2, (label,), 0, 0), [example], {"mails": "each address <here>"})
    assert "to <mark>a@b</mark> or <mark>c@d</mark> now" in page
    assert "<p>each address &lt;here&gt;</p>" in page
    assert "how many spans a row has" in page
