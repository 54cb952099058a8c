from gristmill.recipes.mix import Mix, Stream

BLEND = Mix(
    name="blend",
    description="Letters and the diary",
    owners=("team:post",),
    streams=(
        Stream(source="letters", version="v1", blocklists=("takedowns",), weight=2.0),
        Stream(source="diary", version="v0"),
    ),
    parts=2,
    tokenizers=("tiny-1",),
)
