from gristmill.recipes.tokenizer import Tokenizer, Training

TINY = Tokenizer(name="tiny-1", training=Training(mix="reading", snapshots={"papers": ("2024",)}, vocabulary=300))
