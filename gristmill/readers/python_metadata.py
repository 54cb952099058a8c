"""Distributions: what a Python package says about itself in its METADATA file."""

import email
import re
from dataclasses import dataclass
from textwrap import dedent

from gristmill.readers.text import Unfit, plain_text

UNKNOWN_LICENCE = "NOASSERTION"
"""SPDX's own word for a licence that nobody has stated."""

# Only classifiers that name one licence; "BSD License" is three, "GPL" is six.
_CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: The Unlicense (Unlicense)": "Unlicense",
}


@dataclass(frozen=True)
class Distribution:
    """One release: `name` normalised (PEP 503), `licence` an SPDX expression where one is stated."""

    name: str
    version: str
    licence: str
    description: str


def normalised(name: str) -> str:
    """A package's name as PEP 503 compares names: `Foo_Bar` is `foo-bar`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution(raw: bytes) -> Distribution:
    """A release by its METADATA (core metadata specification; RFC 822 headers, the description as the body).

    The licence is `License-Expression` (PEP 639), or else the one classifier that names a single licence.

    Raises:
        Unfit: "not utf-8", "empty text", or "metadata without name or version".
    """
    message = email.message_from_string(plain_text(raw))
    name, version = message.get("Name", "").strip(), message.get("Version", "").strip()
    if not name or not version:
        raise Unfit("metadata without name or version")
    body = message.get_payload()
    description = body if isinstance(body, str) and body.strip() else _folded(message.get("Description", ""))
    classified = {_CLASSIFIERS[line] for line in message.get_all("Classifier", []) if line in _CLASSIFIERS}
    licence = message.get("License-Expression", "").strip()
    if not licence:
        licence = classified.pop() if len(classified) == 1 else UNKNOWN_LICENCE
    return Distribution(normalised(name), version, licence, "" if description.strip() == "UNKNOWN" else description)


def _folded(header: str) -> str:
    """A description in the older form, folded into a header: lines led by spaces, or by seven and a bar."""
    first, _, rest = header.partition("\n")
    if not rest:
        return first
    lines = dedent(re.sub(r"^ {7}\|", "        ", rest, flags=re.MULTILINE))
    return f"{first}\n{lines}"
