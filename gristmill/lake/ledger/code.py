"""The code that made a partition, as its run's note records it; it is not part of a fingerprint."""

from collections.abc import Mapping

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import Place

Codes = dict[str, str]
"""Digests of code that give the output of a partition, each with its author's reason; the first has none.

Empty: not recorded, as in ledgers that an older version wrote. Such a partition is trusted.
"""


class Code(msgspec.Struct, frozen=True):
    """The code of a recipe; see gristmill.recipes.code_digest.

    Attributes:
        digest: of its syntax trees; empty: not known.
        module: the module that declares the recipe.
        reason: why the output is the same as before, by its author; empty: nobody says so.
        problem: why the code that runs here is not known, and the mend; empty if all is well.
        reader: the class of the converter, if it is one with options, such as `TextFiles`; else empty.
    """

    digest: str = ""
    module: str = ""
    reason: str = ""
    problem: str = ""
    reader: str = ""

    def changed(self, codes: Mapping[str, str]) -> bool:
        """Whether a partition was made by other code. Unknown code counts as unchanged.

        >>> Code("b").changed({"a": ""}), Code("a").changed({"a": ""}), Code("b").changed({}), Code().changed({"a": ""})
        (True, False, False, False)
        """
        return bool(self.digest and codes and self.digest not in codes)

    def made(self, digest: str, codes: Mapping[str, str]) -> bool:
        """Whether a shard that code of this digest made may be kept. Unknown code counts as the same.

        >>> Code("b").made("a", {"a": ""}), Code("b", reason="renamed").made("a", {"a": ""})
        (False, True)
        """
        if not self.digest or not digest or digest == self.digest:
            return True
        return digest in codes and (self.digest in codes or bool(self.reason))

    def recorded(self, codes: Mapping[str, str]) -> Codes:
        """What the next note records.

        Args:
            codes: what the last note recorded.

        >>> Code("b", reason="renamed").recorded({"a": ""})
        {'a': '', 'b': 'renamed'}
        >>> Code("b").recorded({"a": ""})
        {'b': ''}
        """
        if not self.digest or self.digest in codes:
            return dict(codes)
        return {**codes, self.digest: self.reason} if codes and self.reason else {self.digest: ""}


def check_same_code(code: Code, codes: Mapping[str, str], place: Place, *, draft: bool) -> None:
    """Checks that the code has not changed under the name of a recipe that is no draft.

    Args:
        code: the code of the recipe.
        codes: what the run's note records.
        place: the partition, for the message.
        draft: whether the recipe may change.

    Raises:
        RecipeError: the code changed, and nobody says that the output is the same; or the reason was given already for
            an earlier change.
    """
    if not code.changed(codes):
        return
    option = f", or an option of its {code.reader}(...)," if code.reader else ""
    where = f"{place.asset} ({place.snapshot}): the code of {code.module}{option} changed since it was made"
    if code.reason and code.reason in codes.values():
        raise RecipeError(
            f"{where}, again after the change with the reason {code.reason!r}; give a reason= for the new change, or"
            " declare it under the next number"
        )
    if not code.reason and not draft:
        same = "if only code was edited and" if code.reader else "if"
        raise RecipeError(
            f"{where}. Declare the change under the next number (a source: under another name), with draft=True while"
            f" you try; or, {same} the output is the same, say same_output=True and reason='...' in the recipe"
        )
