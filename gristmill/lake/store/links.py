"""Links in the folder of a lake: objects may be read through them, but nothing outside is written or deleted."""

import os

from gristmill.errors import StoreError


class InsideOnly:
    """Refuses folders of a lake that are links, or lie behind links, out of the lake.

    Args:
        root: the lake's folder. It may itself be a link.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._inside: set[str] = set()

    def check(self, folder: str) -> None:
        """Checks the folder of an object that is written or deleted. A folder that passed is not looked at again.

        Raises:
            StoreError: the folder lies outside of the lake.
        """
        if folder in self._inside:
            return
        root, real = os.path.realpath(self._root), os.path.realpath(folder)
        if os.path.commonpath((root, real)) != root:
            raise StoreError(
                f"{folder}: a link leads out of the lake, to {real}: nothing is written or deleted there. Remove the"
                " link; to keep a lake on another disk, put the whole lake there"
            )
        self._inside.add(folder)
