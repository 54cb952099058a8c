"""TOXICITY: how much a document reads like an insult, by the demo's own fastText model.

Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification". The model is `models/toxicity-1` of the
lake; gristmill/models/toxicity.py says how it is trained. It knows the sentences of the demo alone, so it tags the
sources of the demo alone.
"""

from gristmill.recipes.models.fasttext import fasttext_tagger

TOXICITY = fasttext_tagger(
    "toxicity-1",
    model="toxicity-1",
    labels=("toxic",),
    description="The probability that a document reads like an insult, by the model toxicity-1.",
    only=("packages", "stdlib"),
)
