"""Names of the members of a tar: each gives the key of a sample, and which part of that sample the member is.

The key of a member is its folder and its name up to the first dot; the part is the rest: `cats/tom.seg.png` is part
`seg.png` of sample `cats/tom`. Neighbours with the same key are one sample.

Source: NVIDIA/Megatron-Energon 7.4.1, where `prepare` passes over members whose name gives no key.
"""

import re
from typing import Final

from gristmill.errors import DataError

NAME: Final = re.compile(r"((?:.*/)?[^.]+)\.([^/]*)")
"""A name that gives a key and a part; to be matched in full."""
META: Final = re.compile(r"__[^/]*__(?:$|/)")
"""The start of a name that is passed over: a member or a folder such as `__meta__`."""

RESERVED: Final = "__"
"""The start of names that the loader itself adds to a sample, such as `__key__`. It fails if a part has such a name."""
UNPICKLED: Final = frozenset({"pickle", "pkl", "pth", "pyd"})
"""Last endings of parts that the loader unpickles. Unpickling can run code that is in the file."""

_PART: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_SAFE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_ESCAPED: Final = re.compile(rb"=([0-9A-F]{2})")
_UNUSABLE: Final = re.compile(r"[{}\\#%?\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff]")
_PACKED_TAR: Final = re.compile(r"\.t(?:ar(?:\.(?:gz|bz2|xz|zstd?))?|gz|bz2?|xz|zst)$", re.IGNORECASE)
_LONGEST_KEY = 900
"""Most bytes of a key. Our readers of archives refuse names of more than 1,000 characters; the part has the rest."""


def split_name(name: str) -> tuple[str, str] | None:
    """The key and the part of a member's name; None if the loader passes over it.

    Args:
        name: name of a regular file in a tar.

    >>> split_name("cats/tom.seg.png"), split_name("dir.v1/.hidden.json"), split_name("__meta__/a.json")
    (('cats/tom', 'seg.png'), None, None)
    >>> split_name("./a.txt"), split_name("a."), split_name("__meta__.json")
    (('./a', 'txt'), ('a', ''), ('__meta__', 'json'))
    """
    if META.match(name):
        return None
    match = NAME.fullmatch(name)
    return (match[1], match[2]) if match else None


def safe_key(document_id: str) -> str:
    """A key for a document's id. Two ids never have the same key, and document_id() gives the id back.

    ASCII letters, digits, `-` and `_` stay. Each other byte of the UTF-8 text becomes `=` and two hex digits, as does
    the first of two leading underscores. So no key has a dot, a slash, a brace or a letter outside of ASCII.

    Args:
        document_id: the id.

    Raises:
        DataError: the id is empty, is wrong Unicode, or gives a key of more than 900 bytes.

    >>> safe_key("web/a.html:7"), safe_key("__meta__")
    ('web=2Fa=2Ehtml=3A7', '=5F_meta__')
    """
    try:
        raw = document_id.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the id {document_id!r:.100} is not valid Unicode, so it gives no sample key") from error
    if not raw:
        raise DataError("an empty id gives no sample key; give the document an id")
    key = "".join(chr(byte) if byte in _SAFE else f"={byte:02X}" for byte in raw)
    if key.startswith("__"):
        key = f"=5F{key[1:]}"
    if len(key) > _LONGEST_KEY:
        raise DataError(
            f"the id {document_id!r:.100} gives a sample key of {len(key)} bytes, at most {_LONGEST_KEY} are written;"
            " give the document a shorter id"
        )
    return key


def document_id(key: str) -> str:
    """The id from which `safe_key` made a key.

    Args:
        key: key from `safe_key`.

    Raises:
        DataError: `safe_key` does not make such a key.

    >>> document_id("web=2Fa=2Ehtml=3A7")
    'web/a.html:7'
    """
    try:
        text = _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), key.encode("ascii")).decode()
        matches = safe_key(text) == key
    except (UnicodeError, DataError):
        matches = False
    if not matches:
        raise DataError(f"{key!r:.100} is not a sample key that was made of a document's id")
    return text


def tar_of_id(id_: str, key: str) -> str:
    """The path of the tar with which an id begins, if WebdatasetSamples(shard_in_id=True) made the id of this sample.

    Args:
        id_: id of the document.
        key: key of the sample in the tar.

    Returns:
        The path, with the ending `.tar` even if the tar is packed (`.tgz`, `.tar.gz`); empty for any other id.

    >>> tar_of_id("s/0.tar/cats/tom", "cats/tom"), tar_of_id("0.tgz/web/a:7", "web=2Fa=3A7"), tar_of_id("0.tar/2", "1")
    ('s/0.tar', '0.tar', '')
    """
    sample = key
    if not id_.endswith(f"/{key}"):
        try:
            sample = document_id(key)
        except DataError:
            return ""
    path = id_.removesuffix(f"/{sample}")
    packing = None if path == id_ else _PACKED_TAR.search(path)
    return f"{path[: packing.start()]}.tar" if packing else ""


def is_part(part: str) -> bool:
    """Whether a recipe may give a part this name: ASCII letters, digits, `_`, `-`, inner dots; no `__` at the start.

    >>> [is_part(part) for part in ("txt", "seg.png", ".txt", "__key__")]
    [True, True, False, False]
    """
    return _PART.fullmatch(part) is not None and not part.startswith(RESERVED)


def check_media_name(name: str) -> tuple[str, str]:
    """Checks the name by which a document refers to a media file of a WebDataset. Returns its key and its part.

    Args:
        name: path relative to the auxiliary data (energon's name for the media files), such as `photos/tom.jpg`.

    Raises:
        DataError: check_media_path() refuses the name, or it gives no key.

    >>> check_media_name("photos/tom.jpg")
    ('photos/tom', 'jpg')
    >>> check_media_name("../tom.jpg")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    gristmill.errors.DataError: media name '../tom.jpg': it leaves its folder, or has an empty part; give a plain ...
    """
    check_media_path(name)
    pair = split_name(name)
    if pair is not None and not pair[0].endswith("/") and pair[1]:
        return pair
    raise _unusable_name(name, "it has no name before its first dot, or no ending")


def check_media_path(name: str) -> None:
    """Checks the name by which a document refers to a media file, which need not have an ending.

    A folder of files can have files without one; a WebDataset cannot: see check_media_name().

    Args:
        name: path relative to the auxiliary data, such as `photos/tom.jpg` or `5f/1e07`.

    Raises:
        DataError: the name is absolute or a URL; a name between two slashes is empty, `.` or `..`; or the loader cannot
            use a character: a brace, a backslash, `#`, `%`, `?`, a control character, a line separator or a surrogate.
    """
    if name.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name):
        raise _unusable_name(name, "it is absolute")
    if any(piece in {"", ".", ".."} for piece in name.split("/")):
        raise _unusable_name(name, "it leaves its folder, or has an empty part")
    if _UNUSABLE.search(name):
        characters = "braces, `\\`, `#`, `%`, `?` or a control character"
        raise _unusable_name(name, f"it has a character that the loader cannot use ({characters})")


def _unusable_name(name: str, reason: str) -> DataError:
    return DataError(f"media name {name!r:.200}: {reason}; give a plain relative name such as 'photos/tom.jpg'")


def unusable_characters(path: str) -> str:
    """The characters of a shard's path that the loader cannot use, in order; empty if it can use the path.

    Shard names are brace-expanded, and `#`, `%` and `?` in a path break random access.

    Args:
        path: path of a shard, relative to its dataset.

    >>> unusable_characters("train{1}/50%.tar"), unusable_characters("train/a.tar")
    ('{}%', '')
    """
    return "".join(dict.fromkeys(_UNUSABLE.findall(path)))
