from gristmill.recipes.export import Export

TARBALLS = Export(name="tarballs", mixes=("blend",), format="energon", owners=("team:post",))
