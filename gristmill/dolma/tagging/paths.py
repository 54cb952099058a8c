"""Which files are tagged, and where their attributes go: the toolkit's rules.

Source: github.com/allenai/dolma, release 1.2.1, `core/runtime.py` (_make_paths_from_substitution), `core/paths.py`
(glob_path, make_relative) and `core/parallel.py` (_get_all_paths). One rule surprises: a file keeps only those folders
in its name that differ among the files of its pattern.
"""

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.disk.followed_links import FollowedLinks
from gristmill.lake.store.open import open_store
from gristmill.lake.store.plain_files import is_folder, sorted_items
from gristmill.lake.store.protocol import ObjectVersion, Store

WILDCARD = re.compile(r"[*?[\]]")
BUCKET = "s3://"

_BRACKET = re.compile(r"\[!?\]?[^\]/]*\]")
_RAW = re.compile(r"/sources/[^/]+/raw(/|$)")


class PlacedFile(msgspec.Struct, frozen=True):
    """A file.

    Attributes:
        root: folder or address that holds the file.
        path: path of the file below its root.
        version: version of the file, as a listing shows it.
    """

    root: str
    path: str
    version: ObjectVersion

    @property
    def url(self) -> str:
        """The path or address of the file."""
        return f"{self.root.rstrip('/')}/{self.path}"


class TaggedFile(PlacedFile, frozen=True):
    """A file of documents, and where its attributes go.

    Attributes:
        output: folder or address below which the attributes go.
        name: name of the attributes' file below `output`.
    """

    output: str
    name: str


def tagged_files(
    documents: Sequence[str], outputs: Sequence[str], options: Mapping[str, str]
) -> tuple[list[TaggedFile], list[str]]:
    """The files of all patterns.

    Args:
        documents: the patterns.
        outputs: destinations of the attributes, one for each pattern.
        options: options of the bucket's client.

    Returns:
        The files, and the patterns that match none.

    Raises:
        RecipeError: no pattern matches a file, or two files have one output.
        StoreError: the store does not answer.
    """
    files: list[TaggedFile] = []
    missed: list[str] = []
    for pattern, output in zip(documents, outputs, strict=True):
        root, found = matching_files(pattern, options)
        if not found:
            missed.append(pattern)
        shared = _shared_folder_length([f"{root}/{path}" for path in found])
        for path, version in sorted(found.items()):
            name = f"{root}/{path}"[shared:]
            files.append(TaggedFile(root, path, version, output, name))
    if not files:
        raise RecipeError(f"no file matches {', '.join(documents)}; give paths or patterns of Dolma documents")
    homes: dict[tuple[str, str], str] = {}
    for file in files:
        other = homes.setdefault((file.output, file.name), file.url)
        if other != file.url:
            raise RecipeError(f"{other} and {file.url} have the same output {file.output}/{file.name}; tag them apart")
    return list({file.url + file.output: file for file in files}.values()), missed


def resolve_folder_links(place: str) -> str:
    """A folder without links and `..`, so that it has one name; an address stays as it is."""
    return place if "://" in place else os.path.realpath(place)


def resolve_output_links(place: str) -> str:
    """A folder of outputs without links and `..`.

    Args:
        place: the folder, or an address.

    Raises:
        RecipeError: a link leads to the raw data of a lake, where outputs would be taken for raw files.
    """
    found = resolve_folder_links(place)
    if _RAW.search(found) and not _RAW.search(os.path.abspath(place)):  # noqa: PTH100 - resolve() follows links
        raise RecipeError(
            f"{place}: a link leads to {found}, the raw data of a lake; remove it, or give another folder"
        )
    return found


def output_folder_of_pattern(pattern: str, folder: str) -> str:
    """The folder of a pattern's attributes if no destination is given: its fixed folders, `documents` replaced.

    Args:
        pattern: pattern of documents.
        folder: folder that replaces the first folder named `documents`, such as `attributes/exp`.

    Raises:
        RecipeError: no folder is named `documents`.

    >>> output_folder_of_pattern("s3://b/wiki/v0/documents/en/*.gz", "attributes/exp")
    's3://b/wiki/v0/attributes/exp/en'
    >>> output_folder_of_pattern("wiki/documents/0.json.gz", "a")
    'wiki/a'
    """
    scheme = BUCKET if pattern.startswith(BUCKET) else ""
    parts = pattern.removeprefix(scheme).split("/")
    fixed = fixed_folders(parts) if WILDCARD.search(pattern) else parts[: -2 if not parts[-1] else -1]
    if "documents" not in fixed:
        raise RecipeError(
            f"{pattern}: no folder named `documents` is before the file or the first `*`, so it is not clear where the"
            " attributes go; give a destination"
        )
    at = fixed.index("documents")
    return scheme + "/".join([*fixed[:at], folder, *fixed[at + 1 :]])


def fixed_folders(parts: Sequence[str]) -> list[str]:
    """The folders before the first part with a wildcard.

    Args:
        parts: parts of a pattern with a wildcard.
    """
    return list(parts[: next(number for number, part in enumerate(parts) if WILDCARD.search(part))])


def _shared_folder_length(urls: Sequence[str]) -> int:
    """How many characters the folders have that all files share, with the closing slash."""
    if not urls:
        return 0
    folders = [url.split("/")[:-1] for url in urls]
    first, last = min(folders), max(folders)
    count = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return len("/".join(first[:count])) + 1


def matching_files(pattern: str, options: Mapping[str, str]) -> tuple[str, dict[str, ObjectVersion]]:
    """The root that holds the files of a pattern, and their versions by path.

    Args:
        pattern: pattern of documents.
        options: options of the bucket's client.

    Raises:
        RecipeError: it is neither a path nor an address in a bucket.
        StoreError: the store does not answer.
    """
    if pattern.startswith(BUCKET):
        parts = pattern.removeprefix(BUCKET).split("/")
        bucket, rest = parts[0], parts[1:]
        if WILDCARD.search(bucket) or not rest:
            raise RecipeError(f"{pattern}: name the bucket, and objects in it")
        root = f"{BUCKET}{bucket}"
        return root, dict(matching_objects(open_store(root, options), "/".join(rest)))
    if "://" in pattern:
        raise RecipeError(f"{pattern}: give a path, or an address such as s3://bucket/documents/*.gz")
    root = str(
        Path("/".join(fixed_folders(pattern.split("/"))) or ("/" if pattern.startswith("/") else "."))
        if WILDCARD.search(pattern)
        else Path(pattern)
        if Path(pattern).is_dir()
        else Path(pattern).parent
    )
    chosen = f"{glob.escape(pattern)}/*" if Path(pattern).is_dir() and not WILDCARD.search(pattern) else pattern
    found: dict[str, ObjectVersion] = {}
    store = open_store(str(Path(root).absolute()), foreign=True)
    for name in sorted(glob_paths(chosen)):
        path = Path(name)
        if path.is_file() and not path.name.startswith("."):
            relative = path.relative_to(root).as_posix()
            entry = store.head(relative)
            if entry is None:
                raise DataError(f"{name}: a link out of {root} is not followed; give the path of the file itself")
            found[relative] = entry.version
    return str(Path(root).absolute()), found


def glob_paths(pattern: str) -> list[str]:
    """The files and folders that a pattern matches. `**` follows links to folders, as in the toolkit.

    Args:
        pattern: pattern of paths.

    Raises:
        NoFile: below `**`, a link leads round in a circle, or links multiply: the pattern would match without end.
        StoreError: below `**`, a folder cannot be read: its documents would be left out without a word.
    """
    parts = pattern.split("/")
    if "**" in parts:
        above = "/".join([*parts[: parts.index("**")], ""]) or "./"
        for folder in glob.glob(above):  # noqa: PTH207 - Dolma's rules of patterns
            _check_links(folder.rstrip("/") or "/", FollowedLinks())
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 - Dolma's rules of patterns


def _check_links(folder: str, links: FollowedLinks) -> None:
    """Raises NoFile if the links below a folder do not end. `**` enters no folder with a dot in front."""
    for item in sorted_items(folder, f"{folder.rstrip('/')}/", None):
        if not item.name.startswith(".") and is_folder(item):
            path, followed = item.path, links
            if item.is_symlink():
                path, followed = links.follow_link(item.path, folder, item.name)
            _check_links(path, followed)


def place_in_listing(path: str, pattern: str) -> list[bytes]:
    """The key by which the files of a pattern are sorted, as the toolkit's Rust programs list them.

    The files of a folder come in the order of the bytes of their names, folder by folder; the objects of a bucket in
    the order of their keys.

    Args:
        path: path of a file below the root of its pattern.
        pattern: pattern that it matches.
    """
    return [path.encode()] if pattern.startswith(BUCKET) else [part.encode() for part in path.split("/")]


def matching_objects(store: Store, pattern: str) -> Iterator[tuple[str, ObjectVersion]]:
    """The objects of a bucket that a pattern matches, by path. Like files, none is below a folder with a dot in front.

    Args:
        store: store of the bucket.
        pattern: below its root.
    """
    if not WILDCARD.search(pattern):
        entry = store.head(pattern) if pattern and not pattern.endswith("/") else None
        if entry:
            yield entry.path, entry.version
            return
        pattern = f"{pattern.rstrip('/')}/*"
    fixed = "".join(f"{part}/" for part in fixed_folders(pattern.split("/")))
    fits = re.compile(pattern_regex(pattern)).fullmatch
    for entry in store.list(fixed):
        if fits(entry.path) and "/." not in f"/{entry.path.removeprefix(fixed)}":  # as glob does: our records too
            yield entry.path, entry.version


def pattern_regex(pattern: str) -> str:
    """The regular expression of a pattern: `**` alone is any folders, `*`, `?` and brackets do not pass a slash.

    Brackets are those of `fnmatch`: `!` excludes, `^` is a character, and a range that runs backwards is empty.

    Args:
        pattern: pattern of paths.
    """
    rules = (("**/", "(?:[^/]+/)*"), ("**", ".*"), ("*", "[^/]*"), ("?", "[^/]"))
    out, at = "", 0
    while at < len(pattern):
        rule = next((rule for rule in rules if pattern.startswith(rule[0], at)), None)
        bracket = _BRACKET.match(pattern, at)
        if rule:
            out, at = out + rule[1], at + len(rule[0])
        elif bracket:
            inner = fnmatch.translate(bracket.group())[: -len(r"\Z")]
            out, at = f"{out}(?!/){inner}", bracket.end()
        else:
            out, at = out + re.escape(pattern[at]), at + 1
    return out
