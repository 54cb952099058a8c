from gristmill.recipes.export import Export, Oscar

OSCAR = Export(name="oscar", mixes=("blend",), format=Oscar(), owners=("team:post",))
