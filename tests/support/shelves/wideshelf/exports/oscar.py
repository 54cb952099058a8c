from gristmill.recipes.export import Export, Oscar

OSCAR = Export(name="oscar", mixes=("reading",), format=Oscar())
