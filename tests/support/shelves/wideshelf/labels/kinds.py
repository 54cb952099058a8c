from gristmill.recipes.models.labelled_set import Draw, LabelledSet

KINDS = LabelledSet(
    name="kinds",
    drawn={
        "paper": (Draw(source="papers", snapshots=("2024",)),),
        "question": (Draw(source="quiz", snapshots=("2024",)),),
    },
    held_out=0.3,
)
