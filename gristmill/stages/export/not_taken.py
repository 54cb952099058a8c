"""Why a format does not take a document."""

from typing import NamedTuple


class NotTaken(NamedTuple):
    """A document that the format does not take.

    Attributes:
        reason: short and stable: the ledger counts by it.
        about: what is wrong with this document, such as the name of a file; the record of a part keeps one example.
    """

    reason: str
    about: str = ""


MISSING_MEDIA = NotTaken("media files that are missing")
"""Why a document is refused that names a media file which is not there. It blocks the slice."""
DAMAGED_MEDIA = NotTaken("media files that are damaged, or not what their names say")
"""Why a document is refused that names such a media file. It blocks the slice."""
