import dagster as dg
import pytest

from gristmill.errors import RecipeError
from resources.no_files import NoFiles


def test_a_value_is_neither_written_nor_read() -> None:
    with pytest.raises(RecipeError, match="hands no value to another; write it into the lake"):
        NoFiles().handle_output(dg.build_output_context(step_key="s", name="value"), 1)
    with pytest.raises(RecipeError, match="takes no value from another; read it from the lake"):
        NoFiles().load_input(dg.build_input_context(name="value"))
