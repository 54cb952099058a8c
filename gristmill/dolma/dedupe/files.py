"""Which files are compared, in which order, and where their attributes go: the rules of Dolma's dedupe.

Source: github.com/allenai/dolma, release 1.2.1: `src/shard.rs` (find_objects_matching_patterns) and `src/deduper.rs`.
Files come in the order of the patterns. The files of one pattern come folder by folder, each folder in the order of the
bytes of its names; the objects of a bucket come in the order of their keys.
"""

from collections.abc import Mapping
from pathlib import Path

from gristmill.dolma.dedupe.config import DedupeConfig
from gristmill.dolma.tagging.paths import TaggedFile, matching_files, place_in_listing
from gristmill.errors import RecipeError


def compared_files(config: DedupeConfig, options: Mapping[str, str]) -> tuple[list[TaggedFile], list[str]]:
    """The files in the order of comparison.

    Args:
        config: configuration that says what is compared.
        options: options of the bucket's client.

    Returns:
        The files, and the patterns that match none.

    Raises:
        RecipeError: no file matches, one matches twice, or it is not clear where its attributes go.
        StoreError: the store does not answer.
    """
    files: dict[str, TaggedFile] = {}
    missed: list[str] = []
    for pattern in config.documents:
        root, found = matching_files(pattern, options)
        if not found:
            missed.append(pattern)
        for path, version in sorted(found.items(), key=lambda each: place_in_listing(each[0], pattern)):
            url = f"{root.rstrip('/')}/{path}"
            if url in files:
                raise RecipeError(
                    f"{url}: two entries of documents match it. The toolkit would mark all of it as a duplicate of"
                    " itself; leave one out"
                )
            output, name = _attribute_folder_and_name(url, pattern, config)
            files[url] = TaggedFile(root, path, version, output, name)
    if not files:
        raise RecipeError(f"no file matches {', '.join(config.documents)}; give paths or patterns of Dolma documents")
    return list(files.values()), missed


def _attribute_folder_and_name(url: str, pattern: str, config: DedupeConfig) -> tuple[str, str]:
    """The folder of the attributes of a file, and its name below it. Each folder of that name is replaced."""
    here = "" if "://" in pattern or pattern.startswith("/") else f"{Path.cwd()}"
    below = url.removeprefix(here)
    old, new = f"/{config.document_dir.strip('/')}/", f"/attributes/{config.numbered_name(config.name)}/"
    before, found, after = below.partition(old)
    if not found:
        raise RecipeError(
            f"{url}: no folder is named {config.document_dir!r}, so it is not clear where the attributes go; move the"
            " file below one, or give dedupe.document_dir"
        )
    return f"{here}{before}{new}".rstrip("/"), after.replace(old, new)
