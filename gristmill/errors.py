"""The errors of Gristmill, grouped by the reaction they need.

* GristmillError
  x DataError          the bytes are wrong: repair them; running again does not help
    + MalformedRow     a row is not valid; names file and row
    + Misaligned       documents and attributes differ; names shard, row and both ids
    + DuplicateId      an id occurs twice; names both rows
    + NewerSchema      a newer Gristmill wrote the file: upgrade this one
  x RecipeError        a declaration on a shelf is wrong: edit it
  x StoreError         the lake did not answer, or is being rebuilt: try again
    + Conflict         another writer was first; its object was not changed
    + Superseded       a newer run has taken over the partition: leave it to that run
"""


def shorten(text: str, most: int = 80) -> str:
    """A text for messages. If it has more than `most` characters, it is cut, and its last three become dots.

    >>> shorten("a long sentence", most=9)
    'a long...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def is_panic(error: BaseException) -> bool:
    """Whether an exception is the panic of a native library in Rust: `pyo3_runtime.PanicException`.

    It is no Exception, so `except Exception` does not catch it. Each library has a class of its own of this name.
    """
    return type(error).__module__ == "pyo3_runtime"


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the code that was called, and not a request to stop this process.

    A request to stop is a KeyboardInterrupt, or Dagster's interrupt of a run, which is no Exception either. All else is
    a failure. This includes SystemExit: a recipe that ends the process would end it as if all were done.
    """
    if isinstance(error, Exception):
        return True
    return not isinstance(error, KeyboardInterrupt) and not type(error).__module__.startswith("dagster.")


def words_of(error: BaseException) -> str:
    """The class and the message of an exception that any code raised. The message may itself raise.

    >>> words_of(LookupError("d1")), words_of(SystemExit(0))
    ('LookupError: d1', 'SystemExit: 0 (it called sys.exit)')
    """
    try:
        message = f"{type(error).__name__}: {error}"
    except BaseException as second:
        if not is_failure(second):
            raise
        message = f"{type(error).__name__} (its message raises {type(second).__name__})"
    return encodable(message) + (" (it called sys.exit)" if isinstance(error, SystemExit) else "")


def encodable(text: str) -> str:
    """A text with its lone surrogates escaped: neither JSON nor a terminal takes them."""
    return text.encode("utf-8", "backslashreplace").decode()


class GristmillError(Exception):
    """The base of all errors that Gristmill raises on purpose."""


class DataError(GristmillError):
    """The bytes are wrong. The message names file, row and mend (what to do about it)."""


class MalformedRow(DataError):  # noqa: N818 - the tree reads as English
    """A row is not valid.

    Args:
        path: of the file in the lake.
        row: number of the row, counted from 0.
        reason: what is wrong with the row.
        mend: what a person can do about it.
    """

    def __init__(self, path: str, row: int, reason: str, mend: str = "repair or rebuild this file") -> None:
        self.path, self.row, self.reason, self.mend = path, row, reason, mend
        super().__init__(f"{path}: row {row}: {reason} ({mend})")

    def __reduce__(self) -> tuple[type["MalformedRow"], tuple[str, int, str, str]]:
        return type(self), (self.path, self.row, self.reason, self.mend)


class Misaligned(DataError):  # noqa: N818
    """Documents and attributes are not the same rows in the same order."""


class DuplicateId(DataError):  # noqa: N818
    """An id that must be unique occurs in two rows."""


class NewerSchema(DataError):  # noqa: N818
    """A newer version of Gristmill wrote a file. The file is right, but this version cannot read it.

    Args:
        path: of the file in the lake.
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


class StoreError(GristmillError):
    """The lake did not answer, or the object that was read is being rebuilt: try again."""


class Conflict(StoreError):  # noqa: N818
    """A compare-and-swap failed: the object has changed since it was read."""


class Superseded(StoreError):  # noqa: N818
    """A newer run has taken over this partition. This run stops and has changed nothing of the newer run's."""
