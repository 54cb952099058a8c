"""`plugins`: lists what installed packages add to Gristmill by entry points, and what of it cannot be loaded."""

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from gristmill.commands._shared.terminal import print_line
from gristmill.engines.kinds import ENGINES
from gristmill.errors import RecipeError
from gristmill.execution.added_checks import CHECKS
from gristmill.installation import VERSION
from gristmill.plugins import COMMANDS, HOME, Door, Plugin
from gristmill.project import find_project
from gristmill.recipes.edits.transform import TRANSFORMS
from gristmill.recipes.export_formats.formats import EXPORTS
from gristmill.recipes.reader import READERS
from gristmill.recipes.tagger import TAGGERS
from gristmill.stages.kind import ASSET_KINDS

HELP = "list what installed packages add, such as readers, taggers and commands"

_DOORS: tuple[Door[Any], ...] = (READERS, TAGGERS, TRANSFORMS, EXPORTS, ENGINES, CHECKS, COMMANDS, ASSET_KINDS)


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--all", action="store_true", help="also what ships with Gristmill")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")


def run(arguments: Namespace) -> int:
    """Imports each plug-in, and shows it with its package. One that cannot be loaded is shown with the reason.

    Returns:
        0; 1 if a plug-in cannot be loaded.
    """
    project = find_project()
    if project:
        project.put_on_path()
    listed = ((door, each) for door in _DOORS for each in door.plugins if arguments.all or each.package != HOME)
    found = [(each, _load_error(door, each)) for door, each in listed]
    for plugin, why in found:
        values = {**plugin._asdict(), "version": plugin.version or VERSION, "problem": why}
        line = "{kind:11}  {name:20}  {package} {version}  {value}".format_map(values)
        print_line(json.dumps(values, sort_keys=True) if arguments.json else f"{line}\n  WRONG  {why}" if why else line)
    return 1 if any(why for _, why in found) else 0


def _load_error(door: Door[Any], plugin: Plugin) -> str:
    """Why a plug-in cannot be loaded; empty if it can."""
    try:
        door.open(plugin)
    except RecipeError as error:
        return str(error)
    return ""
