from gristmill.recipes.mix import Mix, Stream

WALK = Mix(
    name="walk",
    streams=(
        Stream(source="pages", version="v1", blocklists=("takedowns",)),
        Stream(source="notes", version="v0", blocklists=("takedowns",)),
    ),
    validation=0.25,
    parts=2,
    tokenizers=("bytes-1",),
)
