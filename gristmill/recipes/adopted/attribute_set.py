"""AdoptedSet: an attribute set that somebody else has computed, and that is read where it is."""

from dataclasses import dataclass, field

from gristmill.errors import RecipeError
from gristmill.lake.address import ADOPTED_NAME
from gristmill.lake.asset_kind import RESERVED
from gristmill.recipes.adopted.layout import OrAll, Partition
from gristmill.recipes.adopted.raw_root import RawRoot
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_rules import Folders


@dataclass(frozen=True, kw_only=True)
class AdoptedSet:
    """The attributes of one version's documents, in a file for each shard: the same names, rows and order.

    Attributes:
        name: name of the set, as its columns name it; it may have `_`.
        root: the folder or s3:// prefix with its files, which are only read: `<root>/<snapshot>/<shard>.jsonl.gz`, as
            in the lake's own `documents/` folder.
        version: the version that it belongs to.
        partition: rule that gives the snapshot of a file. Files without a folder are in the snapshot `all`.

    Raises:
        RecipeError: an option is wrong.

    >>> AdoptedSet(name="toxicity_v2", root="/data/toxicity", version="v1").name
    'toxicity_v2'
    """

    name: str
    root: str | RawRoot
    version: str = "v0"
    partition: Partition = field(default_factory=lambda: OrAll(Folders()))

    def __post_init__(self) -> None:
        """Checks the options."""
        check_types(self, f"adopted set {self.name!r}")
        if not ADOPTED_NAME.fullmatch(self.name) or self.name in RESERVED:
            raise RecipeError(
                f"adopted set {self.name!r}: a name is lower-case letters and digits in words joined by '-' or '_', and"
                f" none of {', '.join(sorted(RESERVED))}"
            )
