"""The code that made a partition, as its run's note records it; it is not part of a fingerprint."""

from collections.abc import Iterator, Mapping

import msgspec

from gristmill.errors import OtherMaking
from gristmill.lake.address import Place
from gristmill.lake.identity import digest_of

Codes = dict[str, str]
"""Digests of code that give the output of a partition, each with its author's reason; that which made it has none.

Empty: not recorded, as in ledgers that an older version wrote. Such a partition is trusted.
"""

CHANGED_CODE = "`gristmill plan` then says whether finished snapshots need the change under another name"
"""The end of the mend of code that failed. What is finished may refuse changed code: see check_same_code()."""


_AND = "+"
"""Stands between the digests of several codes that are recorded as one."""
_LINE = "\n"
"""Stands between their reasons."""


def join_digests(code: str, options: str) -> str:
    """The digest of code together with that of its reader's options.

    Args:
        code: digest of the syntax trees; empty: not known.
        options: digest of the options; empty: there are no options.

    >>> join_digests("c0de", "0b7"), join_digests("c0de", ""), join_digests("", "0b7")
    ('c0de-0b7', 'c0de', '')
    """
    return f"{code}-{options}" if code and options else code


def same_code(one: str, other: str) -> bool:
    """Whether two digests are of the same code. One without options, of an older version, equals each with options.

    Args:
        one: result of join_digests().
        other: result of join_digests().

    >>> same_code("c0de-0b7", "c0de-0b7"), same_code("c0de-0b7", "c0de"), same_code("c0de-0b7", "c0de-1")
    (True, True, False)
    """
    (code, _, options), (other_code, _, others) = one.partition("-"), other.partition("-")
    return code == other_code and (options == others or not (options and others))


class Code(msgspec.Struct, frozen=True):
    """The code of a recipe; see gristmill.recipes.code.digest.

    Attributes:
        digest: digest of its syntax trees, and of its reader's options: see join_digests(); empty: not known.
        module: the module that declares the recipe.
        reason: reason why the output is the same as before, by its author; empty: nobody says so.
        problem: reason why the code that runs here is not known, and the mend; empty if all is well.
        reader: the class of the converter, if it is one with options, such as `TextFiles`; else empty.
        former: the digests that earlier versions record of the same code, the newest first.
        wider: whether statements count in the digest that did not count in the former ones.
        parts: the codes that are compared one by one, if it is the code of several recipes. See join_codes().
    """

    digest: str = ""
    module: str = ""
    reason: str = ""
    problem: str = ""
    reader: str = ""
    former: tuple[str, ...] = ()
    wider: bool = False
    parts: tuple["Code", ...] = ()

    def has_changed(self, codes: Mapping[str, str]) -> bool:
        """Whether a partition was made by other code. Unknown code counts as unchanged.

        >>> old = {"a": ""}
        >>> Code("b").has_changed(old), Code("a").has_changed(old), Code("b").has_changed({}), Code().has_changed(old)
        (True, False, False, False)
        """
        return bool(self.digest and codes and not self.is_recorded(codes))

    def _has_digest(self, digest: str) -> bool:
        return any(own and same_code(own, digest) for own in (self.digest, *self.former))

    def is_recorded(self, codes: Mapping[str, str]) -> bool:
        """Whether it is among the codes of a partition, by its present digest or a former one; each part by itself.

        Args:
            codes: codes that the partition's note records, as their digests, each with its reason.
        """
        if any(map(self._has_digest, codes)):
            return True
        return bool(self.parts) and all(part.is_recorded(of_part) for part, of_part in self._by_part(codes))

    def _by_part(self, codes: Mapping[str, str]) -> "Iterator[tuple[Code, Codes]]":
        """Each part with what is recorded of it. An earlier version did not record it."""
        split = [(digest.split(_AND), why) for digest, why in codes.items()]
        for number, part in enumerate(self.parts):
            yield part, {each[number]: why for each, why in split if len(each) == len(self.parts)}

    def changed_codes(self, codes: Mapping[str, str]) -> "list[tuple[Code, Codes]]":
        """The codes that changed, each with what is recorded of it: the parts, if they were recorded one by one.

        Args:
            codes: codes that the partition's note records.
        """
        if not self.has_changed(codes):
            return []
        parts = [(part, of_part) for part, of_part in self._by_part(codes) if not part.is_recorded(of_part)]
        return parts if all(of_part for _, of_part in parts) and parts else [(self, dict(codes))]

    def counts_more(self, codes: Mapping[str, str]) -> bool:
        """Whether a partition has only the digest of an earlier version, in which not all statements counted.

        >>> code = Code("b", former=("a",), wider=True)
        >>> code.has_changed({"a": ""}), code.counts_more({"a": ""}), code.counts_more({"b": ""})
        (False, True, False)
        """
        known = self.digest and any(same_code(self.digest, each) for each in codes)
        return bool(self.wider and not known and self.is_recorded(codes))

    def has_other_options(self, codes: Mapping[str, str]) -> bool:
        """Whether a partition was made with other options of the reader. Options that are not recorded count as equal.

        >>> Code("b-1").has_other_options({"a-2": ""}), Code("b-1").has_other_options({"a-1": ""})
        (True, False)
        """
        options = self.digest.partition("-")[2]
        recorded = {each.partition("-")[2] for each in codes} - {""}
        return bool(options and recorded) and options not in recorded

    def may_keep_shard(self, digest: str, codes: Mapping[str, str]) -> bool:
        """Whether a shard that code of this digest made may be kept. Unknown code counts as the same.

        >>> Code("b").may_keep_shard("a", {"a": ""}), Code("b", reason="renamed").may_keep_shard("a", {"a": ""})
        (False, True)
        """
        if not self.digest or not digest or self._has_digest(digest):
            return True
        if self.has_other_options({digest: ""}):
            return False
        each = digest.split(_AND)
        if self.parts and len(each) == len(self.parts):
            return all(
                part.may_keep_shard(one, of_part)
                for one, (part, of_part) in zip(each, self._by_part(codes), strict=True)
            )
        return digest in codes and (self.is_recorded(codes) or bool(self.reason))

    def codes_to_record(self, codes: Mapping[str, str]) -> Codes:
        """The codes that the next note records.

        Args:
            codes: codes that the last note recorded.

        >>> Code("b", reason="renamed").codes_to_record({"a": ""})
        {'a': '', 'b': 'renamed'}
        >>> Code("b").codes_to_record({"a": ""})
        {'b': ''}
        """
        if not self.digest:
            return dict(codes)
        if any(map(self._has_digest, codes)):
            return {self.digest if self._has_digest(each) else each: why for each, why in codes.items()}
        changes = self.changed_codes(codes)
        agreed = codes and all(code.reason for code, _ in changes) and not self.has_other_options(codes)
        return {**codes, self.digest: _LINE.join(code.reason for code, _ in changes)} if agreed else {self.digest: ""}


def join_codes(codes: Mapping[str, Code]) -> Code:
    """The code of several recipes as one, each part of which is compared by itself: the reason of one excuses no other.

    It is unknown without recipes, or if the code of one is unknown.

    Args:
        codes: the code of each recipe, by its name.

    >>> both = join_codes({"aa-1": Code("a2", reason="renamed"), "bb-1": Code("b")})
    >>> both.digest, both.may_keep_shard("a1+b", {"a1+b": ""}), both.may_keep_shard("a1+b1", {"a1+b1": ""})
    ('a2+b', True, False)
    """
    if not codes or not all(code.digest or code.problem for code in codes.values()):
        return Code()
    several = len(codes) > 1
    parts = tuple(
        Code(
            code.digest[:16],
            code.module,
            f"{name}: {' '.join(code.reason.split())}" if code.reason and several else code.reason,
            former=tuple(each[:16] for each in code.former),
        )
        for name, code in sorted(codes.items())
    )
    return Code(
        _AND.join(part.digest for part in parts),
        module=" and ".join(part.module for part in parts),
        reason=_LINE.join(part.reason for part in parts) if all(part.reason for part in parts) else "",
        problem=next((code.problem for code in codes.values() if code.problem), ""),
        former=(
            _AND.join((*part.former, part.digest)[0] for part in parts),
            digest_of(sorted((name, *code.former[-1:]) for name, code in codes.items()))[:16],
        ),
        wider=any(code.wider for code in codes.values()),
        parts=parts if several else (),
    )


def check_same_code(code: Code, codes: Mapping[str, str], place: Place, *, draft: bool) -> None:
    """Checks that the code has not changed under the name of a recipe that is no draft.

    Args:
        code: the code of the recipe.
        codes: codes that the run's note records.
        place: the partition, for the message.
        draft: whether the recipe may change.

    Raises:
        OtherMaking: the code changed, and nobody says that the output is the same; or the reason was given already for
            an earlier change; or options of the reader changed.
    """
    for changed, recorded in code.changed_codes(codes):
        _check_change(changed, recorded, place, draft=draft)


def _check_change(code: Code, codes: Mapping[str, str], place: Place, *, draft: bool) -> None:
    if code.has_other_options(codes):
        if not draft:
            raise OtherMaking(
                f"{place.asset} ({place.snapshot}): the options of {code.reader}(...) in {code.module} changed since it"
                " was made, so the output is another one, whatever same_output says. Declare the change under the next"
                " number (a source: under another name), with draft=True while you try"
            )
        return
    known = all("-" in each for each in codes)
    option = f", or an option of its {code.reader}(...)," if code.reader and not known else ""
    where = f"{place.asset} ({place.snapshot}): the code of {code.module}{option} changed since it was made"
    if code.parts:
        where += " (its ledger does not say which of these: a reason counts if each of them has one)"
    if code.reason and any(code.reason in (why, *why.split(_LINE)) for why in codes.values()):
        raise OtherMaking(
            f"{where}, again after the change with the reason {code.reason!r}; give a reason= for the new change, or"
            " declare it under the next number"
        )
    if not code.reason and not draft:
        same = "if only code was edited and" if option else "if"
        raise OtherMaking(
            f"{where}. Declare the change under the next number (a source: under another name), with draft=True while"
            f" you try; or, {same} the output is the same, say same_output=True and reason='...' in the recipe"
        )
