"""Checks of what a dedupe recipe names: sources, their versions, and the score that chooses what a cluster keeps."""

from collections.abc import Iterable, Mapping

from gristmill.errors import RecipeError, known_names
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.recipes.shelf import known_recipe
from gristmill.recipes.source import Source
from gristmill.recipes.source_versions import check_there
from gristmill.recipes.tagger import Tagger


def check_dedupe(
    dedupe: Dedupe, sources: Mapping[str, Source], taggers: Mapping[str, Tagger], dedupes: Mapping[str, Dedupe]
) -> None:
    """Checks the sources, versions and scores that a dedupe recipe names, and that no tagger has its name.

    Args:
        dedupe: the recipe.
        sources: all sources, by name.
        taggers: all taggers, by name.
        dedupes: all dedupe recipes, by name.

    Raises:
        RecipeError: one of them does not exist, or no recipe makes the score for each version that is compared.
    """
    who = f"dedupe {dedupe.name!r}"
    if dedupe.name in taggers:
        raise RecipeError(f"{who}: a tagger has this name, and both would write one set; take another name")
    check_there(dedupe.versions, sources, who)
    for name, version in dedupe.versions.items():
        source = sources[name]
        if isinstance(dedupe.unit, MinHashUnits) and dedupe.unit.score:
            of = {each.name: each for each in dedupes.values() if each.versions.get(name) == version}
            tags = {each.name: each for each in taggers.values() if version != source.current or each.applies_to(name)}
            adopted = [each.name for each in source.adopted_sets(version)]
            _check_score(dedupe.unit.score, f"{who}, score= over {name}/{version}", {**tags, **of}, adopted)


def _check_score(path: str, who: str, makers: Mapping[str, Tagger | Dedupe], adopted: Iterable[str]) -> None:
    name, _, label = path.partition("__")
    maker = known_recipe("attribute set", {**dict.fromkeys(adopted), **makers}, name, who)
    if maker is None or maker.declared is None:  # adopted sets declare no labels, and some taggers none
        return
    found = maker.declaration(label)
    if found is None or found.kind != "score":
        scores = [each for each, declared in maker.declared.items() if declared.kind == "score"]
        raise RecipeError(f"{who}: {name!r} declares no score {label!r}; {known_names(label, scores)}")
