"""Checks of models and labelled sets against the other shelves: names that they use, and circles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gristmill.errors import RecipeError
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.selection import Selection, is_attribute, set_of_column
from gristmill.recipes.shelf import known_recipe
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger


def check_models(
    sources: Mapping[str, Source],
    taggers: Mapping[str, Tagger],
    labels: Mapping[str, LabelledSet],
    models: Mapping[str, Model],
) -> None:
    """Checks the labelled sets that models are trained on, and the sources that these draw documents from.

    Args:
        sources: the sources, by name.
        taggers: the taggers, by name.
        labels: the labelled sets, by name.
        models: the models, by name.

    Raises:
        RecipeError: a name is on no shelf, or a labelled set is drawn from what its own model decides.
    """
    for model in models.values():
        if model.training is not None:
            known_recipe("labelled set", labels, model.training.labels, f"model {model.name!r}")
        for drawn in model.overlaps.draws if model.overlaps else ():
            _check_draw(drawn, sources, f"model {model.name!r}")
    for labelled in labels.values():
        for drawn in (each for places in labelled.drawn.values() for each in places):
            _check_draw(drawn, sources, f"labelled set {labelled.name!r}")
    circle = _Circle(sources, taggers, labels, models)
    for labelled in labels.values():
        circle.check(labelled)
    for model in models.values():
        circle.check(model)


def _check_draw(drawn: Draw, sources: Mapping[str, Source], what: str) -> None:
    source = known_recipe("source", sources, drawn.source, what)
    known_recipe("version", dict.fromkeys(source.versions), drawn.version, f"{what}, {drawn.source}")


def _drawn_documents(recipe: LabelledSet | Model) -> list[Draw]:
    """The documents that a labelled set or an index is drawn from."""
    if isinstance(recipe, LabelledSet):
        return [each for places in recipe.drawn.values() for each in places]
    return list(recipe.overlaps.draws) if recipe.overlaps else []


@dataclass(frozen=True)
class _Circle:
    """The shelves that a circle may pass through."""

    sources: Mapping[str, Source]
    taggers: Mapping[str, Tagger]
    labels: Mapping[str, LabelledSet]
    models: Mapping[str, Model]

    def check(self, recipe: LabelledSet | Model) -> None:
        """Checks that no rule behind the documents of a recipe reads scores of a model that is made of it."""
        todo: list[LabelledSet | Model] = [recipe]
        passed = {(type(recipe), recipe.name)}
        while todo:
            for drawn in _drawn_documents(todo.pop()):
                versions = self.sources[drawn.source].versions
                revisions = self.sources[drawn.source].revisions[: versions.index(drawn.version)]
                for found in (found for revision in revisions for found in self._models_behind_selection(revision)):
                    if found is recipe:
                        raise RecipeError(_circle_message(recipe, drawn))
                    if (type(found), found.name) not in passed:
                        passed.add((type(found), found.name))
                        todo.append(found)

    def _models_behind_selection(self, selection: Selection) -> Iterator[LabelledSet | Model]:
        """The labelled sets and indexes behind the scores that a selection reads."""
        sets = (set_of_column(column) for column in selection.read_columns if is_attribute(column))
        taggers = (self.taggers[name] for name in sets if name in self.taggers)
        for model in (self.models[name] for tagger in taggers for name in tagger.models):
            if model.training is not None:
                yield self.labels[model.training.labels]
            elif model.overlaps is not None:
                yield model


def _circle_message(recipe: LabelledSet | Model, drawn: Draw) -> str:
    if isinstance(recipe, Model):
        return (
            f"model {recipe.name!r} is made of {drawn.source}/{drawn.version}, whose rules read its own spans: draw it"
            " from an earlier version"
        )
    return (
        f"labelled set {recipe.name!r} is drawn from {drawn.source}/{drawn.version}, whose rules read scores of a model"
        f" that is trained on {recipe.name!r}: draw it from an earlier version"
    )
