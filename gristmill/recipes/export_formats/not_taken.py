"""Why a format does not take a document."""

from typing import NamedTuple


class NotTaken(NamedTuple):
    """A document that the format does not take.

    Attributes:
        reason: short and stable: the ledger counts by it.
        about: fault of this document, such as the name of a file; for messages.
        mend: advice for people. With it, the part is not made, and its slice not published.
    """

    reason: str
    about: str = ""
    mend: str = ""


MISSING_MEDIA = NotTaken("media files that are missing", mend="bring the files")
"""Why a document is refused that names a media file which is not there."""
DAMAGED_MEDIA = NotTaken("media files that are damaged, or not what their names say", mend="replace the files")
"""Why a document is refused that names such a media file."""
