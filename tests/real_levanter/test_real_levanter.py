import base64
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from peer import Ask
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from gristmill.encoding.encoder import Encoder
from gristmill.formats.levanter.array_writer import ObjectSink
from gristmill.formats.levanter.cache import CacheReader, CacheWriter, range_reader_of_store
from gristmill.formats.levanter.cache_ledger import CacheLedger, dump_ledger, merged_ledger
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.tokenizer import TokenizerOptions

Row = dict[str, list[int]]

TEXT: dict[str, DType] = {"input_ids": "int32"}
CHAT: dict[str, DType] = {"input_ids": "int32", "assistant_masks": "int32"}
METADATA = {
    "tokenizer": "gpt-neox-1",
    "vocab_size": 50_280,
    "return_attention_mask": False,
    "padding": False,
    "max_length": None,
    "append_bos": False,
    "append_eos": True,
}


def some_rows(seed: int, count: int, longest: int) -> list[Row]:
    random = np.random.default_rng(seed)
    return [{"input_ids": random.integers(0, 50_280, random.integers(0, longest)).tolist()} for _ in range(count)]


def write(lake: Path, path: str, rows: list[Row], fields: dict[str, DType] = TEXT, *, clevel: int = 3) -> CacheLedger:
    store = FolderStore(str(lake))

    def opened(name: str) -> ObjectSink:
        return store.upload(f"{path}/{name}")

    cache = CacheWriter(opened, fields, clevel=clevel)
    for start in range(0, len(rows), 100):
        batch = rows[start : start + 100]
        cache.append_batch(
            {
                name: (
                    np.array([value for row in batch for value in row[name]], dtype),
                    np.array([len(row[name]) for row in batch], np.int64),
                )
                for name, dtype in fields.items()
            }
        )
    return cache.close(preprocessor=METADATA)


def sequences(rows: list[Row], length: int) -> list[list[int]]:
    stream = [token for row in rows for token in row["input_ids"]]
    return [stream[start : start + length] for start in range(0, len(stream) - length + 1, length)]


@pytest.mark.slow
def test_real_levanter_reads_a_sharded_cache_row_for_row(levanter: Ask, tmp_path: Path) -> None:
    parts: dict[str, list[Row]] = {
        "2024-12/part-00000-ab12cd": some_rows(1, 300, 2_500),
        "2024-12/part-00001-00ff00": [],
        "2025-01/part-00000-123456": [{"input_ids": []}, {"input_ids": [7]}, {"input_ids": []}],
        "2025-01/part-00001-fedcba": [{"input_ids": []}, {"input_ids": []}],
        "2025-02/part-00000-777777": some_rows(2, 50, 90),
    }
    ledgers = {name: write(tmp_path, f"train/{name}", rows) for name, rows in parts.items()}
    assert ledgers["2024-12/part-00000-ab12cd"]["field_counts"]["input_ids"] > 262_144
    (tmp_path / "train/shard_ledger.json").write_bytes(dump_ledger(merged_ledger(ledgers, METADATA)))
    job = {"do": "read", "cache": str(tmp_path / "train"), "fields": TEXT, "length": 512, "metadata": METADATA}
    (answer,) = levanter(job)
    expected = [row for rows in parts.values() for row in rows]
    assert answer["rows"] == expected
    assert answer["sequences"] == sequences(expected, 512)
    assert answer["dtypes"] == ["int32"]
    assert answer["warnings"] == []


@pytest.mark.slow
@pytest.mark.exhaustive
def test_real_levanter_reads_consolidated_caches_of_several_fields(levanter: Ask, tmp_path: Path) -> None:
    rows: list[Row] = [
        {**row, "assistant_masks": [n % 2 for n in row["input_ids"]]} for row in some_rows(3, 400, 3_000)
    ]
    write(tmp_path, "chat", rows, CHAT, clevel=5)
    zeros: list[Row] = [{"input_ids": [0] * 300_000}, {"input_ids": [5]}]
    write(tmp_path, "zeros", zeros)
    write(tmp_path, "empty", [])
    form: dict[str, object] = {"do": "read", "length": 64, "metadata": METADATA}
    chat, zero, empty = levanter(
        {**form, "cache": str(tmp_path / "chat"), "fields": CHAT},
        {**form, "cache": str(tmp_path / "zeros"), "fields": TEXT},
        {**form, "cache": str(tmp_path / "empty"), "fields": TEXT},
    )
    assert chat["rows"] == rows
    assert chat["sequences"] == sequences(rows, 64)
    assert chat["warnings"] == zero["warnings"] == empty["warnings"] == []
    assert zero["rows"] == zeros
    assert empty["rows"] == empty["sequences"] == []


def test_we_read_files_that_real_levanter_wrote(ask: Ask, tmp_path: Path) -> None:
    rows: list[Row] = [*some_rows(5, 30, 200), {"input_ids": []}]
    (files,) = ask({"do": "write", "cache": str(tmp_path / "cache"), "rows": rows, "files": True})
    for name, text in files.items():
        file = tmp_path / "copy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(text))
    cache = CacheReader(range_reader_of_store(FolderStore(str(tmp_path))), "copy")
    cache.verify()
    assert [cache.row("input_ids", number).tolist() for number in range(cache.rows)] == [
        row["input_ids"] for row in rows
    ]


@pytest.mark.slow
def test_we_read_what_real_levanter_writes(levanter: Ask, tmp_path: Path) -> None:
    rows: list[Row] = [*some_rows(4, 200, 3_000), {"input_ids": []}]
    levanter({"do": "write", "cache": str(tmp_path / "cache"), "rows": rows})
    cache = CacheReader(range_reader_of_store(FolderStore(str(tmp_path))), "cache")
    cache.verify()
    assert [cache.row("input_ids", number).tolist() for number in range(cache.rows)] == [
        row["input_ids"] for row in rows
    ]
    described = (tmp_path / "cache/input_ids/data/zarr.json").read_bytes()
    write(tmp_path, "ours", rows, clevel=1)
    assert (tmp_path / "ours/input_ids/data/zarr.json").read_bytes() == described


EOS, BOS = "<|endoftext|>", "<|begin|>"
TEXTS = [
    "",
    " ",
    "The quick brown fox.",
    "ends with white space  \n",
    f"already ends {EOS}",
    f"{BOS} and {EOS} inside{EOS}{EOS}",
    "e\u0301 \u212b \ufb01",
    "\U0001f468\u200d\U0001f469 \u4f60\u597d \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\x00 \r \r\n \x1c\x1d \u0085 \u2028",
    "a" * 60_000 + " " * 30_000 + "b" * 24_999,
    " " * 25_000,
    "word and  space   " * 3_000,
    "x" * 10_000 + "\x1cy" + "  " + "z" * 10_000 + "w \u2003" + "v" * 12_000,
    "\n\n".join("def f(x):\n    return x  # don't" for _ in range(2_000)),
]


def saved(folder: Path, tokenizer_json: bytes, **tokens: str) -> bytes:
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(tokenizer_json)
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    return tokenizer_json


def small() -> bytes:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[EOS, BOS], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([text[:2_000] for text in TEXTS], trainer)
    return tokenizer.to_str().encode()


def check_ids(ask: Ask, folder: Path, tokenizer_json: bytes, bos: str | None) -> None:
    job = {"do": "encode", "tokenizer": str(folder), "texts": TEXTS}
    whole, cut = ask({**job, "marin": False}, {**job, "marin": True})
    assert whole["ids"] != cut["ids"]
    for answer, encoder in (
        (whole, Encoder(tokenizer_json, TokenizerOptions(eos=EOS, bos=bos))),
        (cut, Encoder(tokenizer_json, TokenizerOptions(eos=EOS, bos=bos, long_strings="marin"))),
    ):
        assert encoder.engine == "fastokens"
        flat, lengths = encoder.encode(TEXTS)
        ids = np.split(flat, np.cumsum(lengths)[:-1])
        assert [row.tolist() for row in ids] == answer["ids"]
        assert answer["metadata"]["vocab_size"] == encoder.vocab_size


@pytest.mark.slow
def test_our_ids_are_those_of_real_levanter_with_bos(ask: Ask, tmp_path: Path) -> None:
    tokenizer_json = saved(tmp_path / "small", small(), eos_token=EOS, bos_token=BOS)
    check_ids(ask, tmp_path / "small", tokenizer_json, BOS)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_our_ids_are_those_of_real_levanter_on_gpt_neox(ask: Ask, tmp_path: Path) -> None:
    data = os.environ.get("GRISTMILL_SAMPLE_DATA")
    if not data:
        pytest.skip("GRISTMILL_SAMPLE_DATA does not name the sample data")
    packed = Path(data) / "tokenizers" / "gpt-neox-olmo-dolma-v1_5" / "tokenizer.json.gz"
    tokenizer_json = saved(tmp_path / "neox", gzip.decompress(packed.read_bytes()), eos_token=EOS)
    check_ids(ask, tmp_path / "neox", tokenizer_json, None)
