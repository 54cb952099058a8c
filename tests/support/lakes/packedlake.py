"""A lake with a mix of texts, conversations and prebuilt rows, of lengths that a test chooses: a byte is a token.

Each stream has a letter of its own, so a sequence tells its stream.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.pipeline.indexes import MixIndexes
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Chat, Prebuilt, Text
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer

LETTERS = {"texts": "a", "talks": "b", "built": "c"}
IDS = {"texts": 65, "talks": 66, "built": 100}
"""The token of each stream: those of the letters in a vocabulary of bytes, and the id of prebuilt rows."""
TEMPLATE = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
FORMATS = {"texts": Text(), "talks": Chat(chat_template=TEMPLATE), "built": Prebuilt(input_ids_key="ids")}
BYTES = Tokenizer(
    name="bytes-1",
    training=Training(mix="packed", snapshots={"texts": (SNAPSHOT,)}, vocabulary=256),
    eos=None,
    bos=None,
)
INDEX = "token_caches/packed/bytes-1/index"


def mix_of(*names: str, **options: Any) -> Mix:
    """The mix of some streams; each takes the rows of its kind."""
    streams = tuple(
        Stream(
            source="pages",
            version="v0",
            name=name,
            columns=(field("metadata.kind", name="kind"),),
            include=(Rule(f"is-{name}", f"kind = '{name}'", "each row has one kind"),),
            format=options.pop(name, FORMATS[name]),
            weight=options.pop(f"{name}_weight", 1.0),
        )
        for name in names
    )
    return Mix(**{"name": "packed", "streams": streams, "draft": True, **options})


def _rows(kind: str, lengths: Sequence[int]) -> Iterator[dict[str, Any]]:
    for number, length in enumerate(lengths):
        said = LETTERS[kind] * length
        metadata: dict[str, Any] = {"kind": kind}
        if kind == "talks":
            metadata["messages"] = [{"role": "assistant", "content": said}]
        if kind == "built":
            metadata["ids"] = [IDS[kind]] * length
        text = said if kind == "texts" else "x"
        yield {"id": f"{kind}-{number:04}", "text": text, "source": "pages", "metadata": metadata}


def make_caches(mill: Mill, mix: Mix, **lengths: Sequence[int]) -> None:
    """The token caches of documents of these lengths, without the index."""
    for kind, each in lengths.items():
        mill.raw(f"{kind}.jsonl.gz", _rows(kind, each))
    mill.convert()
    for stream in mix.streams:
        mill.make(stream_step(mix, stream.key, SNAPSHOT, SHELVES))
    if mill.store.head("tokenizers/bytes-1/ledger.json") is None:
        make_tokenizer(mill.store, BYTES, mill.said.append)
    for stream in mix.streams:
        mill.make(TokenCacheStep(mix, stream.key, BYTES, SNAPSHOT, SHELVES))


def indexes_of(mill: Mill, mix: Mix) -> MixIndexes:
    """The indexes of the mix and of its token cache."""
    keys = [stream.key for stream in mix.streams]
    source = mill.source()
    return MixIndexes(mix, (BYTES,), dict.fromkeys(keys, source), dict.fromkeys(keys, (SNAPSHOT,)))
