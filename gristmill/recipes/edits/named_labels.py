"""Checks of the attribute sets and labels that selections name, against what their makers declare."""

from collections.abc import Collection, Mapping, Sequence

from gristmill.errors import RecipeError, known_names
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.edits.carried import CARRIED, carried_name, original_set_name
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import Selection, is_attribute, label_of_column, set_of_column
from gristmill.recipes.shelf import known_recipe
from gristmill.recipes.tagger import Tagger

Makers = Mapping[str, Tagger | Dedupe]
"""What makes attribute sets, by the set's name."""


def check_labels(
    selection: Selection, who: str, makers: Makers, adopted: Sequence[str], carried: Sequence[str]
) -> None:
    """Checks the attribute sets that columns name, and their labels where the maker declares them.

    The labels of adopted sets are declared by nobody.

    Args:
        selection: selection with the columns.
        who: the selection, for messages.
        makers: the taggers and dedupe recipes.
        adopted: names of the adopted sets of the version that is read.
        carried: names of its carried sets.

    Raises:
        RecipeError: a set does not exist, or has no such label.
    """
    others = [*adopted, *carried]
    edited = {edit.column.name for edit in selection.edits}
    for name in selection.merge:
        known_recipe("attribute set", dict.fromkeys([*others, *makers]), name, who)
    for column in filter(is_attribute, selection.read_columns):
        name = set_of_column(column)
        if name in adopted:
            continue
        if name.startswith(CARRIED):
            known_recipe("carried set", dict.fromkeys(carried), name, f"{who} (a revision carries a set by carry=)")
        elif name not in makers and others:
            known_recipe("attribute set", dict.fromkeys([*others, *makers]), name, who)
        maker = makers.get(name) if name not in carried else makers.get(original_set_name(name))
        if maker is None and name not in carried:
            maker = known_recipe("tagger", makers, name, who)
        if maker is not None:
            _check_label(column, maker, f"{who}, column {column.name!r}", carried=name in carried)
            if column.name in edited:
                _check_edited(column, maker, who)


def _check_label(column: Column, maker: Tagger | Dedupe, who: str, *, carried: bool) -> None:
    declared, name = maker.declared, label_of_column(column)
    what = "tagger" if isinstance(maker, Tagger) else "dedupe"
    if declared is None:
        return
    label = maker.declaration(name)
    if label is None:
        raise RecipeError(f"{who}: {what} {maker.name!r} declares no label {name!r}; {known_names(name, declared)}")
    if carried and label.kind == "score":
        raise RecipeError(
            f"{who}: {name!r} is a score of the document, and only spans are carried; read the score before, or tag"
            " this version"
        )
    if isinstance(maker, Dedupe) and label.optional and not column.optional:
        raise RecipeError(
            f"{who}: say {column.type}({column.path!r}, optional=True): a shard without duplicates has no such label"
        )
    if column.type == "score" and label.kind == "spans":
        raise RecipeError(
            f"{who}: {column.path} is declared as Spans; read it by spans({column.path!r}), and say in the rule what to"
            " do with several"
        )


def _check_edited(column: Column, maker: Tagger | Dedupe, who: str) -> None:
    """A score has one span over the whole text, so an edit by it would leave nothing of any text."""
    label = maker.declaration(label_of_column(column))
    if label is not None and label.kind == "score":
        raise RecipeError(
            f"{who}: an edit names {column.path!r}, which is a score of the whole document: no text would be left."
            " Name a label with spans, or drop documents by a rule"
        )


def check_carried(
    carried: Mapping[str, Collection[Score | Spans] | None], who: str, there: Sequence[str], makers: Makers
) -> None:
    """Checks the sets that a revision carries.

    Args:
        carried: their labels, by name; None: not declared.
        who: the revision, for messages.
        there: names of the sets of the version before.
        makers: the taggers and dedupe recipes.

    Raises:
        RecipeError: a set is not one of the version before, has only scores of documents, or another recipe has the
            name of its carried set.
    """
    for name, labels in carried.items():
        known_recipe("attribute set", dict.fromkeys(there), name, f"{who} (carry=)")
        if carried_name(name) in makers:
            raise RecipeError(f"{who}: carry has {name!r}, but {carried_name(name)!r} is on a shelf; rename it")
        if labels is not None and all(label.kind == "score" for label in labels):
            raise RecipeError(
                f"{who}: carry has {name!r}, whose labels are all scores of documents. Only spans are carried: the text"
                " may be another one. Leave it out, and tag this version"
            )


def check_adopted(adopted: Sequence[str], made: Mapping[str, str], who: str) -> None:
    """Checks the names of adopted sets: none is that of another set, or differs from it only by - and _.

    Args:
        adopted: the names of the adopted sets of a version.
        made: the names of the sets that are made for it, with words for whose set each is.
        who: the version, for the message.

    Raises:
        RecipeError: two names are alike.
    """
    names = dict(made)
    for name in adopted:
        twin = next((each for each in names if each.replace("-", "_") == name.replace("-", "_")), None)
        if twin is not None:
            raise RecipeError(
                f"{who}: the adopted set {name!r} and {names[twin]} {twin!r} must differ by more than '-' and '_';"
                " leave one of them out"
            )
        names[name] = "the adopted set"
