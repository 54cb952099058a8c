import hashlib

from gristmill.recipes.models.model import Model

WORDS = Model(
    name="list-1", kind="list", file="lake:inputs/words.txt", sha256=hashlib.sha256(b"fool\n").hexdigest(), draft=True
)
