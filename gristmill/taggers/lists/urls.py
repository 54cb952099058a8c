"""Which documents come from the hosts and pages of a list: block lists of adult sites, allow lists of trusted ones.

A list is what people publish (UT1 of the Université Toulouse Capitole, hosts files, Adblock lists), brought into the
lake as a model. Dolma's URL taggers (`dolma/taggers/url.py` of release 1.2.1) look up the same lists; they find a host
only under its own name and with `www.` before it, and a page only by its whole URL without the query. With
`below=False` a host is found under the same names here.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.lists.list_files import list_files
from gristmill.text.lists.url_lines import listed_urls
from gristmill.text.lists.url_table import UrlTable

KEYS = ("url", "WARC-Target-URI")
"""Where documents have their URL: Gristmill's and Dolma's key, and that of WARC headers."""


def url_list(
    name: str, *, models: Sequence[str], keys: Sequence[str] = KEYS, below: bool = True, description: str = ""
) -> Tagger:
    """A tagger that looks up each document's URL in lists.

    Args:
        name: name of the tagger, such as `adult-hosts-1`.
        models: the lists, as names of models of the lake. Each is a file, a folder or a tar archive; see
            `gristmill.text.lists.url_lines` for the forms of lines.
        keys: names in a document's metadata that may hold its URL. The first that holds a string counts.
        below: whether a host stands for all hosts below it too, as `example.com` for `cdn.example.com`.
        description: description for people.
    """
    return Tagger(
        name=name,
        models=tuple(models),
        open=lambda files: open_url_lists(files, keys=keys, below=below),
        labels=(
            Score("listed", "1 if its host or its page is in the list; 0 if not", low=0, high=1, optional=True),
            Score("host", "1 if its host is in the list", low=0, high=1, optional=True),
            Score("page", "1 if its page, or a folder above it, is in the list", low=0, high=1, optional=True),
        ),
        parameters={"keys": list(keys), "below": below},
        description=description or "Whether a document's URL is in a list of hosts and pages.",
    )


def open_url_lists(
    files: Mapping[str, Path], *, keys: Sequence[str] = KEYS, below: bool = True
) -> Callable[[Batch], Mapping[str, Any]]:
    """Opens lists: see url_list.

    Args:
        files: the lists by name.
        keys: keys of the metadata with URLs, as for url_list().
        below: whether entries hold for what is below them, as for url_list().

    Returns:
        A function from a batch to its labels. A document without URL, or with one that has no host, has none.

    Raises:
        RecipeError: a list cannot be read, has a line that is no host and no URL, is empty or too long.
    """
    entries = (
        entry for path in files.values() for file in list_files(path) for entry in listed_urls(file.lines(), file.shown)
    )
    table = UrlTable.of(entries, below=below)

    def tag(batch: Batch) -> dict[str, Any]:
        found = table.find(_document_urls(batch, keys))
        absent = ~found.known
        return {
            "listed": np.ma.MaskedArray((found.hosts | found.pages).astype(np.float64), absent),
            "host": np.ma.MaskedArray(found.hosts.astype(np.float64), absent),
            "page": np.ma.MaskedArray(found.pages.astype(np.float64), absent),
        }

    return tag


def _document_urls(batch: Batch, keys: Sequence[str]) -> list[str]:
    """The URL of each document; empty if it has none."""
    first = keys[0] if keys else ""
    urls: list[str] = []
    for document in batch:
        metadata = document.metadata
        url = metadata.get(first) if type(metadata) is dict else None  # as nearly all, without a call
        urls.append(url if type(url) is str and url else _url_in_metadata(metadata, keys))
    return urls


def _url_in_metadata(metadata: Any, keys: Sequence[str]) -> str:
    """The URL that a document's metadata holds; empty if it holds none."""
    if isinstance(metadata, dict):
        for key in keys:
            value = metadata.get(key)
            if isinstance(value, str) and value:
                return value
    return ""


BLOCKED_URLS = url_list(
    "blocked-urls-1",
    models=("blocked-urls-1",),
    description="Whether a document's URL is in the list of the model `blocked-urls-1`.",
)
