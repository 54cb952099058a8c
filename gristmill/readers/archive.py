"""The files of tar and zip archives, one by one, within limits. Nothing is written to disk beside a temporary file.

`archive_members` is for sources whose raw objects are archives. An entry that must not or cannot be read comes with its
reason, so that it is counted. The bytes of an entry are those of the archive: only the archive itself is unpacked.
"""

from collections.abc import Callable, Iterator

from gristmill.errors import DataError
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.tar_archive import tar_members
from gristmill.readers.zip_archive import Member, MemberRules, read_zip_file_members
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.text.desktop_names import is_of_desktop

TAR = (
    ".tar",
    *(f".tar{end}" for end in (".gz", ".bz2", ".xz", ".zst", ".zstd")),
    ".tgz",
    ".tbz2",
    ".tbz",
    ".txz",
    ".tzst",
)
"""The endings of tar archives, packed or not."""
ZIP = (".zip", ".whl", ".epub", ".jar")
"""The endings of zip archives."""
DESKTOP = "file of a desktop in an archive"
"""The counter for files that macOS or Windows has put into an archive by itself."""


def is_archive(name: str) -> bool:
    """Whether a file's name has the ending of an archive.

    >>> [is_archive(name) for name in ("a.tar.gz", "b/A.ZIP", "a.gz")]
    [True, True, False]
    """
    return name.lower().endswith((*TAR, *ZIP))


def archive_members(
    raw: RawObject,
    accept: Callable[[str], bool] = lambda name: True,  # noqa: ARG005 - takes every name
    *,
    entry_limit: int | None = None,
    total_limit: int | None = None,
) -> Iterator[Member]:
    """The files of an archive that are accepted, in its order. Folders are passed over.

    So are files that macOS or Windows puts there by itself, such as `__MACOSX/._a.txt`, `.DS_Store` and `Thumbs.db`.
    They are counted by `RawObject.count` as `file of a desktop in an archive`, and `accept` is not asked.

    A tar archive is read as a stream, in the memory of its largest accepted entry. A zip archive is copied to a
    temporary file if it is larger than 32 MiB, because its directory is at its end.

    Refused, with a reason in `Member.refused`, are:

    - "unsafe entry name": it is absolute or longer than 1,000 characters, has an empty part or a part `.` or `..`, a
      backslash, a control character or a separator of lines, or is not UTF-8. A `./` before the name is left out;
    - "folder with data": its name ends with a slash, but it has data;
    - "entry name twice": the second entry of one name;
    - "link", "no regular file" (device, FIFO), "sparse file", "unknown kind of entry";
    - "encrypted entry", "unknown compression" (zip);
    - "entry too large", "archive too large": above a limit. It is not unpacked.

    Before it yields a member, it sets `raw.raw_span` to all bytes of the member. A reader that makes several documents
    of a member sets it again for each.

    Args:
        raw: the raw object; the ending of its name tells the format, as in TAR and ZIP.
        accept: whether to read the entry of this name.
        entry_limit: largest size of one entry in unpacked bytes; None: the longest row of the source.
        total_limit: largest size of all accepted entries together; None: only `unpack_limit` of the source counts.

    Raises:
        DataError: the name has no ending of an archive; or the archive is truncated or damaged, more follows behind its
            end, or it unpacks to far more than honest data do.
    """
    limit = raw.limits.row if entry_limit is None else entry_limit
    rules = MemberRules(reject_desktop_files(accept, raw), limit, total_limit)
    if raw.name.lower().endswith(TAR):
        with raw.open(unpack=True) as file:
            yield from _members_with_raw_spans(tar_members(file, raw.path, rules), raw)
    elif raw.name.lower().endswith(ZIP):
        with raw.open(seekable=True) as file:
            yield from _members_with_raw_spans(read_zip_file_members(file, raw.path, rules), raw)
    else:
        raise DataError(f"{raw.path}: not known as an archive; its name must end with one of {', '.join(TAR + ZIP)}")


def reject_desktop_files(accept: Callable[[str], bool], raw: RawObject | None) -> Callable[[str], bool]:
    """The same choice, but that no file of a desktop is accepted.

    Args:
        accept: whether to read the entry of this name.
        raw: the archive, which counts such files; None: they are counted already.
    """

    def accept_others(name: str) -> bool:
        if not is_of_desktop(name):
            return accept(name)
        if raw is not None:
            raw.count(DESKTOP)
        return False

    return accept_others


def _members_with_raw_spans(members: Iterator[Member], raw: RawObject) -> Iterator[Member]:
    """The same members, with the raw span of each, and a look at how much they are together."""
    size = 0
    for number, member in enumerate(members, start=1):
        size += len(member.raw)
        raw.check_unpacked(size, number)
        raw.raw_span = RawSpan(0, len(member.raw), member.name)
        yield member


def refused_member(raw: RawObject, member: Member) -> Refused:
    """The row of the quarantine for a member that was refused.

    Args:
        raw: the archive.
        member: entry of the archive, with the reason why it was refused.
    """
    name = member.name if member.name.isprintable() else repr(member.name)
    where = f"{raw.name} entry {name}" + (f" ({member.size} bytes)" if member.size else "")
    return Refused(member.refused, where, member.raw, member.size)
