from gristmill.recipes.tokenizer import Tokenizer, Training

TINY = Tokenizer(name="tiny-1", training=Training(mix="blend", snapshots={"letters": ("2024",)}, vocabulary=300))
