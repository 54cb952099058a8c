"""Checks of models and labelled sets against the other shelves: names that they use, and circles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gristmill.errors import RecipeError
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.selection import Selection, is_attribute, set_of
from gristmill.recipes.shelf import known
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger


def check_models(
    sources: Mapping[str, Source],
    taggers: Mapping[str, Tagger],
    labels: Mapping[str, LabelledSet],
    models: Mapping[str, Model],
) -> None:
    """Checks the labelled sets that models are trained on, and the sources that these draw documents from.

    Raises:
        RecipeError: a name is on no shelf, or a labelled set is drawn from what its own model decides.
    """
    for model in models.values():
        if model.training is not None:
            known("labelled set", labels, model.training.labels, f"model {model.name!r}")
    for labelled in labels.values():
        for drawn in (each for places in labelled.drawn.values() for each in places):
            source = known("source", sources, drawn.source, f"labelled set {labelled.name!r}")
            versions = dict.fromkeys(source.versions)
            known("version", versions, drawn.version, f"labelled set {labelled.name!r}, {drawn.source}")
    circle = _Circle(sources, taggers, labels, models)
    for labelled in labels.values():
        circle.check(labelled)


@dataclass(frozen=True)
class _Circle:
    """The shelves that a circle may pass through."""

    sources: Mapping[str, Source]
    taggers: Mapping[str, Tagger]
    labels: Mapping[str, LabelledSet]
    models: Mapping[str, Model]

    def check(self, labelled: LabelledSet) -> None:
        """Checks that no rule behind the documents of a labelled set reads scores of a model that is trained on it."""
        todo, passed = [labelled], {labelled.name}
        while todo:
            for drawn in (each for places in todo.pop().drawn.values() for each in places):
                versions = self.sources[drawn.source].versions
                revisions = self.sources[drawn.source].revisions[: versions.index(drawn.version)]
                for name in (name for revision in revisions for name in self._trained_on(revision)):
                    if name == labelled.name:
                        raise RecipeError(
                            f"labelled set {name!r} is drawn from {drawn.source}/{drawn.version}, whose rules read"
                            f" scores of a model that is trained on {name!r}: draw it from an earlier version"
                        )
                    if name not in passed:
                        passed.add(name)
                        todo.append(self.labels[name])

    def _trained_on(self, selection: Selection) -> Iterator[str]:
        """The labelled sets behind the scores that a selection reads."""
        sets = (set_of(column) for column in selection.columns if is_attribute(column))
        taggers = (self.taggers[name] for name in sets if name in self.taggers)
        models = (self.models[name] for tagger in taggers for name in tagger.models)
        yield from (model.training.labels for model in models if model.training is not None)
