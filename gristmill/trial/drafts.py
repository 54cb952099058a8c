"""Drafts: finds the tagger or transform that a person tries, by its name or by the file where it is being written."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from traceback import walk_tb
from types import ModuleType

from gristmill.errors import RecipeError, error_in_words, is_failure, known_names
from gristmill.recipes.edits.transform import TRANSFORMS, Transform
from gristmill.recipes.shelf import check_outside, constants_of_type, read_shelf
from gristmill.recipes.tagger import TAGGERS, Tagger


def find_recipe_to_try(name: str, packages: Sequence[str], lake: str) -> Tagger | Transform:
    """The tagger or transform of a name, or of a file.

    Args:
        name: name of a tagger or transform on the shelves, that ships, or of a plug-in; or path of a Python file
            that declares one of them, or several: then `FILE:NAME`.
        packages: packages that have shelves.
        lake: address of the lake. Code in it is refused.

    Raises:
        RecipeError: no recipe has this name, or the file cannot be imported; the message names file and line.
    """
    path, _, chosen = name.partition(".py:")
    if name.endswith(".py") or chosen:
        return _recipe_of_file(Path(f"{path}.py" if chosen else name), chosen, lake)
    check_outside(lake, packages)
    known: dict[str, Tagger | Transform] = dict(read_shelf("taggers", Tagger, packages))
    if name not in known:
        known = {**read_shelf("transforms", Transform, packages), **known}
    if name in known:
        return known[name]
    if name in TAGGERS.names:
        return TAGGERS.load(name)
    if name in TRANSFORMS.names:
        return TRANSFORMS.load(name)
    raise RecipeError(
        f"taggers, transforms: no {name!r} on the shelves, nor in what `gristmill plugins --all` lists;"
        f" {known_names(name, (*known, *TAGGERS.names, *TRANSFORMS.names))}; or name a file, as in my_tagger.py"
    )


def _recipe_of_file(path: Path, chosen: str, lake: str) -> Tagger | Transform:
    if not path.is_file():
        raise RecipeError(f"{path}: there is no such file")
    if "://" not in lake and path.resolve().is_relative_to(Path(lake).resolve()):
        raise RecipeError(f"{path} is in the lake: whoever may write data there could run code by it. Move it out")
    module = _import_file(path)
    declared: list[Tagger | Transform] = [*constants_of_type(module, Tagger), *constants_of_type(module, Transform)]
    taggers = {each.name: each for each in declared}
    if chosen or len(taggers) != 1:
        if chosen not in taggers:
            raise RecipeError(
                f"{path}: "
                + (f"no tagger {chosen!r}; " if chosen else f"declares {len(taggers)} taggers; ")
                + (f"name one, as in {path}:{next(iter(taggers))}; " if taggers else "")
                + known_names(chosen, taggers)
            )
        return taggers[chosen]
    return next(iter(taggers.values()))


def _import_file(path: Path) -> ModuleType:
    """The module of a file. Modules beside it can be imported by it, as `python FILE` would."""
    name = f"gristmill_draft_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:  # pragma: no cover - a file that ends with .py has a loader
        raise RecipeError(f"{path}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from error
    except BaseException as error:
        if not is_failure(error):
            raise
        lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
        where = f", line {lines[-1]}" if lines else ""
        raise RecipeError(f"{path}{where} cannot be imported: {error_in_words(error)}; mend this file") from error
    return module
