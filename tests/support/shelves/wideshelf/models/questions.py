from gristmill.recipes.models.labelled_set import Draw
from gristmill.recipes.models.model import Model
from gristmill.recipes.models.overlaps import OverlapIndexing

QUESTIONS = Model(
    name="questions-1",
    overlaps=OverlapIndexing(sets={"quiz": (Draw(source="quiz", snapshots=("2024",)),)}, length=5, least=3),
)
