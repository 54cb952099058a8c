"""Token caches of conversations and of ids that others made: from raw rows to a trainer's configuration."""

import json
from pathlib import Path
from typing import Any

import pytest
from talklake import BYTES, TEMPLATE, mix_of, row, started, talk
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import reseal_shard

from gristmill.errors import DataError, RecipeError
from gristmill.formats.levanter.cache import CacheReader, ranges_of
from gristmill.formats.levanter.checksums import prove
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.index import index_cache
from gristmill.stages.token_cache.part_table import cache_complete
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.verification.audit import audit_spelling, audited_ledgers
from gristmill.verification.token_caches import cache_findings


def build(mill: Mill, mix: Mix) -> Ledger:
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    made = mill.make(TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    documents = place("mixes/talk/documents/pages", SNAPSHOT)
    verdict = cache_complete(mill.store, read_ledger(mill.store, documents)[1], read_ledger(mill.store, here)[1], here)
    assert verdict.passed, verdict.description
    assert [finding.what for finding in cache_findings(mill.store, here, mill.said.append)] == []
    return made


def rows_of(mill: Mill, split: str = "train") -> list[dict[str, list[Any]]]:
    found: list[dict[str, list[Any]]] = []
    _, table = read_ledger(mill.store, place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT))
    for part in table:
        reader = CacheReader(ranges_of(mill.store), part.extra["folders"][split].rstrip("/"))
        found += [{field: reader.row(field, n).tolist() for field in reader.fields} for n in range(reader.rows)]
    return found


def spelled(mill: Mill, ids: list[int]) -> str:
    tokens = json.loads(mill.store.read("tokenizers/bytes-1/tokenizer.json"))["model"]["vocab"]
    names = {number: token for token, number in tokens.items()}
    return "".join(names[each] for each in ids)


def test_a_conversation_is_one_row_with_a_mask_over_what_the_assistant_said(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("2+2", "4", "ok", "!")))
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE), parts=1))
    assert (made.totals["rows"], made.totals["text bytes"]) == (2, 13 + 19)
    rows = rows_of(mill)
    assert [spelled(mill, each["input_ids"]) for each in rows] == ["u:Hi;a:Hello;", "u:2+2;a:4;u:ok;a:!;"]
    assert ["".join(map(str, each["assistant_masks"])) for each in rows] == ["0000000111110", "0000000010000000010"]


TROUBLED = (
    row(0, talk("Hi", "Hello")),
    row(1, talk("nobody answers")),
    row(2, {"messages": None}),
    row(3, {"other": 1}),
    row(4, talk("Hi", "Ho")),
    row(5, {"messages": [{"role": "assistant"}]}),
)


def test_rows_in_trouble_are_dropped_and_counted_where_the_recipe_says_so(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *TROUBLED)
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=1, validation=0.5))
    assert made.dropped == {"no assistant turn": 1, "no messages": 2, "undefined template variable": 1}
    assert made.totals["rows"] == 2
    [part] = read_ledger(mill.store, place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT))[1]
    shards = part.extra["shards"]
    assert {name: shard["dropped"] for name, shard in shards.items()} == {"a": [1, 2], "b": [0, 2]}
    held = {name: unpack_bits(shard["held"], 3).tolist() for name, shard in shards.items()}
    counts = {name: shard["ranges"]["validation"][1] for name, shard in shards.items()}
    assert {name: sum(flags) for name, flags in held.items()} == counts
    assert not held["a"][1]
    assert not held["b"][0]


def test_rows_in_trouble_are_kept_as_far_as_they_can_be(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *TROUBLED)
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="keep"), parts=1))
    kept = {name: rows for name, rows in made.totals.items() if name.startswith("kept")}
    assert kept == {"kept: no assistant turn": 1, "kept: undefined template variable": 1}
    assert made.dropped == {"no messages": 2}
    said = [spelled(mill, each["input_ids"]) for each in rows_of(mill)]
    assert said == ["u:Hi;a:Hello;", "u:nobody\u0120answers;", "u:Hi;a:Ho;", "a:;"]


def test_a_row_in_trouble_stops_its_shard_and_is_named(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *TROUBLED)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 1: no assistant turn: .*on_trouble='drop'"):
        build(mill, mix_of(Chat(chat_template=TEMPLATE), parts=1))


def test_a_chat_without_a_template_or_marks_is_refused_before_anything_runs(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")))
    with pytest.raises(RecipeError, match=r"no chat template: neither its format .* nor has the tokenizer bytes-1"):
        build(mill, mix_of(Chat()))
    bare = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(RecipeError, match=r"no \{% generation %\} block.* mask_user_turns=False"):
        build(mill, mix_of(Chat(chat_template=bare)))
    build(mill, mix_of(Chat(chat_template=bare, mask_user_turns=False)))
    assert rows_of(mill)[0]["assistant_masks"] == [0] * 7
    with pytest.raises(RecipeError, match="the chat template is not valid Jinja"):
        build(mill, mix_of(Chat(chat_template="{% for m in messages %}")))


def test_a_template_cannot_leave_its_sandbox_nor_ask_for_the_date(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")))
    for harm in ("''.__class__.__mro__", "messages.append(1)", "strftime_now('%Y')", "raise_exception('no')"):
        template = f"{{{{ {harm} }}}}{TEMPLATE}"
        made = build(mill, mix_of(Chat(chat_template=template, on_trouble="drop")))
        assert made.totals["rows"] == 0, harm
    dated = Chat(chat_template="{{ strftime_now('%Y') }}" + TEMPLATE, today="2026-11-30")
    build(mill, mix_of(dated, parts=1))
    assert spelled(mill, rows_of(mill)[0]["input_ids"]).startswith("2026u:Hi;")


def test_a_row_brings_a_template_only_where_the_recipe_lets_it(tmp_path: Path) -> None:
    own = {**talk("Hi", "Hello"), "chat_template_kwargs": {"chat_template": "!" + TEMPLATE}}
    mill = started(tmp_path / "lake", row(0, own))
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop")))
    assert made.dropped == {"row brings its own template": 1}
    build(mill, mix_of(Chat(chat_template=TEMPLATE, row_templates=True)))
    assert spelled(mill, rows_of(mill)[0]["input_ids"]) == "!u:Hi;a:Hello;"


def test_prebuilt_rows_are_taken_over_and_what_is_wrong_with_one_is_said(tmp_path: Path) -> None:
    mill = started(
        tmp_path / "lake",
        row(0, {"ids": [1, 2, 3, 4], "w": [1, 0.5, 0, 2]}),
        row(1, {"ids": [1, 2, 3], "w": [1, 1, 1]}),
        row(2, {"ids": [1, 2, 3, 258], "w": [1, 1, 1, 1]}),
        row(3, {"ids": [1, 2, 3, 4], "w": [1, 1, 1]}),
        row(4, {"ids": [1, 2, 3, "4"], "w": [1, 1, 1, 1]}),
        row(5, {"w": [1]}),
        row(6, {"ids": [5, 6, 7, 8], "w": [0, 0, 0, 1]}),
        row(7, {"ids": [-1, 6, 7, 8], "w": [0, 0, 0, 1]}),
        row(8, {"ids": [1, 6, 7, 8], "w": [0, 0, 0, 1e39]}),
        row(9, {"ids": [1, 6, 7, 8], "w": None}),
    )
    declared = Prebuilt(input_ids_key="ids", loss_weights_key="w", length=4, on_trouble="drop")
    made = build(mill, mix_of(declared, parts=1))
    assert made.dropped == {
        "wrong number of token ids": 1,
        "token ids outside the vocabulary": 2,
        "token ids are not integers": 1,
        "no token ids": 1,
        "no loss weights": 1,
        "wrong number of loss weights": 1,
        "loss weights out of range": 1,
    }
    assert rows_of(mill) == [{"ids": [1, 2, 3, 4], "w": [1, 0.5, 0, 2]}, {"ids": [5, 6, 7, 8], "w": [0, 0, 0, 1]}]


def test_a_text_under_another_key_is_taken_from_the_metadata(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, {"body": "b0"}), row(1, {"body": None}), row(2, {"body": "b2"}))
    made = build(mill, mix_of(Text(text_key="body", on_trouble="keep"), parts=1))
    assert made.totals["kept: no text"] == 1
    assert [spelled(mill, each["input_ids"][:2]) for each in rows_of(mill)] == ["b0", "\u0120<|endoftext|>", "b2"]


def test_a_changed_shard_is_tokenized_alone_and_facts_of_the_others_are_copied(tmp_path: Path) -> None:
    rows = [row(number, talk("Hi", "x" * number)) for number in range(8)]
    mill = started(tmp_path / "lake", *rows)
    mix = mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=1, validation=0.3)
    build(mill, mix)
    mill.raw("b.jsonl.gz", [row(number, talk("Ho", "y" * number)) for number in range(4, 8)])
    mill.convert()
    made = build(mill, mix)
    fresh = started(tmp_path / "fresh", *rows[:4], *[row(number, talk("Ho", "y" * number)) for number in range(4, 8)])
    assert made.fingerprint == build(fresh, mix).fingerprint
    assert made.totals == build(fresh, mix).totals
    assert made.dropped == {"no assistant turn": 1}
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    rows_made = read_ledger(mill.store, here)[1]
    assert rows_made == read_ledger(fresh.store, here)[1]  # who was held out too, which no fingerprint says
    assert all(shard["held"] for shard in rows_made[0].extra["shards"].values())


def test_a_part_of_an_earlier_version_is_made_again_rather_than_copied_uncounted(tmp_path: Path) -> None:
    rows = [row(number, talk("Hi", "x" * (number + 1))) for number in range(8)]
    mill = started(tmp_path / "lake", *rows)
    mix = mix_of(Chat(chat_template=TEMPLATE), parts=1, validation=0.3)
    build(mill, mix)
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    [part] = read_ledger(mill.store, here)[1]
    bare = {name: {key: old[key] for key in ("content", "ranges")} for name, old in part.extra["shards"].items()}
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": bare})
    assert audit_spelling(mill.store, here.ledger, 1, mill.said.append) == []
    assert "shard b was made by version 0.1; not compared" in mill.said[-2]
    mill.raw("b.jsonl.gz", rows[4:7])
    mill.convert()
    build(mill, mix)
    [part] = read_ledger(mill.store, here)[1]
    assert {name: sum(old["facts"]["lengths"]) for name, old in part.extra["shards"].items()} == {"a": 4, "b": 3}
    assert all(old["held"] for old in part.extra["shards"].values())


def test_special_strings_in_a_text_are_tokens_or_words_or_trouble(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "a<|pad|>b"), "a<|endoftext|>b"), row(1, talk("Hi", "c"), "c"))
    sha256 = json.loads(mill.store.read("tokenizers/bytes-1/ledger.json"))["fingerprint"]

    def rows(declared: Format, specials: Any) -> tuple[list[str], dict[str, int]]:
        name = f"{specials}-1"
        tokenizer = Tokenizer(name=name, file="lake:tokenizers/bytes-1", sha256=sha256, specials=specials)
        make_tokenizer(mill.store, tokenizer, mill.said.append)
        mix = mix_of(declared, parts=1)
        mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
        ledger = mill.make(TokenCacheStep(mix, "pages", tokenizer, SNAPSHOT, SHELVES))
        here = place(cache_asset("talk", name, "pages"), SNAPSHOT)
        assert audit_spelling(mill.store, here.ledger, 1, mill.said.append) == []
        [part] = read_ledger(mill.store, here)[1]
        reader = CacheReader(ranges_of(mill.store), part.extra["folders"]["train"].rstrip("/"))
        found = [reader.row("input_ids", number).tolist() for number in range(reader.rows)]
        return [f"{len(each)} {spelled(mill, each)}" for each in found], ledger.dropped

    end = "\u0120<|endoftext|>"
    drop = Text(on_trouble="drop")
    assert rows(Text(), "tokens") == ([f"5 a<|endoftext|>b{end}", f"3 c{end}"], {})
    assert rows(Text(), "text") == ([f"17 a<|endoftext|>b{end}", f"3 c{end}"], {})
    assert rows(drop, "refuse") == ([f"3 c{end}"], {"special token in the text": 1})
    chat = Chat(chat_template=TEMPLATE, on_trouble="drop")
    assert rows(chat, "tokens")[0] == ["11 u:Hi;a:a<|pad|>b;", "9 u:Hi;a:c;"]
    assert rows(chat, "refuse") == (["9 u:Hi;a:c;"], {"special token in the text": 1})
    with pytest.raises(RecipeError, match="encodes special strings as text, but a chat template writes them"):
        rows(chat, "text")


def test_a_sample_is_encoded_again_by_the_reference(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *[row(n, talk(f"Hi {n}", "x" * (n % 5))) for n in range(20)])
    build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=2, validation=0.3))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    assert audit_spelling(mill.store, here.ledger, 1, mill.said.append) == []
    assert mill.said[-1].endswith("16 documents encoded once more")
    assert audit_spelling(mill.store, here.ledger, 0.5, mill.said.append) == []
    assert 1 < int(mill.said[-1].split()[-5]) < 16
    _, [part, *_] = read_ledger(mill.store, here)
    swapped = {**part.extra["shards"]["a"], "dropped": [1, 5]}
    assert swapped["dropped"] != part.extra["shards"]["a"]["dropped"]
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": {"a": swapped}})
    found = audit_spelling(mill.store, here.ledger, 1, mill.said.append)
    assert "differ from the reference tokenizer's at token" in found[0].what


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
    reader = CacheReader(ranges_of(mill.store), f"{folder}/train")
    assert [reader.row("input_ids", n).tolist() for n in range(2)] == [each["input_ids"] for each in rows_of(mill)]
    assert prove(mill.store, f"{folder}/train/")["total_num_rows"] == 2
    before = mill.tree()
    index_cache(mill.store, mix, BYTES, sources, {"pages": [SNAPSHOT]}, consolidated=True)
    assert mill.tree() == before


def test_a_brought_tokenizers_folder_gives_its_template_and_a_changed_file_is_refused(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")))
    folder = tmp_path / "brought"
    folder.mkdir()
    data = mill.store.read("tokenizers/bytes-1/tokenizer.json")
    (folder / "tokenizer.json").write_bytes(data)
    (folder / "chat_template.jinja").write_text("J" + TEMPLATE)
    sha256 = json.loads(mill.store.read("tokenizers/bytes-1/ledger.json"))["fingerprint"]
    here = Tokenizer(name="here-1", file=str(folder), sha256=sha256)
    inside = Tokenizer(name="inside-1", file="lake:tokenizers/here-1", sha256=sha256)
    for tokenizer in (here, inside):
        make_tokenizer(mill.store, tokenizer, mill.said.append)
        mix = mix_of(Chat())
        mill.make(TokenCacheStep(mix, "pages", tokenizer, SNAPSHOT, SHELVES))
        ledger, _ = read_ledger(mill.store, place(cache_asset("talk", tokenizer.name, "pages"), SNAPSHOT))
        assert ledger.totals["text bytes"] == len("Ju:Hi;a:Hello;")
    mill.store.put("tokenizers/here-1/tokenizer_config.json", b"{}")
    with pytest.raises(DataError, match=r"tokenizer_config\.json: changed under its name"):
        mill.make(TokenCacheStep(mix_of(Chat()), "pages", here, SNAPSHOT, SHELVES))
    with pytest.raises(RecipeError, match=r"neither nowhere nor nowhere/tokenizer\.json"):
        make_tokenizer(mill.store, Tokenizer(name="no-1", file="lake:nowhere", sha256="0"), mill.said.append)


@pytest.mark.parametrize("declared", [Chat(chat_template=TEMPLATE), Prebuilt(loss_weights_key="loss_weights")])
def test_a_snapshot_with_no_rows_is_a_cache_with_none(tmp_path: Path, declared: Format) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("a", "b")))
    mill.raw("a.jsonl.gz", [])
    mill.raw("b.jsonl.gz", [])
    mill.convert()
    mix = mix_of(declared, parts=2)
    made = build(mill, mix)
    assert (made.totals["rows"], made.totals["tokens"]) == (0, 0)
    assert rows_of(mill) == []
    index_cache(mill.store, mix, BYTES, {"pages": mill.source()}, {"pages": [SNAPSHOT]}, consolidated=True)
    [copy] = [path for path in audited_ledgers(mill.store) if path.endswith("sums.json")]
    assert prove(mill.store, copy.removesuffix("sums.json"))["total_num_rows"] == 0
