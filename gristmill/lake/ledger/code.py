"""The code that made a partition, as its run's note records it; it is not part of a fingerprint."""

from collections.abc import Iterable, Mapping

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import Place

Codes = dict[str, str]
"""Digests of code that give the output of a partition, each with its author's reason; the first has none.

Empty: not recorded, as in ledgers that an older version wrote. Such a partition is trusted.
"""

CHANGED_CODE = "`gristmill plan` then says whether finished snapshots need the change under another name"
"""The end of the mend of code that failed. What is finished may refuse changed code: see check_same_code()."""


def joined(code: str, options: str) -> str:
    """The digest of code together with that of its reader's options.

    Args:
        code: digest of the syntax trees; empty: not known.
        options: digest of the options; empty: there are no options.

    >>> joined("c0de", "0b7"), joined("c0de", ""), joined("", "0b7")
    ('c0de-0b7', 'c0de', '')
    """
    return f"{code}-{options}" if code and options else code


def same_code(one: str, other: str) -> bool:
    """Whether two digests are of the same code. One without options, of an older version, equals each with options.

    Args:
        one: result of joined().
        other: result of joined().

    >>> same_code("c0de-0b7", "c0de-0b7"), same_code("c0de-0b7", "c0de"), same_code("c0de-0b7", "c0de-1")
    (True, True, False)
    """
    (code, _, options), (other_code, _, others) = one.partition("-"), other.partition("-")
    return code == other_code and (options == others or not (options and others))


class Code(msgspec.Struct, frozen=True):
    """The code of a recipe; see gristmill.recipes.code.digest.

    Attributes:
        digest: of its syntax trees, and of its reader's options: see joined(); empty: not known.
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
        return bool(self.digest and codes and not self._is_in(codes))

    def _is_in(self, codes: Iterable[str]) -> bool:
        return any(same_code(self.digest, each) for each in codes)

    def has_other_options(self, codes: Mapping[str, str]) -> bool:
        """Whether a partition was made with other options of the reader. Options that are not recorded count as equal.

        >>> Code("b-1").has_other_options({"a-2": ""}), Code("b-1").has_other_options({"a-1": ""})
        (True, False)
        """
        options = self.digest.partition("-")[2]
        recorded = {each.partition("-")[2] for each in codes} - {""}
        return bool(options and recorded) and options not in recorded

    def made(self, digest: str, codes: Mapping[str, str]) -> bool:
        """Whether a shard that code of this digest made may be kept. Unknown code counts as the same.

        >>> Code("b").made("a", {"a": ""}), Code("b", reason="renamed").made("a", {"a": ""})
        (False, True)
        """
        if not self.digest or not digest or same_code(digest, self.digest):
            return True
        if self.has_other_options({digest: ""}):
            return False
        return digest in codes and (self._is_in(codes) or bool(self.reason))

    def recorded(self, codes: Mapping[str, str]) -> Codes:
        """What the next note records.

        Args:
            codes: what the last note recorded.

        >>> Code("b", reason="renamed").recorded({"a": ""})
        {'a': '', 'b': 'renamed'}
        >>> Code("b").recorded({"a": ""})
        {'b': ''}
        """
        if not self.digest:
            return dict(codes)
        if self._is_in(codes):
            return {self.digest if same_code(self.digest, each) else each: why for each, why in codes.items()}
        agreed = codes and self.reason and not self.has_other_options(codes)
        return {**codes, self.digest: self.reason} if agreed else {self.digest: ""}


def check_same_code(code: Code, codes: Mapping[str, str], place: Place, *, draft: bool) -> None:
    """Checks that the code has not changed under the name of a recipe that is no draft.

    Args:
        code: the code of the recipe.
        codes: what the run's note records.
        place: the partition, for the message.
        draft: whether the recipe may change.

    Raises:
        RecipeError: the code changed, and nobody says that the output is the same; or the reason was given already for
            an earlier change; or options of the reader changed.
    """
    if not code.changed(codes):
        return
    if code.has_other_options(codes):
        if not draft:
            raise RecipeError(
                f"{place.asset} ({place.snapshot}): the options of {code.reader}(...) in {code.module} changed since it"
                " was made, so the output is another one, whatever same_output says. Declare the change under the next"
                " number (a source: under another name), with draft=True while you try"
            )
        return
    known = all("-" in each for each in codes)
    option = f", or an option of its {code.reader}(...)," if code.reader and not known else ""
    where = f"{place.asset} ({place.snapshot}): the code of {code.module}{option} changed since it was made"
    if code.reason and code.reason in codes.values():
        raise RecipeError(
            f"{where}, again after the change with the reason {code.reason!r}; give a reason= for the new change, or"
            " declare it under the next number"
        )
    if not code.reason and not draft:
        same = "if only code was edited and" if option else "if"
        raise RecipeError(
            f"{where}. Declare the change under the next number (a source: under another name), with draft=True while"
            f" you try; or, {same} the output is the same, say same_output=True and reason='...' in the recipe"
        )
