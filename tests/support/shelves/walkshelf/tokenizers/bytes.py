from gristmill.recipes.tokenizer import Tokenizer, Training

BYTES = Tokenizer(name="bytes-1", training=Training(mix="walk", snapshots={"pages": ("2024",)}, vocabulary=258))
