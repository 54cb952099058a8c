"""A takedown from raw data to token caches and exports, proven by reading every object in another way."""

import gzip
import json
from pathlib import Path

import pytest
from blendlake import STREAMS, TOKENIZER, Blend
from testkit import SNAPSHOT, Mill

from gristmill.__main__ import main
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.lake.address import cache_asset
from gristmill.recipes.export import ExportFormat, Oscar
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.token_cache.token_stream import open_split

TARS = EnergonWebdataset(parts={"txt": "text"}, sample_type="TextSample", field_map={"text": "txt"})
FORMATS: dict[str, ExportFormat] = {"oscar": Oscar(), "lines": EnergonJsonl(file_bytes=1_000_000), "tars": TARS}
GONE = (3, 17, 25)
TRAINED = ("mixes/", "token_caches/", "exports/")


def made(blend: Blend) -> None:
    """Everything of the lake, and the index of the token cache."""
    blend.make(SNAPSHOT, tokens=True)
    sources = {stream: blend.mill.source(stream) for stream in STREAMS}
    index_cache(blend.mill.store, blend.mix, TOKENIZER, sources, {stream: [SNAPSHOT] for stream in STREAMS})


def texts_in(mill: Mill) -> dict[str, bytes]:
    """The bytes of every object that training reads: unpacked, and the tokens of the caches as their text."""
    found = {}
    for path in mill.root.rglob("*"):
        name = str(path.relative_to(mill.root))
        if path.is_file() and name.startswith(TRAINED):
            data = path.read_bytes()
            found[name] = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    vocabulary = json.loads(mill.store.read("tokenizers/bytes-1/tokenizer.json"))["model"]["vocab"]
    letters = {number: token.replace("Ġ", " ") for token, number in vocabulary.items()}
    for stream in STREAMS:
        tokens = open_split(mill.store, cache_asset("blend", "bytes-1", stream), "train")
        field = tokens.fields[0]
        ids = tokens.read_elements(field, 0, tokens.count(field)).tolist()
        found[f"tokens of {stream}"] = "".join(letters.get(each, "?") for each in ids).encode()
    return found


@pytest.mark.slow
def test_nothing_that_training_reads_has_the_text_any_longer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    blend = Blend(mill, FORMATS, {"pages": 1.0, "notes": 1.0})
    blend.write({f"{SNAPSHOT}/a": range(10), f"{SNAPSHOT}/b": range(10, 20), f"{SNAPSHOT}/c": range(20, 30)}, count=5)
    made(blend)
    before = texts_in(mill)
    for number in GONE:
        holders = {name.partition("/")[0] for name, data in before.items() if b"page %04d" % number in data}
        assert holders == {"mixes", "exports", "tokens of pages"}
    asked = tmp_path / "asked.jsonl"
    asked.write_text("".join(json.dumps({"source": "pages", "id": f"page-{number:04}"}) + "\n" for number in GONE))
    words = ["takedown", str(mill.root), "--ids", str(asked), "--shelves", "gristmill,testshelf"]
    assert main([*words, "--json"]) == 1  # no shelf has this mix
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    exported = [each["where"].split("/")[2] for each in found if each["area"] == "exports"]
    assert sorted(exported) == sorted(list(FORMATS) * len(GONE))
    assert main([*words, "--prove"]) == 1
    made(blend)
    assert main([*words, "--prove"]) == 1
    assert "remove it with gristmill gc" in capsys.readouterr().out
    assert main(["gc", str(mill.root)]) == 0
    assert main([*words, "--prove"]) == 0
    after = texts_in(mill)
    for number in range(30):
        holders = {name.partition("/")[0] for name, data in after.items() if b"page %04d" % number in data}
        assert holders == (set() if number in GONE else {"mixes", "exports", "tokens of pages"}), number
        assert number not in GONE or not any(b"page-%04d" % number in data for data in after.values())
