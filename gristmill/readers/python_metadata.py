"""Reads the METADATA file of a Python package: its name, version, licence and description.

Source: the core metadata specification (https://packaging.python.org/specifications/core-metadata).
"""

import email
import re
from dataclasses import dataclass
from textwrap import dedent

from gristmill.readers.text import Unfit, plain_text

UNKNOWN_LICENCE = "NOASSERTION"
"""The word of SPDX for a licence that is not stated."""

# Only classifiers that name one licence. "BSD License" may mean three licences, "GPL" six.
_CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: The Unlicense (Unlicense)": "Unlicense",
}


@dataclass(frozen=True)
class Distribution:
    """One release of a package.

    Attributes:
        name: normalised by PEP 503.
        version: version as METADATA gives it.
        licence: an SPDX expression, or NOASSERTION if none is stated.
        description: the long description; may be empty.
    """

    name: str
    version: str
    licence: str
    description: str


def normalise_package_name(name: str) -> str:
    """The name of a package in the form in which PEP 503 compares names.

    >>> normalise_package_name("Foo_Bar")
    'foo-bar'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution(raw: bytes) -> Distribution:
    r"""A release from the bytes of its METADATA file: RFC 822 headers, with the description as the body.

    The licence is `License-Expression` (PEP 639). Without it, it is the only classifier that names a single licence.

    Args:
        raw: the file's bytes, UTF-8.

    Raises:
        Unfit: "not utf-8", "empty text", or "metadata without name or version".

    >>> distribution(b"Name: Foo_Bar\nVersion: 1.0\nLicense-Expression: MIT\n\nGrinds text.\n")
    Distribution(name='foo-bar', version='1.0', licence='MIT', description='Grinds text.\n')
    """
    message = email.message_from_string(plain_text(raw))
    name, version = message.get("Name", "").strip(), message.get("Version", "").strip()
    if not name or not version:
        raise Unfit("metadata without name or version")
    body = message.get_payload()
    description = (
        body if isinstance(body, str) and body.strip() else _unfold_description(message.get("Description", ""))
    )
    licences = {_CLASSIFIERS[line] for line in message.get_all("Classifier", []) if line in _CLASSIFIERS}
    licence = message.get("License-Expression", "").strip()
    if not licence:
        licence = licences.pop() if len(licences) == 1 else UNKNOWN_LICENCE
    return Distribution(
        normalise_package_name(name), version, licence, "" if description.strip() == "UNKNOWN" else description
    )


def _unfold_description(header: str) -> str:
    """A description in the older form: a header of several lines.

    Its further lines begin with spaces, or with seven spaces and a bar.
    """
    first, _, rest = header.partition("\n")
    if not rest:
        return first
    lines = dedent(re.sub(r"^ {7}\|", "        ", rest, flags=re.MULTILINE))
    return f"{first}\n{lines}"
