"""RuleVerdicts: of each rule whether it drops a row, also where an earlier rule has dropped the row already.

The rule engine stops at the first rule that drops a row; a preview tells what each rule would drop alone.
"""

from typing import TYPE_CHECKING

from gristmill.recipes.selection import Selection
from gristmill.recipes.sql.process import LIMITS, RuleStopped
from gristmill.recipes.sql.worker import TABLE
from gristmill.stages.mixing.rule_engine import (
    RuleEngine,
    RuleFailed,
    RulesStopped,
    rule_drop_conditions,
    run_rule_query,
    table_slices,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_BITS = 62
"""Rules that one query answers: a BIGINT has a bit for each."""


class RuleVerdicts:
    """The rules of a selection. There is at least one.

    A rule may have no result for a row: a cast fails. Then a build fails, and so does this, unless an earlier rule
    drops the row. In that case the rule without a result counts as dropping the row too.

    Args:
        selection: selection with rules.

    Raises:
        RecipeError: a rule is wrong.
    """

    def __init__(self, selection: Selection) -> None:
        self._engine = RuleEngine(selection.columns, selection.include, selection.exclude)
        self._drops = rule_drop_conditions(selection.include, selection.exclude)
        self._masks = [self._drops[start : start + _BITS] for start in range(0, len(self._drops), _BITS)]

    def dropped_rows(self, table: "pa.Table") -> "NDArray[np.bool_]":
        """Which rule drops which row.

        Args:
            table: the rows; see RuleEngine.decide_table_rows().

        Returns:
            Shape (rules, rows); include rules come first. The first that drops a row is the reason that a build counts.

        Raises:
            RuleFailed: a rule has no result for a row that no earlier rule drops.
            RulesStopped: a rule passes the limits.
        """
        import numpy as np  # noqa: PLC0415 - comes with pyarrow

        return np.concatenate([self._evaluate_slice(piece, first) for first, piece in table_slices(table)], axis=1)

    def _evaluate_slice(self, table: "pa.Table", first: int) -> "NDArray[np.bool_]":
        """Upon an error, both halves are evaluated, down to a single row. `first`: number of the first row."""
        import numpy as np  # noqa: PLC0415 - comes with pyarrow

        if not table.num_rows:
            return np.empty((len(self._drops), 0), np.bool_)
        found: list[NDArray[np.bool_]] = []
        for drops in self._masks:
            query = _terms_query([f"CASE WHEN {drop} THEN {1 << bit} ELSE 0 END" for bit, drop in enumerate(drops)])
            masks = _query_answers(query, table)
            if masks is None:
                return self._evaluate_halves(table, first)
            found.append(masks >> np.arange(len(drops))[:, None] & 1 != 0)
        return np.concatenate(found)

    def _evaluate_halves(self, table: "pa.Table", first: int) -> "NDArray[np.bool_]":
        import numpy as np  # noqa: PLC0415 - comes with pyarrow

        if table.num_rows > 1:
            half = table.num_rows // 2
            begin = self._evaluate_slice(table.slice(0, half), first)
            return np.concatenate([begin, self._evaluate_slice(table.slice(half), first + half)], axis=1)
        try:
            self._engine.decide_table_rows(table)
        except RuleFailed as error:  # what a build raises
            raise RuleFailed(first, error.rule, error.reason) from error
        except RulesStopped as error:
            raise RulesStopped((first, first), error.rule, error.reason) from error
        alone = [_query_answers(_terms_query([f"CASE WHEN {drop} THEN 1 ELSE 0 END"]), table) for drop in self._drops]
        return np.array([[verdict is None or bool(verdict[0])] for verdict in alone])


def _terms_query(terms: list[str]) -> str:
    return f"SELECT ({' + '.join(terms)})::BIGINT AS decision FROM {TABLE}"  # noqa: S608 - rules are checked


def _query_answers(query: str, table: "pa.Table") -> "NDArray[np.int64] | None":
    """The answers of a query, one for each row; None if it fails."""
    import numpy as np  # noqa: PLC0415 - comes with pyarrow

    try:
        words, answers = run_rule_query(query, table, LIMITS)
    except RuleStopped:
        return None
    return None if words else np.frombuffer(answers, np.int64)
