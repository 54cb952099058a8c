"""Whether a folder can be a lake: told at once, before something is read from it that is not there."""

from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.lake.asset_kinds import LEDGER_TOPS
from gristmill.lake.store.endpoint import absolute_folder

_SIGNS = (
    "lake.json",
    *(top.rstrip("/") for top in LEDGER_TOPS),
    "blocklists",
    "labels",
    "models",
    "releases",
    "tokenizers",
)
"""Names in the folder of a lake, also of one that nobody has made anything in yet."""


def check_lake(url: str) -> None:
    """Checks that a folder is a lake, or is empty, so that it may become one. A bucket is not asked.

    Args:
        url: address of the lake.

    Raises:
        RecipeError: there is no such folder, other things are in it, or it begins with the `~` of nobody.

    >>> check_lake("/no/such/lake")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: /no/such/lake: no lake: there is no such folder; make it, if it is to become one
    """
    if "://" in url:
        return
    folder = Path(absolute_folder(url, "the lake's address"))
    if not folder.is_dir():
        raise RecipeError(f"{url}: no lake: there is no such folder; make it, if it is to become one")
    names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    if names and names.isdisjoint(_SIGNS):
        inside = next((name for name in sorted(names) if (folder / name / "sources").is_dir()), "")
        mend = f"it is {folder / inside}, perhaps" if inside else "name the folder that has sources/"
        raise RecipeError(f"{url}: no lake: it has neither raw data nor ledgers; {mend}")
