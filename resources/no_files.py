"""The place of Dagster's IO manager: none of our values pass through Dagster."""

from typing import Any

import dagster as dg

from gristmill.errors import RecipeError


class NoFiles(dg.IOManager):
    """Refuses to write or read a value.

    Dagster's own one pickles values into a folder that each run may name, and unpickling a file runs its code. Our ops
    hand on nothing: what they make is in the lake.
    """

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:  # noqa: ARG002 - Dagster's signature
        """Refuses.

        Raises:
            RecipeError: always.
        """
        raise RecipeError(f"{context.name}: an op of Gristmill hands no value to another; write it into the lake")

    def load_input(self, context: dg.InputContext) -> Any:
        """Refuses; see handle_output. Returns nothing: it raises the error."""
        raise RecipeError(f"{context.name}: an op of Gristmill takes no value from another; read it from the lake")
