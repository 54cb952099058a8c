"""Draws the distribution of a label's numbers as SVG."""

from collections.abc import Sequence

from gristmill.reports.histogram import BAR, BOTTOM, HEIGHT, LEFT, TOP, WIDTH, svg_drawing_head, svg_text_at

BINS = 40


def draw_scores(edges: Sequence[float], counts: Sequence[int], title: str, legend: str) -> str:
    """A histogram of scores as SVG.

    Args:
        edges: edges of the bins, ascending (B + 1).
        counts: number of values in each bin (B); one bin or more.
        title: text above the bars.
        legend: text below them.
    """
    most = max(counts) or 1
    room = HEIGHT - TOP - BOTTOM
    step = (WIDTH - LEFT - 8) / len(counts)
    base = HEIGHT - BOTTOM
    parts = svg_drawing_head(title, most)
    for number, count in enumerate(counts):
        if count:
            tall = max(room * count / most, 1)  # a single row among a billion can be seen
            name = f"{exact_number(edges[number])} to {exact_number(edges[number + 1])}: {count:,}"
            parts.append(
                f'<rect x="{LEFT + number * step + 1:.1f}" y="{base - tall:.1f}" width="{max(step - 2, 1):.1f}"'
                f' height="{tall:.1f}" fill="{BAR}"><title>{name}</title></rect>'
            )
    places = sorted({round(share * len(counts)) for share in (0, 0.25, 0.5, 0.75)} - {len(counts)})
    parts += [svg_text_at(LEFT + place * step, base + 14, short_number(edges[place])) for place in places]
    parts.append(svg_text_at(WIDTH - 8, base + 14, short_number(edges[-1]), anchor="end"))
    parts.append(svg_text_at(LEFT, HEIGHT - 8, legend))
    return "".join([*parts, "</svg>"])


def exact_number(number: float) -> str:
    """A number that is compared with others: as many digits as tell it from them.

    >>> exact_number(-1024.0), exact_number(-0.5078125)
    ('-1,024', '-0.5078125')
    """
    return f"{number:,.0f}" if number == int(number) and abs(number) < 1e15 else repr(number)


def short_number(number: float) -> str:
    """A number in few characters.

    >>> short_number(0.123456), short_number(1234567.0), short_number(1234.5), short_number(0.00001)
    ('0.1235', '1,234,567', '1,234', '1e-05')
    """
    whole = number == int(number) or abs(number) >= 1000
    return f"{number:,.0f}" if whole and abs(number) < 1e15 else f"{number:.4g}"
