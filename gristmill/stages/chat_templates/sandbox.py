"""Jinja's sandbox for chat templates: work is counted, and nothing that differs from run to run can be printed.

Jinja's own sandbox keeps templates from Python. Ours also bounds their time and memory (see `budget` and `guards`), and
refuses to print functions and iterators, because their text has an address.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from functools import wraps
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.runtime
import jinja2.sandbox
import jinja2.utils

from gristmill.errors import RecipeError
from gristmill.stages.chat_templates.budget import LONGEST, UNBOUNDED, Budget, Unrendered, value_length
from gristmill.stages.chat_templates.counted import Counted
from gristmill.stages.chat_templates.formats import percent_format_size
from gristmill.stages.chat_templates.guards import (
    FILTER_GROWTH,
    METHOD_GROWTH,
    REMOVED_FILTERS,
    check_method,
    count_growth,
    count_squares,
)

_BITS = 1024
"""Bits of the largest whole number that a template may make."""
_PLAIN = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""Types of most values. They are handled first, for speed."""
_READING = frozenset(
    (
        *("==", "eq", "equalto", "!=", "ne", "<", "lt", "lessthan", "<=", "le", ">", "gt", "greaterthan", ">=", "ge"),
        *("in", "filter", "test", "lower", "upper"),
    )
)
"""Tests that compare, hash or print their values."""
_METHOD_OWNERS = (str, list, tuple, Mapping, int, float, bytes, AbstractSet)
_OF_DICTS = frozenset(dir(dict))
_OF_COMPILER = frozenset(("_loop_vars", "_block_vars"))
"""Arguments that Jinja's compiler adds for functions that take a context."""
_OTHER_FILES = (jinja2.nodes.Include, jinja2.nodes.Import, jinja2.nodes.FromImport, jinja2.nodes.Extends)
_PRINTABLE = (jinja2.Undefined, jinja2.runtime.Macro, jinja2.runtime.LoopContext, type)


class _Unprintable:
    """A value whose text has an address, so that it would differ from run to run."""

    def __repr__(self) -> NoReturn:
        raise Unrendered(
            "not rendered", "the template prints a function or an iterator; its text differs from run to run"
        )

    __str__ = __repr__


class _Function(_Unprintable):
    """A function, as a template sees it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls it."""
        return self.function(*args, **named)


class _Stream(_Unprintable):
    """An iterator, as a template sees it. Each element is a step."""

    def __init__(self, iterator: Iterator[Any], budget: Budget) -> None:
        self._iterator, self._budget = iterator, budget

    def __iter__(self) -> Iterator[Any]:
        """Itself."""
        return self

    def __next__(self) -> Any:
        """The next element."""
        self._budget.count_steps(1)
        return next(self._iterator)


class _Cycler(jinja2.utils.Cycler, _Unprintable):
    __repr__ = _Unprintable.__repr__


class _Joiner(jinja2.utils.Joiner, _Unprintable):
    __repr__ = _Unprintable.__repr__


class _Namespace(jinja2.utils.Namespace, _Unprintable):
    __repr__ = _Unprintable.__repr__


class TemplateSandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The environment that compiles and runs chat templates.

    Attributes:
        budget: counts the work of the rendering that runs.
    """

    intercepted_binops = frozenset({"+", "-", "*", "**", "%"})

    def __init__(self, undefined: type[jinja2.Undefined], extensions: list[Any]) -> None:
        self.budget = Budget()
        super().__init__(
            undefined=undefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[jinja2.ext.loopcontrols, *extensions],
            finalize=self._counted_printed_value,
            optimized=False,
        )
        for name in REMOVED_FILTERS:
            del self.filters[name]
        self.filters.update({name: self._count_filter_work(name, function) for name, function in self.filters.items()})
        self.tests["in"] = self._is_contained
        for name in _READING:
            self.tests[name] = self._count_test_work(self.tests[name])
        for name in ("odd", "even", "divisibleby"):
            self.tests[name] = _reject_string_operands(self.tests[name])
        ours = {
            "passes": self.counted_loop_values,
            "joined": self.joined,
            "kept": self.kept,
            "keyed": self._counted_dictionary,
            "read": self.read,
            "searched": self.counted_search_values,
        }
        self.filters.update({f"our {name}": function for name, function in ours.items()})
        del self.globals["lipsum"]
        self.globals["range"] = _Function(jinja2.sandbox.safe_range)
        self.globals |= {"cycler": _Cycler, "joiner": _Joiner, "namespace": _Namespace}

    def add_filters_and_functions(
        self, filters: Mapping[str, Callable[..., Any]], functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        """Gives templates further filters and functions."""
        self.filters.update({name: self._count_filter_work(name, function) for name, function in filters.items()})
        self.globals.update({name: _Function(function) for name, function in functions.items()})

    def _generate(self, source: jinja2.nodes.Template, *others: Any, **named: Any) -> str:
        for node in source.find_all(_OTHER_FILES):
            raise RecipeError(f"the chat template has a {type(node).__name__.lower()}; it must be one file")
        for _ in source.find_all(jinja2.nodes.ScopedEvalContextModifier):
            raise RecipeError("the chat template has an autoescape block; remove it, because its text is no HTML")
        self.rewrite(source)
        return super()._generate(source, *others, **named)

    def rewrite(self, source: jinja2.nodes.Template) -> None:
        """Changes a parsed template before it is compiled."""
        Counted().visit(source)

    def call(self, context: jinja2.runtime.Context, function: Any, /, *args: Any, **named: Any) -> Any:
        """Calls a function for a template.

        Returns:
            The function's result, counted.
        """
        self.budget.begin_call()
        try:
            if isinstance(function, _Function):
                function = function.function
                owner = getattr(getattr(function, "__wrapped__", function), "__self__", None)
                if isinstance(owner, _METHOD_OWNERS):
                    return self.kept(self._call_counted_method(function, owner, args, named))
            elif isinstance(function, jinja2.runtime.LoopContext):
                args = tuple(map(self.counted_loop_values, args))
            if not isinstance(function, (jinja2.runtime.Macro, jinja2.runtime.LoopContext)):
                self._count_call_arguments(function, args, named)
            return self.kept(super().call(context, function, *args, **named))
        finally:
            self.budget.depth -= 1

    def _count_call_arguments(self, function: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Counts what a function is given. It may print, compare or hash all of it."""
        for value in (*args, *(value for name, value in named.items() if name not in _OF_COMPILER)):
            self.budget.count_value(value)
            if function is dict or function is _Namespace:
                count_squares(self.budget, value)

    def _call_counted_method(self, method: Any, owner: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        for own in _OF_COMPILER:
            named.pop(own, None)
        name = method.__name__
        check_method(name, owner)
        if name == "join" and args:
            args = (self._iterator_as_list(args[0]), *args[1:])
        count_growth(self.budget, METHOD_GROWTH, name, owner, args, named)
        return method(*args, **named)

    def _count_filter_work(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter whose work is counted."""
        first = 0 if jinja2.utils._PassArg.from_obj(function) is None else 1  # noqa: SLF001 - Jinja has no other way

        @wraps(function)
        def guarded(*args: Any, **named: Any) -> Any:
            self.budget.count_steps(1)
            given, value, others = args[:first], args[first], args[first + 1 :]
            if name in {"join", "sum", "sort", "unique", "min", "max", "groupby"}:
                value = self._iterator_as_list(value)
            count_growth(self.budget, FILTER_GROWTH, name, value, others, named)
            return self.kept(function(*given, value, *others, **named))

        return guarded

    def _count_test_work(self, test: Any) -> Callable[..., bool]:
        """A test whose work is counted."""

        @wraps(test)
        def reading(*args: Any) -> bool:
            for each in args:
                self.budget.count_value(each)
            result: bool = test(*args)
            return result

        return reading

    def _is_contained(self, value: Any, values: Any) -> bool:
        """The test `in`. Its arguments are counted before."""
        return bool(value in self.counted_search_values(values))

    def _iterator_as_list(self, value: Any) -> Any:
        """The elements of an iterator as a list; other values as they are."""
        if isinstance(value, str | list | tuple | jinja2.Undefined) or not isinstance(value, Iterable):
            return value
        return list(self.counted_loop_values(value))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The attribute of a value, for a template."""
        if isinstance(obj, dict) and attribute in obj and attribute[:1] != "_" and attribute not in _OF_DICTS:
            return obj[attribute]  # what the sandbox does, without its further questions
        value = super().getattr(obj, attribute)
        return value if type(value) in _PLAIN else self.kept(value)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The item of a value, for a template."""
        if type(argument) is not str or len(argument) > 1023:
            self.budget.count_value(argument)  # it is hashed, and an error's words would print it
        value = super().getitem(obj, argument)
        return value if type(value) in _PLAIN else self.kept(value)

    def kept(self, value: Any) -> Any:
        """A value that a template now has: counted, and without a text if that would differ from run to run."""
        if type(value) in _PLAIN or isinstance(value, str):
            if type(value) is int and value.bit_length() > _BITS:
                raise Unrendered(UNBOUNDED, f"a number of more than {_BITS} bits")
            self.budget.value(value)
            return value
        if isinstance(value, Iterator) and not isinstance(value, _Stream | jinja2.runtime.LoopContext):
            return _Stream(value, self.budget)
        if callable(value) and not isinstance(value, (_Unprintable, *_PRINTABLE)):
            return _Function(value)
        self.budget.value(value)
        return value

    def counted_loop_values(self, values: Any) -> Any:
        """The values that a loop goes through, counted. An iterator counts its elements itself."""
        if isinstance(values, Sized) and not isinstance(values, jinja2.Undefined):
            self.budget.count_steps(len(values))
        return values

    def read(self, value: Any) -> Any:
        """The value that a comparison reads, counted."""
        self.budget.count_value(value)
        return value

    def counted_search_values(self, value: Any) -> Any:
        """The value that is searched for an element, counted. A mapping is not read to the end; an iterator is."""
        return value if isinstance(value, Mapping) else self.read(list(value) if isinstance(value, _Stream) else value)

    def _counted_dictionary(self, value: Any) -> Any:
        """A dictionary that a template wrote: counted."""
        count_squares(self.budget, value)
        return value

    def joined(self, *values: Any) -> str:
        """The operator `~`."""
        return str(self.concat(str(self._counted_printed_value(value)) for value in values))

    def _counted_printed_value(self, value: Any) -> Any:
        """A value that is printed: counted with everything inside."""
        if type(value) is not str:
            self.budget.count_value(value)
        return value

    def concat(self, pieces: Iterable[str]) -> str:
        """The text of all pieces, joined."""
        return "".join(self.collect_limited_pieces(pieces))

    def collect_limited_pieces(self, pieces: Iterable[str]) -> list[str]:
        """The pieces of a text. It stops as soon as they are too long."""
        parts: list[str] = []
        total = 0
        for piece in pieces:
            parts.append(piece)
            total += len(piece)
            if total > LONGEST:
                raise Unrendered(UNBOUNDED, f"a text has more than {LONGEST:,} characters")
        self.budget.characters(total)
        return parts

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """An operator between two values. What it would make is counted first."""
        if operator == "+" and type(left) is str and type(right) is str:
            self.budget.characters(len(left) + len(right))
            return left + right
        if operator == "+":
            self.budget.characters(value_length(left) + value_length(right))
        elif operator == "-" and not (isinstance(left, int | float) and isinstance(right, int | float)):
            if not isinstance(left, jinja2.Undefined) and not isinstance(right, jinja2.Undefined):
                raise Unrendered("not rendered", "only numbers can be subtracted: a set has no order")
        elif operator == "%" and isinstance(left, str):
            self.budget.count_value(right)
            self.budget.characters(
                percent_format_size(self.budget, left, right if isinstance(right, tuple) else (right,))
            )
        elif operator in {"*", "**"}:
            self._check_repeated_sequence(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def _check_repeated_sequence(self, operator: str, left: Any, right: Any) -> None:
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
            if bits > _BITS:
                raise Unrendered(UNBOUNDED, f"a number of more than {_BITS} bits")
        for value, times in ((left, right), (right, left)):
            if isinstance(times, int):
                self.budget.characters(value_length(value) * max(times, 0))


def _reject_string_operands(test: Any) -> Callable[..., bool]:
    """A test that calculates. Of a string its operator `%` would make another string."""

    @wraps(test)
    def of_numbers(*args: Any) -> bool:
        if not all(isinstance(each, int | float) for each in args):
            raise Unrendered("not rendered", f"the test {test.__name__[5:]} takes numbers alone")
        return bool(test(*args))

    return of_numbers
