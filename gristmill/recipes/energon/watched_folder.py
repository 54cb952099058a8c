"""The former place of gristmill.energon.recipes.watched_folder."""

from functools import partial

from gristmill.moved import moved_name

__getattr__ = partial(moved_name, __name__)
