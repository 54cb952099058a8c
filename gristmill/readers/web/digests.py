"""The digests that the records of a WARC file declare, such as `WARC-Block-Digest: sha1:...`."""

import base64
import hashlib

_ALGORITHMS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "md5": hashlib.md5, "sha512": hashlib.sha512}


def is_comparable_digest(declared: str) -> bool:
    """Whether a declared digest can be compared with a content.

    Args:
        declared: declared digest, as in digest_difference().

    >>> is_comparable_digest("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    True
    >>> is_comparable_digest("blake3:af13"), is_comparable_digest("sha1:")
    (False, False)
    """
    name, _, value = declared.partition(":")
    return _algorithm_name(name) in _ALGORITHMS and bool(value.strip())


def _algorithm_name(algorithm: str) -> str:
    return algorithm.strip().lower().replace("-", "")


def digest_difference(declared: str, content: bytes) -> str:
    """The difference between a declared digest and the content's, in words; empty if they agree.

    Args:
        declared: algorithm and digest, such as `sha1:...`, in base 32 or hex. Unknown algorithms are not compared.
        content: the bytes.

    >>> digest_difference("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", b"")
    ''
    """
    if not is_comparable_digest(declared):
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
