"""Images in Dagster's metadata. Its pages show short Markdown at once, and a longer one by a click."""

import base64
import re

import dagster as dg

from gristmill.errors import escape_controls

UNFOLDED = 1000
"""Markdown of fewer characters is shown without a click."""


def markdown_image(name: str, svg: str) -> str:
    r"""An image in Markdown that contains its data. Its name may be one of the data, and makes no other image or link.

    Args:
        name: name of what the image shows.
        svg: the image.

    >>> print(markdown_image("x](http://a)![y", "<svg/>"))
    ![x\](http://a)!\[y](data:image/svg+xml;base64,PHN2Zy8+)
    """
    return f"![{as_markdown(name)}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def as_markdown(words: str) -> str:
    r"""The words of the data in Markdown, as they are.

    >>> print(as_markdown("a*b"))
    a\*b
    """
    return re.sub(r"[\\\[\]<>`*_]", r"\\\g<0>", escape_controls(words))


def in_short(words: str, name: str, svg: str) -> dg.MarkdownMetadataValue:
    """The words with a small image above them, which a page shows at once; without it if it is too large or empty.

    Args:
        words: Markdown.
        name: name of what the image shows.
        svg: the image.
    """
    together = f"{markdown_image(name, svg)}\n\n{words}"
    return dg.MetadataValue.md(together if svg and len(together) < UNFOLDED else words)
