"""All text of HTML."""

import pytest
from cpu_time import cpu_seconds

from gristmill.readers.files.html_text import html_text
from gristmill.readers.text import Unfit


def test_text_is_as_people_see_it() -> None:
    html = "<p>To <i>be</i>&nbsp;&lt;</p><ul><li>a<li>b</ul><script>x()</script>"
    html += "<pre><code>a\n  b\n</code></pre><nav>menu</nav>"
    assert html_text(html).replace("\xa0", " ").split() == ["To", "be", "<", "•", "a", "•", "b", "a", "b", "menu"]
    assert "a\n  b" in html_text(html)
    assert html_text("") == ""


def test_deep_html_is_refused_before_it_costs_time() -> None:
    def parse() -> None:
        with pytest.raises(Unfit, match="more than 1000 elements inside each other"):
            html_text("<div>" * 1001)
        with pytest.raises(Unfit, match="html nested too deeply"):
            html_text("<b>" * 1_000_000)
        assert html_text("<p>a" * 5000).count("a") == 5000

    assert cpu_seconds(parse) < 2
