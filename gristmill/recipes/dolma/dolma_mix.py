"""The former place of gristmill.dolma.recipes.dolma_mix."""

from typing import Any

from gristmill.moved import moved_name


def __getattr__(name: str) -> Any:
    return moved_name(__name__, name)
