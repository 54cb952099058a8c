"""Bitmaps of held-out rows against the keys of the version that was read."""

from pathlib import Path

import msgspec
import pytest
from hostlake import mix_of, start
from testkit import Mill
from wholelake import reseal

from gristmill.lake.rows.bitmap import pack_bits
from gristmill.recipes.mix import Mix
from gristmill.recipes.rules import Rule, field, score
from gristmill.stages.mixing.held_out import held_out_row_flags
from gristmill.verification.audit import audit_ledger

RULES = {
    "columns": (field("metadata.host", name="host", optional=True),),
    "exclude": (Rule("no-gamma", "host = 'gamma'", "for the test"),),
}


def audited(mill: Mill) -> list[str]:
    return [str(each) for each in audit_ledger(mill.store, mill.stream().ledger, mill.said.append)]


def by_words() -> Mix:
    return mix_of(validation_key=score("words-1__count"))


@pytest.mark.parametrize("mix", [mix_of(), mix_of(**RULES), by_words()])
def test_what_mixing_writes_follows_from_the_keys(tmp_path: Path, mix: Mix) -> None:
    assert audited(start(tmp_path, mix)) == []


@pytest.mark.parametrize("mix", [mix_of(**RULES), by_words()])
def test_a_row_on_the_other_side_is_found(tmp_path: Path, mix: Mix) -> None:
    mill = start(tmp_path, mix)
    a, b = (mill.table(mill.stream())[name] for name in "ab")
    flags = held_out_row_flags(b)
    assert flags is not None
    flags[3] = not flags[3]
    reseal(mill, mill.stream(), [a, msgspec.structs.replace(b, extra={"held": pack_bits(flags)})])
    [finding] = audited(mill)
    assert "documents/pages/2024/b.jsonl.gz: row 3: by its table it is" in finding


def test_a_slice_without_its_bitmap_is_found(tmp_path: Path) -> None:
    mill = start(tmp_path, mix_of())
    a, b = (mill.table(mill.stream())[name] for name in "ab")
    reseal(mill, mill.stream(), [a, msgspec.structs.replace(b, extra={})])
    assert any("shard b: it does not say which rows are held out" in each for each in audited(mill))
