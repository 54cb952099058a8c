"""The digests that the records of a WARC file declare, such as `WARC-Block-Digest: sha1:...`."""

import base64
import hashlib

_ALGORITHMS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "md5": hashlib.md5, "sha512": hashlib.sha512}


def can_compare(declared: str) -> bool:
    """Whether a declared digest can be compared with a content.

    Args:
        declared: declared digest, as in wrong_digest().

    >>> can_compare("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), can_compare("blake3:af13"), can_compare("sha1:")
    (True, False, False)
    """
    name, _, value = declared.partition(":")
    return _algorithm_name(name) in _ALGORITHMS and bool(value.strip())


def _algorithm_name(algorithm: str) -> str:
    return algorithm.strip().lower().replace("-", "")


def wrong_digest(declared: str, content: bytes) -> str:
    """The difference between a declared digest and the content's, in words; empty if they agree.

    Args:
        declared: algorithm and digest, such as `sha1:...`, in base 32 or hex. Unknown algorithms are not compared.
        content: the bytes.

    >>> wrong_digest("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", b"")
    ''
    """
    if not can_compare(declared):
        return ""
    name, _, value = declared.partition(":")
    found, value = _ALGORITHMS[_algorithm_name(name)](content, usedforsecurity=False).digest(), value.strip()
    if len(value) == 2 * len(found):
        same = value.lower() == found.hex()
    elif base64.b32encode(found).decode() == value:
        same = True
    else:
        try:
            same = base64.b32decode(value.upper() + "=" * (-len(value) % 8)) == found
        except ValueError:  # no base 32, or a character that is not ASCII
            same = False
    return "" if same else f"{name} is {value}, but its bytes have {found.hex()}"
