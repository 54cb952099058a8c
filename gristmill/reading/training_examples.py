"""Token streams as training examples: what the trainer gives to the model. gristmill.api has these functions too."""

from gristmill.lake.address import packing_stem
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.store.open import Lake
from gristmill.recipes.row_format import Format
from gristmill.stages.packing import plans
from gristmill.stages.packing.examples import examples_of, show_example
from gristmill.stages.packing.packer import Packing
from gristmill.stages.token_cache.token_stream import TokenStream

__all__ = ["examples_of", "read_plan", "show_example"]


def read_plan(lake: Lake, stream: TokenStream, form: Format, length: int) -> Packing:
    """Reads the packing plan of a split, which the packing asset has written.

    Args:
        lake: lake that open_lake() gave.
        stream: stream that open_split() gave.
        form: the format of the stream.
        length: tokens per example.

    Returns:
        The plan of the split.

    Raises:
        DataError: there is no plan, or the split has changed since it was made.
        RecipeError: documents of this format are not packed.
    """
    asset, _, split = stream.path.rpartition("/")
    names = names_in_asset_address(asset)
    stem = packing_stem(names["mix"], names["tokenizer"], names["stream"], split, length)
    return plans.read_plan(lake.store(), stream, form, stem)
