from gristmill.recipes.models.fasttext import fasttext_tagger

KINDS = fasttext_tagger("kinds-1", model="kinds-1", labels=("paper",), only=("papers",))
