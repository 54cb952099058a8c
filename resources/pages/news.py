"""Cursors of sensors that begin with a line of news: Dagster's list of ticks shows the beginning of a cursor."""

from gristmill.errors import escape_controls, shorten

_LONGEST = 300


def with_news(news: str, state: str) -> str:
    r"""A cursor that begins with a line of news.

    Args:
        news: line about what the tick has found or done.
        state: state that the next tick needs, as text of one line.

    >>> with_news("requested 1 run: web (2024)", "17")
    'requested 1 run: web (2024)\n17'
    """
    return f"{shorten(escape_controls(news), _LONGEST)}\n{state}"


def without_news(cursor: str | None) -> str:
    r"""The state that the tick before has left for the next one; empty if there was none. Earlier cursors have no news.

    >>> without_news("requested 1 run: web (2024)\n17"), without_news("17"), without_news(None)
    ('17', '17', '')
    """
    return (cursor or "").rpartition("\n")[2]
