from gristmill.recipes.mix import Mix, Stream

BARE = Mix(name="bare", streams=(Stream(source="notes", version="v0"),))
"""No takedown reaches it."""
