from gristmill.recipes.models.overlaps import overlap_tagger

ASKED = overlap_tagger("asked-1", "questions-1", ["quiz"], only=("papers",))
