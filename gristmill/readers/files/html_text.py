"""Readable text of whole HTML files and of fragments, all of it: nothing is taken for boilerplate."""

import re

from gristmill.extras import extra
from gristmill.readers.text import Unfit

DEPTH_LIMIT = 1000
"""Most elements inside each other. The time to extract text grows with the square of the depth."""
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_OPEN = re.compile(
    r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dd|dt|option|tr|td|th|thead|tbody|tfoot"
    r"|colgroup|rp|rt|body|html|head",
    re.IGNORECASE,
)
"""Elements without an end tag, or that the next of their kind ends."""


ATTRIBUTE_LIMIT = 8192
"""Most attributes of a tag. The parser compares each with all others. What looks like a tag in a script counts too."""
_ATTRIBUTE = re.compile(r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>]*+))?+""")
_ATTRIBUTES = re.compile(f"</?[A-Za-z][^\\s/>]*+((?:{_ATTRIBUTE.pattern})*+)")


def check_attributes(html: str) -> None:
    """Checks that no element has so many attributes that the parser would take minutes.

    Raises:
        Unfit: "too many attributes".
    """
    if len(html) <= 2 * ATTRIBUTE_LIMIT:
        return
    for tag in _ATTRIBUTES.finditer(html):
        if tag.end() - tag.start() > 2 * ATTRIBUTE_LIMIT and len(_ATTRIBUTE.findall(tag[1])) > ATTRIBUTE_LIMIT:
            raise Unfit("too many attributes", f"more than {ATTRIBUTE_LIMIT} in one tag")


def html_text(html: str) -> str:
    r"""The text of HTML, with paragraphs, lists, lines and preformatted text as they are seen; scripts are left out.

    Args:
        html: a file or a fragment.

    Raises:
        Unfit: "html nested too deeply" or "too many attributes".

    >>> html_text("<p>To <b>be</b>,<br>or &amp; not</p><pre>a  b</pre>")
    'To be,\nor & not\n\na  b'
    """
    depth = 0
    for tag in _TAG.finditer(html):
        end, name = tag.groups()
        if not _OPEN.fullmatch(name):
            depth = max(depth - 1, 0) if end else depth + 1
            if depth > DEPTH_LIMIT:
                raise Unfit("html nested too deeply", f"more than {DEPTH_LIMIT} elements inside each other")
    check_attributes(html)
    with extra():
        from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415 - an extra
    text: str = extract_plain_text(html, main_content=False, alt_texts=False, preserve_formatting=True)
    return text.strip()
