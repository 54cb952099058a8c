"""The file that a command writes for people: it appears when it is complete, and never in the lake."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gristmill.errors import RecipeError


@contextmanager
def write_output_file(name: str, lake: str) -> Iterator[Path]:
    """Gives a path to write to. What was written there gets the file's name at the end, and is removed after an error.

    Something that is no regular file, such as /dev/stdout, is written to as it is.

    Args:
        name: path of the file, as a person gave it.
        lake: root of the lake. Its files are those of its ledgers, so nothing else may replace them.

    Returns:
        The path to write to.

    Raises:
        RecipeError: the file is in the lake, or cannot be written.
    """
    target = Path(name).resolve()
    if "://" not in lake and target.is_relative_to(Path(lake).resolve()):
        raise RecipeError(f"--output {name}: is in the lake {lake}, where only ledgers name files; write it elsewhere")
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name[:100]}-") as folder:
            written = Path(folder, "written")
            yield written
            written.replace(target)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise RecipeError(
            f"--output {name}: cannot be written ({error.strerror or error}); name another file"
        ) from error
