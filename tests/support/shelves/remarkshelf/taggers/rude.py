"""A tagger of a model that the lake trains."""

from gristmill.recipes.models.fasttext import fasttext_tagger

RUDE = fasttext_tagger("rude-1", model="rude-1", labels=("rude",))
