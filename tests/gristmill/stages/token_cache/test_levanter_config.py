import json
from pathlib import Path

from talklake import BYTES, TEMPLATE, build, mix_of, row, rows_of, started, talk
from testkit import SNAPSHOT

from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.formats.levanter.checksums import verify_checksums
from gristmill.recipes.row_format import Chat, format_from_mapping
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.token_cache.levanter_config import levanter_data_yaml


def test_the_trainers_configuration_says_format_catalog_and_block(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("a", "b")))
    mix = mix_of(Chat(chat_template=TEMPLATE, pack=8, slice_strategy="drop"), block=64)
    build(mill, mix)
    sources = {"pages": mill.source()}
    index_cache(mill.store, mix, BYTES, sources, {"pages": [SNAPSHOT]}, consolidated=True)
    top = f"{mill.store.url}/token_caches/talk/bytes-1"
    config = json.loads(mill.store.read("token_caches/talk/bytes-1/index/data.yaml"))
    assert config["components"]["pages"]["format"] == {
        "type": "chat", "messages_field": "messages", "chat_template": TEMPLATE, "pack": 8,
        "chat_template_kwargs": "chat_template_kwargs", "mask_user_turns": True, "slice_strategy": "drop",
    }  # fmt: skip
    assert (config["mixture_block_size"], config["cache_catalog"]) == (64, f"{top}/index/cache_catalog.json")
    catalog = json.loads(mill.store.read("token_caches/talk/bytes-1/index/cache_catalog.json"))
    entry = catalog["splits"]["train"]["pages"]
    assert (entry["cache_dir"], entry["ledger"]["total_num_rows"]) == (f"{top}/pages/train", 2)
    one = json.loads(mill.store.read("token_caches/talk/bytes-1/index/consolidated/data.yaml"))
    folder = one["components"]["pages"]["cache_dir"].removeprefix(f"{mill.store.url}/")
    reader = CacheReader(range_reader_of_store(mill.store), f"{folder}/train")
    assert [reader.row("input_ids", n).tolist() for n in range(2)] == [each["input_ids"] for each in rows_of(mill)]
    assert verify_checksums(mill.store, f"{folder}/train/")["total_num_rows"] == 2
    before = mill.tree()
    index_cache(mill.store, mix, BYTES, sources, {"pages": [SNAPSHOT]}, consolidated=True)
    assert mill.tree() == before


def test_an_option_that_is_null_here_but_not_in_levanter_is_written() -> None:
    declared = Chat(chat_template=TEMPLATE, chat_template_kwargs=None)
    config = json.loads(levanter_data_yaml("lake", mix_of(declared), BYTES, {"pages": 1.0}))
    written = config["components"]["pages"]["format"]
    assert written["chat_template_kwargs"] is None
    assert not {"system_prompt", "pack"} & written.keys()
    assert format_from_mapping(written) == declared
