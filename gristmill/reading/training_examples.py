"""Token streams as training examples: what the trainer gives to the model. gristmill.api has these functions too."""

from gristmill.lake.address import packing_stem
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.store.open import Lake
from gristmill.recipes.row_format import Format
from gristmill.stages.packing import plans
from gristmill.stages.packing.examples import Decode, TrainingExample, TrainingExamples, show
from gristmill.stages.packing.examples import examples_of as _examples_of
from gristmill.stages.packing.packer import Packing
from gristmill.stages.token_cache.token_stream import TokenStream


def examples_of(
    stream: TokenStream,
    form: Format,
    length: int,
    *,
    eos: int | None = None,
    packed: Packing | None = None,
    see_others: bool = False,
) -> TrainingExamples:
    """The examples of a split, with the same elements that the trainer gives to the model.

    Args:
        stream: as open_split() gave it.
        form: the format of the stream, as in its mix.
        length: tokens per example; prebuilt rows have their own.
        eos: id of the token that ends a document; it divides text that is not packed into segments.
        packed: as read_plan() gave it; by default documents are packed now.
        see_others: whether tokens attend to other documents of their example.

    Returns:
        A sequence of examples: `tokens`, `loss_weight` and `segment_ids`, each of `length` elements.

    Raises:
        DataError: a document is too long and its format does not allow a cut, or the cache has another format.
        RecipeError: the length is wrong.
    """
    return _examples_of(stream, form, length, eos=eos, packed=packed, see_others=see_others)


def show_example(example: TrainingExample, decode: Decode) -> str:
    """Shows an example as text: one paragraph for each segment; tokens with a loss are between ⟦ and ⟧.

    Args:
        example: an element of examples_of().
        decode: decodes token ids to text; for example `tokenizers.Tokenizer.decode`.
    """
    return show(example, decode)


def read_plan(lake: Lake, stream: TokenStream, form: Format, length: int) -> Packing:
    """Reads the packing plan of a split, which the packing asset has written.

    Args:
        lake: as open_lake() gave it.
        stream: as open_split() gave it.
        form: the format of the stream.
        length: tokens per example.

    Raises:
        DataError: there is no plan, or the split has changed since it was made.
        RecipeError: documents of this format are not packed.
    """
    asset, _, split = stream.path.rpartition("/")
    names = names_of(asset)
    stem = packing_stem(names["mix"], names["tokenizer"], names["stream"], split, length)
    return plans.read_plan(lake.store(), stream, form, stem)
