"""Copies of models on this machine: fetched from the lake, compared with the ledger, and kept by their digest."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gristmill.errors import DataError, StoreError
from gristmill.lake.asset_kinds import MODEL, ledger_of_asset
from gristmill.lake.store.protocol import Store
from gristmill.stages.models.ledger import FolderLedger, read_folder

KEPT = 16 << 30
"""Bytes of copies that are kept on a machine."""
_YOUNG = 3600
"""Seconds for which a copy is not removed after its last use: a process may be about to open it."""


def model_copies_folder() -> Path:
    """The folder of the copies: in the folder for temporary files (TMPDIR), for this user alone. It is made.

    Raises:
        StoreError: it cannot be made, or another user owns it.
    """
    folder = Path(tempfile.gettempdir()) / f"gristmill-models-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        owner = folder.lstat()
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made ({error.strerror}); set TMPDIR to a folder with room") from error
    if owner.st_uid != os.getuid() or owner.st_mode & 0o022 or folder.is_symlink():
        raise StoreError(f"{folder}: others may write there; remove it, or set TMPDIR to another folder")
    return folder


def copy_models_locally(store: Store, fingerprints: Mapping[str, str], copies: Path | None = None) -> dict[str, Path]:
    """The files of models on this machine, for `open=` of a tagger.

    Args:
        store: the lake.
        fingerprints: fingerprint of each model, by its name: that with which the run was planned.
        copies: the folder of the copies; None: the machine's.

    Returns:
        By model: the path of its one file; of a model that was brought as a folder, that of the folder.

    Raises:
        DataError: a model is not in the lake, or is not the one of the plan, or its file has another sha256.
        StoreError: the lake does not answer, or the machine cannot keep the copy.
    """
    if not fingerprints:
        return {}
    copies = copies or model_copies_folder()
    found: dict[str, Path] = {}
    for name, fingerprint in fingerprints.items():
        ledger = read_folder(store, MODEL.at(model=name))
        if ledger.fingerprint != fingerprint:
            raise DataError(f"{ledger.asset}: was made anew since this run was planned; run it again")
        folder = copies / fingerprint
        for file in ledger.opened:
            _fetch_model_file(store, ledger, file, folder / file)
        found[name] = folder if ledger.folder else folder / ledger.opened[0]
    _remove_unused_copies(copies, list(fingerprints.values()))
    return found


def _fetch_model_file(store: Store, ledger: FolderLedger, file: str, path: Path) -> None:
    """Fetches one file, unless its copy is there. A copy is hashed each time: others may write to the folder too."""
    try:
        if path.is_file() and _hash_local_file(path) == ledger.files[file]:
            os.utime(path.parent)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as temporary:
            digest = hashlib.sha256()
            for piece in store.stream(f"{ledger.asset}/{file}"):
                digest.update(piece)
                temporary.write(piece)
        if digest.hexdigest() != ledger.files[file]:
            Path(temporary.name).unlink()
            raise DataError(
                f"{ledger.asset}/{file}: its sha256 is {digest.hexdigest()}, but {ledger_of_asset(ledger.asset)} says"
                f" {ledger.files[file]}; restore the file, or remove {ledger.asset}/ and make it again"
            )
        Path(temporary.name).replace(path)
    except OSError as error:
        raise StoreError(
            f"{path}: the copy of {ledger.asset}/{file} cannot be written ({error.strerror}); set TMPDIR to a folder"
            " with room"
        ) from error


def _hash_local_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_unused_copies(copies: Path, used: Sequence[str]) -> None:
    """Removes the copies that were not used for longest, until the others are at most KEPT bytes."""
    now = time.time()
    left = KEPT
    for last_used, folder in sorted(_copies_by_last_use(copies), reverse=True):
        try:
            left -= sum(file.stat().st_size for file in folder.iterdir())
        except FileNotFoundError:  # another process tidies too
            continue
        if left < 0 and folder.name not in used and now - last_used > _YOUNG:
            shutil.rmtree(folder, ignore_errors=True)


def _copies_by_last_use(copies: Path) -> Iterator[tuple[float, Path]]:
    """The time of the last use of each copy, and its folder. One that another process removes meanwhile is left out."""
    for each in copies.iterdir():
        with suppress(FileNotFoundError):
            if each.is_dir():
                yield each.stat().st_mtime, each
