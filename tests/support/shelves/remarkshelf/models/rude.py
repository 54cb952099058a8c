from gristmill.recipes.models.model import FastTextTraining, Model

RUDE = Model(
    name="rude-1",
    training=FastTextTraining(labels="remarks", positive="rude", dim=4, epochs=20, buckets=1000),
    draft=True,
)
