"""TOXICITY: a small fastText classifier of insults, trained on the sentences of rude-remarks to show how it is done."""

from gristmill.recipes.models.model import FastTextTraining, Model

TOXICITY = Model(
    name="toxicity-1",
    training=FastTextTraining(
        labels="rude-remarks", positive="toxic", dim=8, epochs=10, letters=(3, 5), buckets=20_000, quantize=False
    ),
    description="Insults against neutral sentences, by fastText. For the demo: it knows 24 patterns.",
)
