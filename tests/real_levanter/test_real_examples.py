"""Our packing and our examples against those of the real Levanter, element by element."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peer import Ask
from splits import ASSET, CHAT, TEXT, WEIGHED, Row, texts, write_split

from gristmill.errors import DataError
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text
from gristmill.stages.packing.examples import TrainingExample, examples_of
from gristmill.stages.packing.packer import PackingRule, pack_documents
from gristmill.stages.token_cache.token_stream import open_split

EOS = 7


def some_lengths(seed: int) -> list[list[int]]:
    """Two fields of documents: short, empty and too long ones, for examples of 64."""
    random = np.random.default_rng(seed)
    longest = int(random.choice([8, 40, 90]))
    count = int(random.integers(0, 120))
    one = random.integers(0, longest, count)
    other = np.where(random.random(count) < 0.8, one, random.integers(0, longest, count))
    return [one.tolist(), other.tolist()]


def planned(lengths: list[list[int]], rule: PackingRule) -> list[list[int]] | None:
    """First document and the one behind the last of each example; None if a document must not be cut."""
    try:
        made = pack_documents([[np.array(each, np.int64) for each in lengths]], rule)
    except DataError:
        return None
    return [[a, a + n] for a, n in zip(made.first.tolist(), made.count.tolist(), strict=True)]


def test_documents_share_examples_as_in_real_levanter(ask: Ask) -> None:
    strategies: Sequence[Any] = ("left", "right", "raise", "drop")
    cases = [
        (some_lengths(seed), PackingRule(64, segments, strategy))
        for seed in range(40)
        for segments in (1, 3, 64)
        for strategy in strategies
    ]
    answers = ask(
        *(
            {
                "do": "pack",
                "lengths": {"input_ids": lengths[0], "assistant_masks": lengths[1]},
                "length": rule.length,
                "segments": rule.segments,
                "slice": rule.slice,
            }
            for lengths, rule in cases
        )
    )
    assert [planned(*case) for case in cases] == [answer.get("packs") for answer in answers]
    refused = [case[1].slice for case, answer in zip(cases, answers, strict=True) if "error" in answer]
    assert set(refused) == {"raise"}
    assert len(refused) < len(cases) / 4  # some of them are not too long


def some_rows(seed: int, longest: int, fields: Mapping[str, DType]) -> list[Row]:
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for size in random.integers(0, longest, 60).tolist():
        row: dict[str, list[float]] = {"input_ids": random.integers(0, 50, size).tolist()}
        if "assistant_masks" in fields:
            row["assistant_masks"] = random.integers(0, 2, size).tolist()
        rows.append(row)
    return rows


def plain(example: TrainingExample) -> dict[str, Any]:
    segments = example.segment_ids
    return {
        "tokens": example.tokens.tolist(),
        "loss": example.loss_weight.tolist(),
        "segments": None if segments is None else segments.tolist(),
        "types": [str(example.tokens.dtype), str(example.loss_weight.dtype), None if segments is None else "int32"],
    }


def ours(store: FolderStore, form: Format, length: int, *, block: bool) -> list[dict[str, Any]] | None:
    stream = open_split(store, ASSET, "train")
    try:
        found = examples_of(stream, form, length, eos=EOS, see_others=not block)
    except DataError:
        return None
    return [plain(found[number]) for number in range(len(found))]


def compare(
    ask: Ask, store: FolderStore, forms: Sequence[Format], fields: Mapping[str, DType], *lengths: int
) -> list[list[dict[str, Any]] | None]:
    """Asks both for all examples of the lake's one split in each format and length; what both say."""
    cases = [(form, length, block) for form in forms for length in lengths for block in (True, False)]
    jobs = []
    for form, length, block in cases:
        spelled = form.as_levanter()
        options = {name: value for name, value in spelled.items() if name != "type"}
        job = {"do": "examples", "cache": f"{store.url}/{ASSET}/train", "fields": dict(fields), "type": spelled["type"]}
        pack = form.pack if isinstance(form, Text) else None
        jobs.append({**job, "options": options, "pack": pack, "length": length, "eos": EOS, "block": block})
    answers = [answer.get("examples") for answer in ask(*jobs)]
    found = [ours(store, form, length, block=block) for form, length, block in cases]
    for case, mine, answer in zip(cases, found, answers, strict=True):
        assert mine == answer, case
    return found


@pytest.mark.slow
@pytest.mark.exhaustive
def test_examples_of_text_are_those_of_real_levanter(ask: Ask, tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    rows = some_rows(1, 70, TEXT)
    write_split(store, {"2024/part-0": rows[:20], "2024/part-1": [], "2025/part-0": rows[20:]})
    forms = [Text(), Text(pack=False), Text(pack=True), Text(pack=1), Text(pack=3)]
    found = compare(ask, store, forms, TEXT, 32, 100)
    assert all(found)  # none is refused, none is empty
    store = FolderStore(str(tmp_path / "other"))  # Levanter keeps in memory what it has read of a path
    write_split(store, {"2024/part-0": texts([EOS, 1, EOS], [EOS, EOS, 2], [3], [4, EOS])})
    assert compare(ask, store, [Text()], TEXT, 1, 3, 9, 10)[-1] == []


@pytest.mark.slow
@pytest.mark.exhaustive
def test_examples_of_chat_are_those_of_real_levanter(ask: Ask, tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    rows = some_rows(2, 60, CHAT)
    write_split(store, {"2024/part-0": rows[:20], "2024/part-1": [], "2025/part-0": rows[20:]}, CHAT)
    forms: list[Chat] = [Chat(), Chat(mask_user_turns=False), Chat(pack=False), Chat(pack=2)]
    forms += [Chat(slice_strategy=each, pack=pack) for each in ("right", "drop", "raise") for pack in (True, 1)]
    found = compare(ask, store, forms, CHAT, 40, 80)
    refused = [each is None for each in found]
    assert refused.count(True) == 6  # at 40: pack=False, and raise; with and without seeing others
    assert len({str(each) for each in found if each}) > 20


def test_prebuilt_examples_are_those_of_real_levanter(ask: Ask, tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    random = np.random.default_rng(3)
    rows: list[Row] = [
        {
            "input_ids": random.integers(0, 20, 24).tolist(),
            "loss_weights": random.random(24).astype(np.float32).tolist(),
        }
        for _ in range(12)
    ]
    write_split(store, {"2024/part-0": rows[:5], "2025/part-0": rows[5:]}, WEIGHED)
    found = compare(ask, store, [Prebuilt(loss_weights_key="loss_weights"), Prebuilt()], WEIGHED, 24)
    assert [len(each or []) for each in found] == [12] * 4
