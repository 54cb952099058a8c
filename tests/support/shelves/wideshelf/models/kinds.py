from gristmill.recipes.models.model import FastTextTraining, Model

KINDS = Model(name="kinds-1", training=FastTextTraining(labels="kinds", positive="paper", dim=4, buckets=1000))
