"""A reader: converts the raw objects of a source, and says what it can do beside that."""

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Literal, NamedTuple

from gristmill.extras import Needs, check_installed
from gristmill.lake.rows.raw_spans import SpannedRows
from gristmill.plugins import Door
from gristmill.recipes.raw_object import Converted, RawObject

Convert = Callable[[RawObject], Iterable[Converted]]
"""What a source may have as `convert`: a function, or an object that is called like one, such as a Reader."""

_DECLARED = ("gives_json", "blocks", "row_ids")
"""What a reader says of its rows. It does not hold for a class that makes other rows."""
_OTHERS = ("source", "source_key", "cut_by", "check", "leaves_link")
"""What else a reader may have. A converter that is no Reader may have it too: classes of version 0.2 do."""


class RowIds(NamedTuple):
    """Where a raw row has the id and the source of its document. Takedowns find refused rows by it.

    Attributes:
        kind: place of the id. `field`: in a field. `template`: in several fields. `number`: nowhere; it is the path of
            the object, a colon, and the number of the row. `path`: nowhere; it is the path of the file.
        name: path of the field with dots, or the template, such as "{repo}/{path}".
        in_archive: whether the path of a file in an archive begins with the path of the archive.
        source: field with the source of the document; None: no row has one.
        needs_source: whether a row without that field is refused.
    """

    kind: Literal["field", "template", "number", "path"]
    name: str = ""
    in_archive: bool = False
    source: str | None = None
    needs_source: bool = False


class Reader:
    """Converts the raw objects of a source. What ships is written as such classes, and yours may be.

    A class below a reader that changes one of its methods makes other rows. So a source does not take `gives_json`,
    `blocks` and `row_ids` from the reader above it: the class says them itself where they hold.

    Attributes:
        gives_json: whether the metadata of its documents are values of JSON, and their texts can be written as UTF-8.
            Then conversion does not check each row.
        source_key: the field of a row with the document's own source; None: no field has it.
        needs: the packages that it imports when it reads, each with the requirement that brings it.
    """

    gives_json: ClassVar[bool] = False
    needs: ClassVar[Needs] = {}

    source_key: str | None = None

    def __call__(self, raw: RawObject) -> Iterable[Converted]:
        """Yields one result for each row of an object: a document, a copied row, or why it was refused or left out.

        Args:
            raw: the raw object.
        """
        raise NotImplementedError

    def blocks(self, raw: RawObject) -> Iterator[Converted | SpannedRows]:
        """The same rows as when it is called. A fast reader gives many at once. It is asked only with `gives_json`.

        Args:
            raw: the raw object.
        """
        yield from self(raw)

    def row_ids(self) -> RowIds | None:
        """The place of ids in raw rows. None: the reader makes ids, and gives that of a refused row by `Refused(id=)`.

        A takedown names a refused row as not searched if its id is not known in either way.
        """
        return None

    def cut_by(self, name: str) -> str:
        """The units at which an object is cut, such as `lines`; empty if it is never cut. See Split.

        Args:
            name: name of the object; empty to ask whether the reader can read parts at all.

        Raises:
            NotImplementedError: the reader cannot read parts of objects.
            RecipeError: its options do not allow parts.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Checks what the reader needs, before anything is made, and again in each worker.

        Raises:
            RecipeError: something is missing, such as a package.
        """
        check_installed(self.needs)

    def leaves_link(self, name: str) -> bool:  # noqa: ARG002 - a reader decides by it
        """Whether the reader leaves a link out, also one to nothing.

        Args:
            name: name of the link below its snapshot.
        """
        return False


class _PlainConverter(Reader):
    """A converter of which less is known: a function, an object of version 0.2, or a reader with other methods."""

    def __init__(self, convert: Convert) -> None:
        self._convert = convert
        held = [name for name in _DECLARED if isinstance(convert, Reader) and _declares_itself(type(convert), name)]
        for name in (*_OTHERS, *held):
            if hasattr(convert, name):
                setattr(self, name, getattr(convert, name))

    def __call__(self, raw: RawObject) -> Iterable[Converted]:
        return self._convert(raw)


def reader_of_converter(convert: Convert) -> Reader:
    """The reader of a source, whatever its recipe has as `convert`. What does not hold for its class is left out.

    >>> reader_of_converter(lambda raw: []).row_ids() is None
    True
    """
    if isinstance(convert, Reader) and all(_declares_itself(type(convert), name) for name in _DECLARED):
        return convert
    return _PlainConverter(convert)


def _declares_itself(kind: type, declared: str) -> bool:
    """Whether a class says something of its rows itself, or no class nearer than the one that says it makes other rows.

    It is asked of the finished class: a class beside the reader may change a method, and so may a decorator.
    """
    where = next(number for number, each in enumerate(kind.__mro__) if declared in vars(each))
    by = kind.__mro__[where]
    if by is Reader:
        return True
    known = {"__call__"}.union(*(vars(each) for each in by.__mro__ if each not in {Reader, object}))
    nearer = [(name, value) for each in kind.__mro__[:where] for name, value in vars(each).items()]
    return not any(_makes_rows(name, value) and name in known for name, value in nearer)


def _makes_rows(name: str, value: object) -> bool:
    """Whether rows depend on an attribute of a class. Dataclasses write the methods with two underscores."""
    called = name == "__call__" or not name.startswith("__")
    return called and hasattr(value, "__get__") and name not in {*_DECLARED, *_OTHERS}


READERS = Door[type[Reader]](
    "readers", "a class below Reader", lambda _, found: isinstance(found, type) and issubclass(found, Reader)
)
"""The readers that ship, and those of installed packages. A source imports its reader: names are for people."""
