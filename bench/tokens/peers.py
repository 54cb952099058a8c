"""The tokenizing peers over one gzip shard of documents, one process each; and whether their ids are ours.

Each encodes by rules of its own: Dolma strips a text and appends an EOS id, datatrove appends an EOS id, Levanter
appends a space and the EOS string. Ours does all three, so every id of every document is compared.
"""

import csv
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from bench.harness.cost import ROOT, Cost, timed
from bench.harness.environments import datatrove, dolma, levanter
from bench.inputs.shelf import EOS
from gristmill.encoding.encoder import Encoder
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.tokenizer import TokenizerOptions

Ids = npt.NDArray[np.int32]
Lengths = npt.NDArray[np.int64]
LARGEST_SHORT = 2**16
ENCODED = 256
"""Texts that are encoded at once where ids are compared."""
OFFLINE = {"JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1"}


def tokenizers_alone(shard: Path, tokenizer: Path, out: Path) -> Cost:
    """The `tokenizers` package in a plain program, to flat ids in a NumPy file."""
    out.mkdir()
    return timed([sys.executable, "-m", "bench.tokens.peers", shard, tokenizer, out], out / "log")


def dolma_tokens(shard: Path, tokenizer: Path, out: Path) -> Cost:
    """`dolma tokens` over the shard."""
    read = Tokenizer.from_file(str(tokenizer))
    kind = "uint16" if read.get_vocab_size() <= LARGEST_SHORT else "uint32"
    command: list[str | Path] = [dolma().with_name("dolma"), "tokens", "--documents", shard]
    command += ["--destination", out, "--dtype", kind, "--processes", "1"]
    command += ["--tokenizer.name_or_path", tokenizer, "--tokenizer.eos_token_id", str(read.token_to_id(EOS))]
    return timed([*command, "--fields.id_field_name", "id"], out.with_suffix(".log"))


def datatrove_tokens(shard: Path, tokenizer: Path, out: Path) -> Cost:
    """The DocumentTokenizer of datatrove over the shard."""
    script = ROOT / "bench" / "tokens" / "datatrove_tokens.py"
    command: list[str | Path] = [datatrove(), script, shard.parent, shard.name, out, tokenizer, EOS]
    return timed(command, out.with_suffix(".log"))


def levanter_cache(shards: Sequence[Path], folder: Path, out: Path, declared: Mapping[str, Any]) -> Cost:
    """Real Levanter's own cache of the shards, with the tokenizer in `folder`."""
    script = ROOT / "bench" / "tokens" / "levanter_build.py"
    command: list[str | Path] = [levanter(), script, json.dumps(declared), out, folder, *shards]
    return timed(command, out.with_suffix(".log"), OFFLINE)


def levanter_imports(work: Path) -> Cost:
    """What of the cost above is imports."""
    return timed([levanter(), ROOT / "bench" / "tokens" / "levanter_build.py"], work / "imports.log", OFFLINE)


def levanter_folder(tokenizer: Path, folder: Path) -> Path:
    """The folder that Levanter reads a tokenizer from."""
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": EOS}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def field_of(root: Path, cache: str, field: str = "input_ids") -> tuple[Ids, Lengths]:
    """All elements of a field of a consolidated cache, ours or Levanter's, and how many each row has."""
    reader = CacheReader(range_reader_of_store(FolderStore(str(root))), cache)
    return reader.elements(field, 0, reader.count(field)), np.diff(reader.bounds(field, 0, reader.rows))


def same_as_dolma(shard: Path, tokenizer: Path, results: Path) -> tuple[int, int]:
    """Documents whose ids are dolma's when we encode by its rules (strip, EOS id unless there), of all."""
    kind = np.uint16 if Tokenizer.from_file(str(tokenizer)).get_vocab_size() <= LARGEST_SHORT else np.uint32
    tokens = {path.name.removesuffix(".npy"): np.memmap(path, kind, "r") for path in results.glob("*.npy")}
    theirs: dict[str, npt.NDArray[Any]] = {}
    for index in results.glob("*.csv.gz"):
        flat = tokens[index.name.removesuffix(".csv.gz")]
        with gzip.open(index, "rt", encoding="utf-8") as rows:
            theirs |= {row[2]: flat[int(row[0]) : int(row[1])] for row in csv.reader(rows)}
    encoder = Encoder(tokenizer.read_bytes(), TokenizerOptions(eos=EOS, eos_style="clean"))
    named = ((id_, text.strip()) for id_, text in read(shard) if text.strip())
    same = total = 0
    for id_, ids in _encoded(encoder, named):
        total += 1
        same += id_ in theirs and np.array_equal(ids, theirs[id_])
    return same, total


def same_as_datatrove(shard: Path, tokenizer: Path, out: Path) -> tuple[int, int]:
    """Documents whose ids are datatrove's, in its order, when an EOS id is put behind each."""
    encoder = Encoder(tokenizer.read_bytes(), TokenizerOptions(eos=None))
    eos = Tokenizer.from_file(str(tokenizer)).token_to_id(EOS)
    [index] = (out / "tokens").glob("*.index")
    ends = np.fromfile(index, np.uint64).astype(np.int64)
    flat = np.fromfile(index.with_suffix(""), np.uint16 if encoder.vocab_size <= LARGEST_SHORT else np.uint32)
    starts = np.concatenate(([0], ends[:-1]))
    same = total = 0
    for number, (_, ids) in enumerate(_encoded(encoder, ((id_, text) for id_, text in read(shard) if text))):
        total += 1
        same += number < len(ends) and np.array_equal([*ids, eos], flat[starts[number] : ends[number]])
    return same, max(total, len(ends))


def _encoded(encoder: Encoder, named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Ids]]:
    rest = iter(named)
    while batch := list(islice(rest, ENCODED)):
        flat, lengths = encoder.encode([text for _, text in batch])
        yield from zip((id_ for id_, _ in batch), np.split(flat, np.cumsum(lengths)[:-1]), strict=True)


def read(shard: Path) -> Iterator[tuple[str, str]]:
    """Ids and texts, as a plain program reads them."""
    with gzip.open(shard, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            yield row["id"], row["text"]


def reference(shard: Path, tokenizer_file: Path, out: Path) -> None:
    """From the shard to flat ids with the `tokenizers` package, 64 texts at a time."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    rows: list[Ids] = []
    texts = (f"{text} {EOS}" for _, text in read(shard))
    while batch := list(islice(texts, 64)):
        encodings = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        rows.extend(np.array(encoding.ids, np.int32) for encoding in encodings)
    np.save(out / "ids.npy", np.concatenate(rows))
    np.save(out / "lengths.npy", np.fromiter(map(len, rows), np.int64, len(rows)))


if __name__ == "__main__":
    reference(*map(Path, sys.argv[1:]))
