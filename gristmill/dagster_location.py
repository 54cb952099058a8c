"""What a workspace names: `python_module: gristmill.dagster_location`. Dagster takes `defs` from here.

The definitions are those of the checkout, or of the installed package, where they lie in gristmill/location. Start
Dagster in the folder of a project: the project names the recipes.
"""

from gristmill.installation import import_location_module

defs = import_location_module("definitions").defs
