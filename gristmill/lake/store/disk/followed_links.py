"""FollowedLinks: tells of links to folders that lead round in a circle, or to one folder in too many ways."""

import os
from collections import Counter

from gristmill.lake.store.plain_files import NoFile

MOST = 10_000
"""How often a listing enters one folder through links that lie behind other links. Such ways multiply: thirty folders
with two links each, to the next one, have a thousand million paths."""

_MEND = "Remove the link (what it leads to stays as it is)"


class CircularLink(NoFile):
    """A link to a folder that it lies in, or that lies above it."""


class FollowedLinks:
    """The links that have led a listing to the folder where it is.

    Args:
        beside: the real folders that these links lie in.
        times: number of times that a link behind another link has led to a folder, by real folder. A whole listing
            shares it.
    """

    def __init__(self, beside: tuple[str, ...] = (), times: Counter[str] | None = None) -> None:
        self._beside, self._times = beside, Counter[str]() if times is None else times

    def follow_link(self, path: str, folder: str, name: str) -> tuple[str, "FollowedLinks"]:
        """Follows one more link to a folder.

        Args:
            path: path of the link in the store.
            folder: path in the file system of the folder that it lies in.
            name: name of the link.

        Returns:
            The real folder that it leads to, and the links that have led there.

        Raises:
            CircularLink: this folder is above the link, or above one that was followed before.
            NoFile: too many ways lead to it.
        """
        target = os.path.realpath(f"{folder}/{name}")
        beside = (*self._beside, os.path.realpath(folder))
        if any(f"{each}/".startswith(f"{target.rstrip('/')}/") for each in beside):
            why = f"a link to {target}, and that leads back to the link: a circle without end. {_MEND}"
            raise CircularLink(path, why)
        if self._beside:
            self._times[target] += 1
            if self._times[target] > MOST:
                raise NoFile(path, f"a link to {target}, to which links lead in more than {MOST:,} ways. {_MEND}")
        return target, FollowedLinks(beside, self._times)
