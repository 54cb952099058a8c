"""The errors of Gristmill, grouped by the reaction they need.

* GristmillError
  x DataError          the bytes are wrong: repair them; running again does not help
    + MalformedRow     a row is not valid; names file and row
    + Misaligned       documents and attributes differ; names shard, row and both ids
    + DuplicateId      an id occurs twice; names both rows
    + TooManyRefused   more rows of raw data were refused than the source allows; has a count and an example by reason
    + Unknown          nobody knows the document or the release that was asked for; names what is near
    + NewerSchema      a newer Gristmill wrote the file: upgrade this one
  x RecipeError        a declaration on a shelf is wrong: edit it
    + OtherMaking      what is finished would be made otherwise under its name: declare that under another name
  x StoreError         the lake did not answer, or is being rebuilt: try again
    + Conflict         another writer was first; its object was not changed
    + Superseded       a newer run has taken over the partition: leave it to that run
    + AtWork           another run is making the partition: wait for it, or take it over
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from traceback import walk_tb
from types import FrameType, FunctionType, MethodType
from typing import NamedTuple, NoReturn

_NAMED = 20
"""Names that a message lists; the others are counted."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of a line, and lone surrogates."""


def shorten(text: str, most: int = 80) -> str:
    """A text for messages. If it has more than `most` characters, it is cut, and its last three become dots.

    >>> shorten("a long sentence", most=9)
    'a long...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def escape_controls(text: str) -> str:
    r"""A text of the data for a terminal or a log: its control characters are escaped, as in Python and JSON.

    A terminal obeys them: they move the cursor, turn the direction of a line, or end it.

    >>> print(escape_controls("a\x1b[31m\nb"), escape_controls("caf\u00e9 \u202e"))
    a\x1b[31m\nb café \u202e
    """
    return _CONTROLS.sub(_escape_character, text)


def _escape_character(found: re.Match[str]) -> str:
    character = found[0]
    return character.encode("unicode_escape").decode() if character < " " else f"\\u{ord(character):04x}"


def known_names(name: object, names: Iterable[str]) -> str:
    """The names that there are, for a message about one that is unknown: the near ones first.

    Args:
        name: the unknown name.
        names: the known ones.

    >>> known_names("wrods", ["chars", "lines", "words"]), known_names("a", [])
    ("did you mean 'words'? known: words, chars, lines", 'known: none')
    """
    all_of_them = list(dict.fromkeys(names))
    near = get_close_matches(str(name), all_of_them, cutoff=0.7)
    listed = [*near, *(each for each in all_of_them if each not in near)]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    asked = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{asked}known: {', '.join(listed[:_NAMED]) or 'none'}{more}"


def is_panic(error: BaseException) -> bool:
    """Whether an exception is the panic of a native library in Rust: `pyo3_runtime.PanicException`.

    It is no Exception, so `except Exception` does not catch it. Each library has a class of its own of this name.
    """
    return type(error).__module__ == "pyo3_runtime"


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the code that was called, and not a request to stop this process.

    A request to stop is a KeyboardInterrupt, or Dagster's interrupt of a run, which is no Exception either. What was
    raised because of one is a request to stop too: Python makes a RuntimeError of a KeyboardInterrupt that comes while
    it creates an Enum, and C libraries make an ImportError of it. All else is a failure. This includes SystemExit: a
    recipe that ends the process would end it as if all were done.
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if _is_interrupt(cause):
            return False
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return True


def _is_interrupt(error: BaseException) -> bool:
    if isinstance(error, Exception):
        return False
    return isinstance(error, KeyboardInterrupt) or type(error).__module__.startswith("dagster.")


@contextmanager
def undone_at_failure(*undo: Callable[[], object]) -> Iterator[None]:
    """Undoes what was begun if the work inside fails, or is stopped. Then the error goes on.

    Args:
        undo: functions that undo it, called in their order.

    >>> from contextlib import suppress
    >>> with suppress(LookupError), undone_at_failure(lambda: print("aborted")):
    ...     raise LookupError
    aborted
    """
    try:
        yield
    except BaseException:
        for each in undo:
            each()
        raise


def error_in_words(error: BaseException) -> str:
    """The class and the message of an exception that any code raised. The message may itself raise.

    >>> error_in_words(LookupError("d1")), error_in_words(SystemExit(0))
    ('LookupError: d1', 'SystemExit: 0 (it called sys.exit)')
    """
    try:
        message = f"{type(error).__name__}: {error}"
    except BaseException as second:
        if not is_failure(second):
            raise
        message = f"{type(error).__name__} (its message raises {type(second).__name__})"
    return escape_surrogates(message) + (" (it called sys.exit)" if isinstance(error, SystemExit) else "")


def package_of(function: object) -> str:
    """The package whose code a recipe's function belongs to; of a recipe of ours, its shelf.

    Args:
        function: a function, or an object that can be called.
    """
    function = _unwrap_function(function)
    module = getattr(function, "__module__", None) or ""
    if not isinstance(function, FunctionType | MethodType):
        module = type(function).__module__
    return ".".join(module.split(".")[: 2 if module.startswith("gristmill.") else 1])


def _unwrap_function(function: object) -> object:
    """The function inside of partials and wrappers."""
    while (inner := getattr(function, "func", None) or getattr(function, "__wrapped__", None)) is not None:
        function = inner
    return function


def defined_at(function: object) -> str:
    """The file and line where a recipe's function is written; of an object that can be called, its class's package."""
    code = getattr(_unwrap_function(function), "__code__", None)
    return f"{code.co_filename}, line {code.co_firstlineno}" if code else f"package {package_of(function)}"


def raised_at(error: BaseException, function: object) -> str:
    """Where an exception left the package of a recipe's function: `/home/ann/ourmill/sources/tales.py, line 12`.

    Args:
        error: exception that the function raised.
        function: function or other object of a recipe, as for package_of().

    Returns:
        File and line of the last call in that package; empty if none of its code was running.
    """
    package = package_of(function)
    frame, line = _last_call_in_package(error, package) if package else (None, 0)
    return f"{frame.f_code.co_filename}, line {line}" if frame else ""


def failed_at(error: BaseException, function: object) -> str:
    """The class and the message of an exception, and where it left the package of a recipe's function."""
    place = raised_at(error, function)
    return f"{error_in_words(error)}, at {place}" if place else error_in_words(error)


def raise_named(error: BaseException, who: str, function: object) -> NoReturn:
    """Raises what the code of a package has raised, also SystemExit, as a DataError that names who must be mended.

    Our own errors go on as they are, and so does all that code of Gristmill raises: that is a bug of ours.

    Args:
        error: exception that it raised.
        who: name of what the package has added, for the message.
        function: a function or object of the package, as for package_of().

    Raises:
        DataError: something else was raised.
    """
    ours = isinstance(error, GristmillError) or package_of(function).startswith("gristmill.")
    if ours or isinstance(error, GeneratorExit) or not is_failure(error):
        raise error
    raise DataError(f"{who}: {failed_at(error, function)}; mend it") from error


def in_our_code(error: BaseException) -> str:
    """The place where an exception came up: module and line of the last code of ours that was running; empty if none
    was.
    """
    frame, line = _last_call_in_package(error, "gristmill")
    return f"{frame.f_globals['__name__']}, line {line}" if frame else ""


def _last_call_in_package(error: BaseException, package: str) -> tuple[FrameType | None, int]:
    """The last call in a package when an exception came up, and its line; None if none of its code was running."""
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__", ""))
        if module == package or module.startswith(f"{package}."):
            return frame, line
    return None, 0


def escape_surrogates(text: str) -> str:
    """A text with its lone surrogates escaped: neither JSON nor a terminal takes them."""
    return text.encode("utf-8", "backslashreplace").decode()


class GristmillError(Exception):
    """The base of all errors that Gristmill raises on purpose."""


class DataError(GristmillError):
    """The bytes are wrong. The message names file, row and mend (what to do about it)."""


class MalformedRow(DataError):  # noqa: N818 - the tree reads as English
    """A row is not valid.

    Args:
        path: path of the file in the lake.
        row: number of the row, counted from 0.
        reason: fault of the row.
        mend: advice for a person.
    """

    def __init__(self, path: str, row: int, reason: str, mend: str = "repair or rebuild this file") -> None:
        self.path, self.row, self.reason, self.mend = path, row, reason, mend
        super().__init__(f"{path}: row {row}: {reason} ({mend})")

    def __reduce__(self) -> tuple[type["MalformedRow"], tuple[str, int, str, str]]:
        return type(self), (self.path, self.row, self.reason, self.mend)


class Misaligned(DataError):  # noqa: N818
    """Documents and attributes are not the same rows in the same order."""


class OutOfDate(DataError):  # noqa: N818
    """What is read was made by another recipe, or from what has changed since. It must be made again first."""


class Unknown(DataError):  # noqa: N818
    """Nobody knows the document or the release that was asked for. The message lists near or known names."""


class DuplicateId(DataError):  # noqa: N818
    """An id that must be unique occurs in two rows."""


class RefusedReason(NamedTuple):
    """How many rows were refused for one reason.

    Attributes:
        reason: short and stable.
        rows: number of rows.
        example: the place of the first of them.
    """

    reason: str
    rows: int
    example: str


class TooManyRefused(DataError):  # noqa: N818
    """More rows of a raw object were refused than its source allows.

    Args:
        message: names the shard, the counts and the first rows.
        reasons: the reasons, each with an example.
    """

    def __init__(self, message: str, reasons: Iterable[RefusedReason] = ()) -> None:
        self.reasons = tuple(reasons)
        super().__init__(message)

    def __reduce__(self) -> tuple[type["TooManyRefused"], tuple[str, tuple[RefusedReason, ...]]]:
        return type(self), (str(self), self.reasons)


class NotPublished(DataError):  # noqa: N818
    """Blocking checks of a partition have failed, so it is not published.

    Args:
        message: names the partition, and says what each check has found.
        checks: names of the checks.
    """

    def __init__(self, message: str, checks: Iterable[str]) -> None:
        self.checks = tuple(checks)
        super().__init__(message)

    def __reduce__(self) -> tuple[type["NotPublished"], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.checks)


def added_reasons(reasons: Iterable[RefusedReason]) -> tuple[RefusedReason, ...]:
    """The counts of several shards as one, the most frequent reason first. Of the examples the first stays.

    >>> added_reasons([RefusedReason("no id", 1, "a"), RefusedReason("no id", 2, "c")])
    (RefusedReason(reason='no id', rows=3, example='a'),)
    """
    added: dict[str, RefusedReason] = {}
    for each in reasons:
        before = added.get(each.reason)
        added[each.reason] = before._replace(rows=before.rows + each.rows) if before else each
    return tuple(sorted(added.values(), key=lambda each: (-each.rows, each.reason)))


class NewerSchema(DataError):  # noqa: N818
    """A newer version of Gristmill wrote a file. The file is right, but this version cannot read it.

    Args:
        path: path of the file in the lake.
        schema: its schema.
        known: the newest schema that this version reads.
    """

    mend = "upgrade Gristmill"

    def __init__(self, path: str, schema: int, known: int) -> None:
        self.path, self.schema, self.known = path, schema, known
        self.what = f"has schema {schema}, and this Gristmill reads {known}"
        super().__init__(f"{path}: {self.what}: {self.mend}")

    def __reduce__(self) -> tuple[type["NewerSchema"], tuple[str, int, int]]:
        return type(self), (self.path, self.schema, self.known)


class RecipeError(GristmillError):
    """A declaration is wrong. If a name is unknown, the message lists the known names."""


class OtherMaking(RecipeError):  # noqa: N818
    """What is finished, and no draft, would be made by another recipe or code, or of another version."""


class StoreError(GristmillError):
    """The lake did not answer, or the object that was read is being rebuilt: try again."""


class Conflict(StoreError):  # noqa: N818
    """A compare-and-swap failed: the object has changed since it was read."""


class Superseded(StoreError):  # noqa: N818
    """A newer run has taken over this partition. This run stops and has changed nothing of the newer run's."""


class AtWork(StoreError):  # noqa: N818
    """Another process is making this partition, and this run has left it alone. The message names the process."""
