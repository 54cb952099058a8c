"""From HTML to the main text of a page, without menus, footers and other boilerplate, by a library of one's choice."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from gristmill.errors import RecipeError
from gristmill.extras import check_installed, extra, needs
from gristmill.readers.files.html_text import check_attributes
from gristmill.readers.text import Unfit

Extractor = Literal["resiliparse", "trafilatura"]
"""The libraries that extract text."""

DEPTH_LIMIT = 2000
"""Most elements inside each other. With depth, the time of the extraction grows quadratically."""
_OPTIONS: Mapping[str, str] = {
    "resiliparse": "preserve_formatting main_content list_bullets alt_texts links form_fields noscript comments"
    " post_meta hidden_elements skip_elements",
    "trafilatura": "fast favor_precision favor_recall include_comments include_tables include_images"
    " include_formatting include_links target_language prune_xpath",
}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "resiliparse": {"main_content": True, "alt_texts": False},
    "trafilatura": {"include_comments": False},
}
_HEAD = 4096
_LANGUAGE = re.compile(r"<html\b[^>]*?\slang\s*=\s*[\"']?([A-Za-z0-9-]+)", re.IGNORECASE)
_TAG = re.compile(
    r"<(/?)(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dd|dt|option|optgroup|tr|td|th"
    r"|thead|tbody|tfoot|colgroup|rp|rt|body|html|head)[\s/>])[A-Za-z]",
    re.IGNORECASE,
)
"""The tags of elements that make a page deep: not of those without an end tag, or that the next of their kind ends."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says.

    Attributes:
        text: its main text; empty if nothing but boilerplate is found.
        title: its title; empty without one.
        language: the language that its `<html lang>` declares; empty without one.
    """

    text: str
    title: str
    language: str


def check_options(extractor: str, options: Mapping[str, Any], what: str) -> None:
    """Checks the names of the options of an extractor.

    Args:
        extractor: the library.
        options: its options, by name.
        what: the recipe and the option, for messages.

    Raises:
        RecipeError: an option is unknown; the message lists the known ones.
    """
    known = _OPTIONS[extractor].split()
    unknown = sorted(options.keys() - set(known))
    if unknown:
        raise RecipeError(f"{what}: {extractor} has no option {', '.join(unknown)}; it has {', '.join(known)}")


@cache
def extractor_version(extractor: str) -> str:
    """The installed version of an extractor's package, for `extractor_version=` in a recipe and for data cards.

    Raises:
        RecipeError: it is not installed.

    >>> extractor_version("resiliparse").split(".")[0]
    '2'
    """
    check_installed(needs(extractor), f"the extractor {extractor}")
    return version(extractor)


def extract_main_text(html: str, extractor: str, options: Mapping[str, Any]) -> Page:
    """The main text, title and declared language of a page.

    Args:
        html: the page.
        extractor: the library.
        options: its options; see DEFAULTS in the documentation of WarcPages.

    Raises:
        Unfit: "nested too deeply" or "too many attributes".

    >>> extract_main_text("<html lang=de><title>Tor</title><main><p>Das Tor ist zu.</main>", "resiliparse", {})
    Page(text='Das Tor ist zu.', title='Tor', language='de')
    """
    with extra():
        from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415 - an extra
        from resiliparse.parse.html import HTMLTree  # noqa: PLC0415 - see above
    check_depth(html)
    check_attributes(html)
    tree = HTMLTree.parse(html)
    title = " ".join((tree.title or "").split())
    declared = _LANGUAGE.search(html, 0, _HEAD)
    language = declared[1] if declared else ""
    given = {**_DEFAULTS[extractor], **options}
    text = (
        extract_plain_text(tree, **given) if extractor == "resiliparse" else _trafilatura_extract()(html, **given) or ""
    )
    return Page(text.strip(), title, language)


def check_depth(html: str) -> None:
    """Checks that a page is not so deep that its extraction would take minutes. Few pages must be looked through.

    Raises:
        Unfit: "nested too deeply".
    """
    if html.count("<") <= DEPTH_LIMIT:
        return
    ends = _TAG.findall(html)
    if ends.count("") <= DEPTH_LIMIT:
        return
    depth = 0
    for end in ends:
        depth = max(depth - 1, 0) if end else depth + 1  # an end tag of nothing closes nothing
        if depth > DEPTH_LIMIT:
            raise Unfit("nested too deeply", f"more than {DEPTH_LIMIT} elements inside each other")


@cache
def _trafilatura_extract() -> Callable[..., str | None]:
    with extra():
        from trafilatura import extract  # noqa: PLC0415 - an extra that few recipes need
    return extract
