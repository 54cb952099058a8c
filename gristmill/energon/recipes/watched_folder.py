"""What a watched folder declares: where others write tars or JSONL files, and how they are prepared for Energon."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from gristmill.energon.formats.field_map import check_field_map
from gristmill.energon.formats.media import MediaFilter, read_media_filter
from gristmill.energon.formats.sample_types import CRUDE, sample_type
from gristmill.errors import RecipeError
from gristmill.lake.address import check_name
from gristmill.lake.store.endpoint import check_lake_url
from gristmill.recipes.option_types import check_pattern, check_types

SPLITS = ("train", "val", "test")
"""The splits of `split_ratio`."""


@dataclass(frozen=True, kw_only=True)
class WatchedFolder:
    """A folder of tars or of JSONL files that others write. A run prepares it for Energon when its files have changed.

    The options are those of `gristmill energon prepare`. A folder of JSONL files takes none of them.

    Attributes:
        name: name of the folder in Dagster.
        path: the folder, as an absolute path, or `s3://bucket/prefix`. A bucket is reached as the lake is.
        description: description for people.
        split_ratio: shares of train, val and test, such as `(8, 1, 1)`.
        split_parts: the splits, each with a regular expression from the beginning of the path of a tar. Give this or
            `split_ratio`; neither, if `split.yaml` is kept as it is.
        exclude: a regular expression; tars in whose path it is found are left out. Empty: no tar is left out.
        shuffle_tars: whether the tars are shuffled before they are split by ratio.
        media_by_glob: files with such names get media metadata: `*.jpg,*.png`. Empty: not selected by names.
        media_by_header: whether files with such first bytes get media metadata.
        media_by_extension: whether files with the usual endings get media metadata.
        sample_type: Energon's sample type, such as `CaptioningSample`. Empty: a `dataset.yaml` is kept, or else one of
            crude samples is written.
        field_map: parts of a sample that become the fields of the sample type, by field.
        force_overwrite: whether `split.yaml` and `dataset.yaml` are replaced even if a person has edited them.
        quiet: seconds for which the list of files must stay the same before a run is requested.
        marker: name of the file, such as `_SUCCESS`, without which nothing is prepared; None: without a marker.

    >>> WatchedFolder(name="pictures", path="s3://bucket/pictures", split_ratio=(8, 1))
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: watched folder 'pictures': split_ratio is (8, 1); give the shares of train, val and \
test, such as (8, 1, 1)
    """

    name: str
    path: str
    description: str = ""
    split_ratio: tuple[float, ...] = ()
    split_parts: Mapping[str, str] = field(default_factory=dict)
    exclude: str = ""
    shuffle_tars: bool = False
    media_by_glob: str = ""
    media_by_header: bool = False
    media_by_extension: bool = False
    sample_type: str = ""
    field_map: Mapping[str, str] = field(default_factory=dict)
    force_overwrite: bool = False
    quiet: Annotated[float, Meta(ge=0)] = 60.0
    marker: str | None = None

    def __post_init__(self) -> None:
        """Checks the name, the path and the options.

        Raises:
            RecipeError: one of them is wrong, or two contradict each other.
        """
        what = f"watched folder {self.name!r}"
        check_types(self, what)
        check_name(self.name, "watched folder")
        check_lake_url(self.path, f"{what}: path")
        if not self.path.startswith("s3://") and not Path(self.path).is_absolute():
            raise RecipeError(f"{what}: path is {self.path!r}; give an absolute path, or s3://bucket/prefix")
        if self.path.endswith((".jsonl", ".tar", ".yaml")):
            raise RecipeError(f"{what}: path is {self.path!r}; give the folder that holds the files")
        if self.marker is not None and (not self.marker or "/" in self.marker):
            raise RecipeError(f"{what}: marker is {self.marker!r}; give a file name, without folders")
        if self.exclude:
            check_pattern(self.exclude, f"{what}: exclude")
        self._check_splits(what)
        try:
            self._check_samples()
        except RecipeError as error:
            raise RecipeError(f"{what}: {error}") from error

    def _check_splits(self, what: str) -> None:
        ratio = self.split_ratio
        if ratio and self.split_parts:
            raise RecipeError(f"{what}: give split_ratio or split_parts, not both")
        valid = all(math.isfinite(share) and share >= 0 for share in ratio) and sum(ratio) > 0
        if ratio and (len(ratio) != len(SPLITS) or not valid):
            raise RecipeError(
                f"{what}: split_ratio is {ratio!r}; give the shares of train, val and test, such as (8, 1, 1)"
            )
        for name, pattern in self.split_parts.items():
            if not name:
                raise RecipeError(f"{what}: split_parts has a split without a name")
            check_pattern(pattern, f"{what}: split_parts[{name!r}]")

    def _check_samples(self) -> None:
        _ = self.media
        if self.sample_type in {"", CRUDE}:
            if self.field_map:
                raise RecipeError("field_map needs a sample_type with fields, such as CaptioningSample")
        else:
            check_field_map(sample_type(self.sample_type), self.field_map)

    @property
    def media(self) -> MediaFilter | None:
        """The filter of the files that get media metadata; None if no file does.

        Raises:
            RecipeError: several ways of selecting media were given.
        """
        glob = self.media_by_glob or None
        if glob is None and not self.media_by_header and not self.media_by_extension:
            return None
        return read_media_filter(glob, by_header=self.media_by_header, by_extension=self.media_by_extension)

    @property
    def for_tars_only(self) -> tuple[str, ...]:
        """The names of the given options that a JSONL file cannot have."""
        names = ("split_ratio", "split_parts", "exclude", "shuffle_tars", "sample_type", "field_map")
        media = ("media_by_glob", "media_by_header", "media_by_extension")
        return tuple(name for name in (*names, *media) if getattr(self, name))

    def check_beside(self, others: "Iterable[WatchedFolder]") -> None:
        """Checks that no other folder is the same.

        Args:
            others: all that are declared.

        Raises:
            RecipeError: another one has the same path.
        """
        for other in others:
            if other.name != self.name and other.path.rstrip("/") == self.path.rstrip("/"):
                raise RecipeError(
                    f"watched folders {self.name!r} and {other.name!r} have the same path {other.path!r}, so each run"
                    " of one would undo the other's splits; remove one of them"
                )
