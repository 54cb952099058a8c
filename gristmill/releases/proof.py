"""The proof of a release: its objects and files are in the lake, and have the digests that it names."""

from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, guard_proof
from gristmill.execution.work import Say
from gristmill.lake.ledger.index_ledger import content_digest
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Store
from gristmill.releases.moved import lake_named_in_file
from gristmill.releases.pinned import PinnedRelease, pinned_path

_MEND = "restore it from a copy: a release never changes"
_MEND_LOST = (
    f"if `gristmill plan` says that its slice lacks objects, `gristmill make` makes the same again; else {_MEND}"
)


def pinned_findings(store: Store, release: PinnedRelease, say: Say) -> Iterator[Finding]:
    """A finding for each object or file of a release that is missing or changed. All of them are read.

    Args:
        store: the lake.
        release: the release.
        say: function that receives a note on each file that names another lake, from which this one was copied, and on
            a release without a digest.

    Raises:
        StoreError: the lake does not answer.
    """
    where = pinned_path(release.name)
    if not release.digest:
        say(f"{where}: not proven: it has no digest of itself, like releases of older versions")
    elif release != release.with_digest:
        yield Finding(where, None, "it was edited: it has not the digest that it names", _MEND)
    for path, (sha256, size) in sorted(release.objects.items()):
        yield from guard_proof(store, path, _object_findings(store, where, path, sha256, size))
    for path, digest in sorted(release.files.items()):
        yield from guard_proof(store, path, _file_findings(store, where, path, digest, say))


def _object_findings(store: Store, where: str, path: str, sha256: str, size: int) -> Iterator[Finding]:
    entry = store.head(path)
    if entry is None:
        yield Finding(path, None, f"there is no such object, but {where} names it", _MEND_LOST)
    elif entry.size != size or hash_object(store, path) != sha256:
        yield Finding(path, None, f"its sha256 or size is not the one that {where} names", _MEND)


def _file_findings(store: Store, where: str, path: str, digest: str, say: Say) -> Iterator[Finding]:
    tagged = store.read_tagged(path)
    if tagged is None:
        yield Finding(path, None, f"there is no such file, but {where} names it", _MEND)
        return
    try:
        same = content_digest(tagged[0], path, store.url) == digest
    except DataError:
        same = False
    left = "" if same else lake_named_in_file(tagged[0], path, digest)
    if left:
        say(
            f"{path}: a trainer that is given it reads the lake {left}, from which this one was copied; `release` with"
            " the same words directs it to this one"
        )
    elif not same:
        yield Finding(path, None, f"its content is not the one that {where} names, or it names another lake", _MEND)
