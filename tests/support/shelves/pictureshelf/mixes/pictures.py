from gristmill.recipes.mix import Mix, Stream

PICTURES = Mix(name="pictures", streams=(Stream(source="shapes", version="v0"),), validation=0.2, owners=("team:post",))
