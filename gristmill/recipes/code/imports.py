"""Imports people's own code from its source files: the code that runs is the code that a digest is taken of.

Python takes cached bytecode for valid if its source has the same size and the same whole second. A recipe that was
edited within that second, or whose file keeps its time (`cp -p`, `rsync -t`), would run as it was before the edit.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

_tops: set[str] = set()
_folders: set[str] = set()
_read: set[Callable[[str], None]] = set()


def import_from_source(package: str, folder: str, read: Callable[[str], None]) -> None:
    """From now on this process compiles a package, and the modules and packages beside it, from their source files.

    What the process has imported already stays as it is.

    Args:
        package: name of the package.
        folder: path of the folder that holds the package and other code of the same people; empty: the folder also
            holds packages of other people.
        read: function that gets the path of each such file just before the file is read.
    """
    _read.add(read)
    _tops.add(package.partition(".")[0])
    if folder:
        _folders.add(folder)
    if _SourceFinder not in sys.meta_path:
        place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(place, _SourceFinder)


class _SourceLoader(SourceFileLoader):
    """Neither reads nor writes bytecode."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        for told in _read:
            told(path)
        return self.source_to_code(self.get_data(path), path)


class _SourceFinder:
    """Finds what Python finds, and gives people's own code another loader."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.origin and type(spec.loader) is SourceFileLoader and _is_own(name, spec.origin):
            spec.loader = _SourceLoader(name, spec.origin)
        return spec


def _is_own(name: str, file: str) -> bool:
    top = name.partition(".")[0]
    if top == name and top not in _tops:
        here, file_name = os.path.split(file)
        if (os.path.dirname(here) if file_name == "__init__.py" else here) in _folders:  # noqa: PTH120 - each import
            _tops.add(top)
    return top in _tops
