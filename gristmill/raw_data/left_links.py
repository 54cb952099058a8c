"""Links to nothing, or round in a circle, in the raw data of a source whose reader leaves links out."""

from gristmill.lake.store.plain_files import NO_TARGET, Tell, Unlisted
from gristmill.recipes.source import Source


def without_left_links(source: Source, top: str, tell: Tell) -> Tell:
    """Keeps links to nothing or in a circle from what takes all that a listing lacks, if the reader leaves links out.

    Args:
        source: the recipe. Its reader says so by `leaves_link`.
        top: the folder of the raw data, with its closing slash.
        tell: function that takes the others.

    Returns:
        What takes all, and passes the others on.
    """
    leaves = source.reader.leaves_link

    def needed(found: Unlisted) -> None:
        if not found.path.startswith(top):  # the folder of all raw data, or one above it
            tell(found)
            return
        name = found.path.removeprefix(top)
        split = source.partition.split(name)
        below = name.removeprefix(source.partition.prefix(split[0])) if split else ""
        if not (found.circle or found.reason == NO_TARGET) or not below or not leaves(below):
            tell(found)

    return needed
