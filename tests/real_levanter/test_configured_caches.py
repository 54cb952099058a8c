"""Texts, conversations and ids from raw to a training configuration that the real Levanter loads, folder and bucket."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peer import Ask
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Chat, Prebuilt
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}> {% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{{ eos_token }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
)
TALKS = Chat(chat_template=TEMPLATE, on_trouble="drop", pack=4)
BUILT = Prebuilt(input_ids_key="ids", loss_weights_key="weights", length=3)


def stream(name: str, **options: Any) -> Stream:
    """A stream with a copy of each row of its own, because streams may not share documents."""
    only = Rule(f"is-{name}", f"kind = '{name}'", "each stream has rows of its own")
    return Stream(
        name=name,
        source="pages",
        version="v0",
        columns=(field("metadata.kind", name="kind"),),
        include=(only,),
        **options,
    )


MIX = Mix(
    name="three",
    streams=(stream("texts", weight=3), stream("talks", format=TALKS), stream("built", format=BUILT)),
    validation=0.2,
    parts=2,
    draft=True,
)
TINY = Tokenizer(name="tiny-1", training=Training(mix="three", snapshots={"texts": (SNAPSHOT,)}, vocabulary=300))


def rows(count: int) -> Iterator[dict[str, Any]]:
    for n in range(count):
        said = [{"role": "user", "content": f"{n}+{n}?"}, {"role": "assistant", "content": f"\u00e9 {2 * n}"}]
        silent = n % 7 == 3
        metadata = {
            "messages": said[:1] if silent else said * (n % 3 + 1),
            "ids": [n % 250, 1, 2],
            "weights": [1, 0.5, n],
        }
        yield {"id": f"d{n}", "text": f"text {n} " * (n % 5), "source": "pages", "metadata": metadata}


def grown(mill: Mill, count: int = 60) -> list[dict[str, Any]]:
    """The mix's caches; the rows that went in, in the order of the parts' shards."""
    given = list(rows(count))
    for name, half in (("a", given[: count // 2]), ("b", given[count // 2 :])):
        mill.raw(
            f"{name}.jsonl.gz",
            [
                {**row, "id": f"{kind.key}-{row['id']}", "metadata": {**row["metadata"], "kind": kind.key}}
                for kind in MIX.streams
                for row in half
            ],
        )
    mill.convert()
    for stream in MIX.streams:
        mill.make(stream_step(MIX, stream.key, SNAPSHOT, SHELVES))
    make_tokenizer(mill.store, TINY, mill.said.append)
    for stream in MIX.streams:
        mill.make(TokenCacheStep(MIX, stream.key, TINY, SNAPSHOT, SHELVES))
    source = mill.source()
    sources, known = {s.key: source for s in MIX.streams}, {s.key: [SNAPSHOT] for s in MIX.streams}
    index_cache(mill.store, MIX, TINY, sources, known, consolidated=True)
    return given


def process(mill: Mill, declared: dict[str, Any], given: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """The job by which Levanter makes rows of the same data; the tokenizer is taken out of the lake."""
    folder.mkdir(exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes(mill.store.read(f"tokenizers/tiny-1/{name}"))
    return {"do": "process", "tokenizer": str(folder), "format": declared, "rows": given}


def jobs_of(mill: Mill, given: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    index = "token_caches/three/tiny-1/index"
    config = mill.store.read(f"{index}/data.yaml").decode()
    one = mill.store.read(f"{index}/consolidated/data.yaml").decode()
    splits = ["train", "validation"]
    return [
        {"do": "configured", "config": config, "splits": splits},
        {"do": "configured", "config": one, "splits": splits},
        process(mill, {"type": "text"}, given, folder),
        process(mill, {"type": "chat", "chat_template": TEMPLATE}, [g["metadata"] for g in given], folder),
        process(
            mill,
            {"type": "prebuilt", "input_ids_key": "ids", "loss_weights_key": "weights"},
            [g["metadata"] for g in given],
            folder,
        ),
    ]


def check(answers: list[dict[str, Any]]) -> None:
    """Every row of Levanter's own is in exactly one split, and nothing else is; parts are drawn by shards' names."""
    sharded, one, *own = answers
    assert sharded == one
    for name, processed in zip(("texts", "talks", "built"), own, strict=True):
        made = [row for row in processed["rows"] if "error" not in row]
        found = [*sharded[f"{name}/train"], *sharded[f"{name}/validation"]]
        assert sorted(json.dumps(row, sort_keys=True) for row in found) == sorted(
            json.dumps(row, sort_keys=True) for row in made
        )
        assert len(sharded[f"{name}/validation"]) > 0
    assert len([row for row in own[1]["rows"] if "error" in row]) == 9
    assert own[0]["rows"].index(sharded["texts/train"][0]) < own[0]["rows"].index(sharded["texts/train"][1])


@pytest.mark.slow
def test_levanter_loads_all_three_formats_from_a_folder(ask: Ask, mill: Mill, tmp_path: Path) -> None:
    given = grown(mill)
    check(ask(*jobs_of(mill, given, tmp_path / "tokenizer")))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_levanter_before_marins_loads_the_consolidated_copies(old_levanter: Ask, mill: Mill) -> None:
    grown(mill)
    config = json.loads(mill.store.read("token_caches/three/tiny-1/index/consolidated/data.yaml"))
    jobs: list[dict[str, Any]] = []
    expected: list[list[dict[str, Any]]] = []
    for stream in MIX.streams:
        for split in ("train", "validation"):
            folder = f"{config['components'][stream.key]['cache_dir']}/{split}"
            path = folder.removeprefix(f"{mill.store.url}/")
            jobs.append({"do": "read", "cache": folder, "fields": stream.format.dtypes})
            reader = CacheReader(range_reader_of_store(mill.store), path)
            expected.append([{f: reader.row(f, n).tolist() for f in reader.fields} for n in range(reader.rows)])
    assert [answer["rows"] for answer in old_levanter(*jobs)] == expected
    assert all(expected)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_levanter_loads_all_three_formats_from_an_s3_server(
    fresh_levanter: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        port = server.get_host_and_port()[1]
        # Levanter asks for bucket.localhost: a bare address has no such names.
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://localhost:{port}",
            "AWS_ACCESS_KEY_ID": "anyone",
            "AWS_SECRET_ACCESS_KEY": "anything",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }.items():
            monkeypatch.setenv(name, value)
        boto3.Session().client("s3", endpoint_url=f"http://127.0.0.1:{port}").create_bucket(Bucket="lakes")
        options = {"endpoint": f"http://127.0.0.1:{port}", "region": "us-east-1", "allow_http": "true"}
        mill = Mill(tmp_path, "s3://lakes/lake", options)
        given = grown(mill)
        check(fresh_levanter(*jobs_of(mill, given, tmp_path / "tokenizer")))
    finally:
        server.stop()
