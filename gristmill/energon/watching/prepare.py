"""Prepares a watched folder, with the code and by the rules of `gristmill energon prepare`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from gristmill.energon.formats.dataset_yaml import crude_dataset, typed_dataset
from gristmill.energon.formats.sample_types import CRUDE, sample_type
from gristmill.energon.preparing.dataset import DatasetPath, is_prepared, list_files, open_dataset
from gristmill.energon.preparing.flaw import Flaw, has_errors
from gristmill.energon.preparing.jsonl import prepare_jsonl
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars
from gristmill.energon.recipes.watched_folder import SPLITS, WatchedFolder
from gristmill.energon.watching.listing import is_data
from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.open import Lake

_NAMED = 20
"""Flaws that an error names; the log has all."""


class FolderPrepared(NamedTuple):
    """The result of preparing a watched folder.

    Attributes:
        files: number of tars, or of JSONL files.
        samples: number of samples in all of them.
        media: number of media files with metadata.
        warnings: flaws that do not keep the folder from being used.
    """

    files: int
    samples: int
    media: int
    warnings: list[Flaw]


def open_watched(folder: WatchedFolder, lake: Lake) -> DatasetPath:
    """The folder of a recipe.

    Args:
        folder: the recipe.
        lake: the lake; its options say how a bucket is reached.

    Raises:
        RecipeError: nothing is there; or the folder is in the lake, or the lake is in it.
    """
    what = f"watched folder {folder.name!r}"
    here, home = _comparable_address(folder.path), _comparable_address(lake.url)
    if here.startswith(home) or home.startswith(here):
        raise RecipeError(
            f"{what}: {folder.path} and the lake {lake.url} are one within the other; name a folder beside the lake,"
            " because exports in the lake are prepared already"
        )
    try:
        return open_dataset(folder.path, lake.options if folder.path.startswith("s3://") else {})
    except RecipeError as error:
        raise RecipeError(f"{what}: {error}") from error


def prepare_folder(
    folder: WatchedFolder, dataset: DatasetPath, workers: int, tell: Callable[[Flaw], None]
) -> FolderPrepared:
    """Prepares the tars of a folder; or, if it has no tar, each of its JSONL files.

    Args:
        folder: the recipe.
        dataset: its folder.
        workers: number of processes.
        tell: function that takes all that was found, also before an error.

    Returns:
        The result, with what was found.

    Raises:
        RecipeError: the options do not fit the folder, or a file that a person has edited would be replaced.
        DataError: something is wrong with the files; nothing was written for them.
        StoreError: the store does not answer, or a file cannot be written.
    """
    store = dataset.open_dataset_store()
    names = [entry.path for entry in list_files(store) if is_data(entry.path)]
    if is_prepared(store) or not names or any(not name.endswith(".jsonl") for name in names):
        return _prepare_tars(folder, dataset, workers, tell)
    if folder.for_tars_only:
        raise RecipeError(
            f"watched folder {folder.name!r}: {folder.for_tars_only[0]} is given, but {dataset.url} has JSONL files and"
            " no tar, and these have neither splits nor media nor a sample type; leave it out"
        )
    return _prepare_jsonl(dataset, names, tell)


def prepare_options(folder: WatchedFolder, workers: int) -> PrepareOptions:
    """The options of the command that a recipe stands for.

    Args:
        folder: the recipe.
        workers: number of processes.
    """
    ratio: Mapping[str, float] = dict(zip(SPLITS, folder.split_ratio, strict=True)) if folder.split_ratio else {}
    dataset_yaml: bytes | None = None
    if folder.sample_type == CRUDE:
        dataset_yaml = crude_dataset()
    elif folder.sample_type:
        kind = sample_type(folder.sample_type)
        dataset_yaml = typed_dataset(kind.name, dict(folder.field_map), module=kind.module)
    return PrepareOptions(
        ratio=ratio,
        patterns=list(folder.split_parts.items()),
        exclude=folder.exclude or None,
        shuffle=folder.shuffle_tars,
        media=folder.media,
        workers=workers,
        overwrite=folder.force_overwrite,
        renew=True,
        dataset_yaml=dataset_yaml,
    )


def _prepare_tars(
    folder: WatchedFolder, dataset: DatasetPath, workers: int, tell: Callable[[Flaw], None]
) -> FolderPrepared:
    try:
        prepared = prepare_tars(dataset, prepare_options(folder, workers), crude_dataset(), lambda _: None)
    except RecipeError as error:
        raise RecipeError(
            f"watched folder {folder.name!r} at {dataset.url}: {error} (in the recipe, options have no dashes)"
        ) from error
    flaws = [*prepared.flaws, *prepared.media_flaws]
    _refuse_flaws(dataset, flaws, tell, "nothing was written" if not prepared.written else "all else was written")
    samples = sum(shard.samples for shard in prepared.shards)
    return FolderPrepared(len(prepared.shards), samples, prepared.media, flaws)


def _prepare_jsonl(dataset: DatasetPath, names: list[str], tell: Callable[[Flaw], None]) -> FolderPrepared:
    flaws: list[Flaw] = []
    samples = 0
    for name in names:
        scan = prepare_jsonl(DatasetPath(dataset.lake, name))
        flaws += scan.flaws
        samples += scan.samples
    _refuse_flaws(dataset, flaws, tell, "these files have no new index, and all others have theirs")
    return FolderPrepared(len(names), samples, 0, flaws)


def _refuse_flaws(dataset: DatasetPath, flaws: list[Flaw], tell: Callable[[Flaw], None], written: str) -> None:
    for flaw in flaws:
        tell(flaw)
    wrong = [flaw for flaw in flaws if not flaw.warning]
    if has_errors(flaws):
        more = f"; and {len(wrong) - _NAMED:,} more, see the log" if len(wrong) > _NAMED else ""
        raise DataError(f"{dataset.url}: {'; '.join(map(str, wrong[:_NAMED]))}{more}; {written}")


def _comparable_address(address: str) -> str:
    """An address with a slash at its end, links followed: comparable with others."""
    return f"{(address if '://' in address else str(Path(address).resolve())).rstrip('/')}/"
