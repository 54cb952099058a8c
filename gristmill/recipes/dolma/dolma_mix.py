"""The former place of gristmill.dolma.recipes.dolma_mix."""

from functools import partial

from gristmill.moved import moved_name

__getattr__ = partial(moved_name, __name__)
