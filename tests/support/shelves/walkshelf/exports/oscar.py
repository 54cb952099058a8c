from gristmill.recipes.export import Export, Oscar

OSCAR = Export(name="oscar", mixes=("walk",), format=Oscar())
