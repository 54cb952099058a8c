"""The lake of a command that has no targets. It imports no pipeline: such a command begins sooner without one."""

import re
from argparse import Namespace
from pathlib import Path

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.terminal import lake_of_arguments
from gristmill.errors import RecipeError
from gristmill.lake.asset_kinds import KINDS, LEDGER_TOPS
from gristmill.lake.store.open import Lake
from gristmill.project import is_lake

_LEDGERS = (
    *(f"{top}/{below}ledgers" for top in LEDGER_TOPS for below in ("*/", "*/*/", "*/*/*/")),
    *(re.sub("{[a-z]+}", "*", kind.ledger) for kind in KINDS if kind.ledger and not kind.is_partitioned),
)
"""Where the folders of ledgers lie in a lake, and the ledgers of assets without snapshots."""


def is_lake_address(word: str) -> bool:
    """Whether a word is the lake by itself: it is a path, or a folder that is a lake.

    A folder is a lake if it has a lake's id, raw data or ledgers.
    """
    return is_path(word) or is_lake(Path(word)) or any(any(Path(word).glob(each)) for each in _LEDGERS)


def lake_without_targets(arguments: Namespace) -> Lake:
    """The lake of a command without targets. A bare word must be a lake: it may be misspelt.

    Args:
        arguments: arguments with the lake as it was typed, and the options of its bucket.

    Raises:
        RecipeError: the word is no path, and no lake; or as for lake_of_arguments().
    """
    word = str(arguments.lake)
    if not is_lake_address(word):
        raise RecipeError(
            f"{word!r} is no lake: there is no folder of this name with raw data or ledgers; write ./{word} if it is to"
            " be one, or - for the lake of the project"
        )
    return lake_of_arguments(arguments)
