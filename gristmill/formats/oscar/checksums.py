"""Checksum files as `sha256sum` writes them: `<lang>_sha256.txt`, `checksum.sha384`, `SHA256SUMS`.

Each line is a hash in hex, one or two spaces, an optional `*`, and a name relative to the file's folder. The length of
the hash tells its algorithm.

Sources: the GNU coreutils manual, "md5sum invocation"; oscar-project/ungoliant
(b26f11d9b28e25ab72999356b9a91d38a6535e04) writes one space, oscar-project/oscar-tools a `checksum.sha384`.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from gristmill.errors import DataError
from gristmill.formats.oscar.labels import has_tag_form
from gristmill.formats.oscar.names import natural_key

ALGORITHMS: Final = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
"""Algorithms by the number of hex digits of their hashes."""

_LINE = re.compile(r"(\\?)([0-9A-Fa-f]+) [ *]?(.+)")
_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}


class Checksum(NamedTuple):
    """One line of a checksum file.

    Attributes:
        name: path of the file, relative to the folder of the checksum file.
        digest: the hash in hex, in lower case.
        algorithm: `sha256`, `sha384`, ...; a name of hashlib.
    """

    name: str
    digest: str
    algorithm: str


def checksum_name(lang: str) -> str:
    """The name of a language's checksum file.

    Args:
        lang: the language label.

    Raises:
        DataError: it does not have the form of a label.

    >>> checksum_name("en")
    'en_sha256.txt'
    """
    if not has_tag_form(lang):
        raise DataError(f"{lang!r} is not a language label, so it cannot name a checksum file")
    return f"{lang}_sha256.txt"


def read_checksums(data: bytes, where: str) -> list[Checksum]:
    r"""The lines of a checksum file. Empty lines are left out.

    Args:
        data: content of the file.
        where: its path, for messages.

    Raises:
        DataError: a line is not a checksum, has a hash of unknown length, or names a file for which
            another line has another hash of the same kind; the message names the line.

    >>> read_checksums(b"d41d8cd98f00b204e9800998ecf8427e *en_part_1.jsonl.gz\n", "en_md5.txt")
    [Checksum(name='en_part_1.jsonl.gz', digest='d41d8cd98f00b204e9800998ecf8427e', algorithm='md5')]
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 at byte {error.start}: no checksum file; restore it") from error
    found: dict[tuple[str, str], Checksum] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.removesuffix("\r"))
        if match is None or len(match[2]) not in ALGORITHMS:
            raise DataError(
                f"{where} line {number}: {line!r:.100} is no checksum; give HASH, two spaces and the file's name"
            )
        name = re.sub(r"\\[\\nr]", lambda escape: _ESCAPES[escape[0]], match[3]) if match[1] else match[3]
        entry = Checksum(name.removeprefix("./"), match[2].lower(), ALGORITHMS[len(match[2])])
        other = found.setdefault((entry.name, entry.algorithm), entry)
        if other != entry:
            raise DataError(
                f"{where} line {number}: {entry.name} has two {entry.algorithm} hashes; remove the wrong one"
            )
    return list(found.values())


def write_checksums(entries: Iterable[tuple[str, str]]) -> bytes:
    r"""A checksum file that `sha256sum -c` accepts: two spaces, names in natural order.

    Args:
        entries: (name, hash in hex) of each file; names relative to the folder of the checksum file.

    Raises:
        DataError: a hash has an unknown length.

    >>> write_checksums([("b", "0" * 32)])
    b'00000000000000000000000000000000  b\n'
    """
    lines = []
    for name, digest in sorted(entries, key=lambda entry: natural_key(entry[0])):
        if len(digest) not in ALGORITHMS:
            raise DataError(f"{name}: a hash of {len(digest)} digits, {digest!r:.80}, is of no known algorithm")
        escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        lines.append(f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n")
    return "".join(lines).encode()
