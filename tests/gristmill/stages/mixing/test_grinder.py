import pytest
from streams import rule, stream
from testkit import Meanwhile, Mill, lines

from gristmill.errors import DataError, StoreError
from gristmill.recipes.rules import field
from gristmill.recipes.sql.process import LIMITS
from gristmill.recipes.sql.worker import ProcessLimits


def test_a_stream_without_rules_copies_every_shard(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.mix(stream())
    for name in "ab":
        assert mill.store.read(mill.stream().shard(name)) == mill.store.read(mill.documents().shard(name))
        assert mill.table(mill.stream())[name].ids == mill.table(mill.documents())[name].ids


def test_kept_rows_are_copied_byte_for_byte(mill: Mill) -> None:
    odd = [
        b'{ "metadata": {"language":"en" ,"number": 1e0},"source":"pages", "text":"a  b", "id":"x" }',
        b'{"id":"y","text":"dropped","source":"pages","metadata":{"language":"fr"}}',
        b'{"source":"pages","id":"z","text":"\\u0065","metadata":{"language":"en","big":123456789012345678901234567890}}',
    ]
    mill.raw("a.jsonl.gz", odd)
    mill.convert()
    mill.mix(stream(columns=(field("metadata.language", name="lang"),), include=rule("lang = 'en'")))
    assert mill.lines(mill.stream().shard("a")) == [odd[0], odd[2]]


def test_a_blocklist_that_changed_since_the_plan_is_a_store_error_and_nothing_passes(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.store.put("blocklists/takedowns.jsonl", b"")
    entry = lines([{"source": "pages", "id": "doc-00001", "reason": "asked for"}])
    changed = Meanwhile(lambda: mill.store.put("blocklists/takedowns.jsonl", entry))
    with pytest.raises(StoreError, match=r"blocklists/takedowns\.jsonl: changed since this run was planned"):
        mill.mix(stream(blocklists=("takedowns",)), engine=changed)
    assert mill.store.head(mill.stream().shard("a")) is None


@pytest.mark.slow
def test_a_rule_that_passes_its_limit_fails_its_shard_by_name_and_drops_no_row(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"id": "long", "text": "ab" * 500_000, "source": "pages"}  # 10^12 steps
    mill.raw("a.jsonl.gz", [{"id": "short", "text": "ab", "source": "pages"}])
    mill.raw("b.jsonl.gz", [{"id": "before", "text": "ab", "source": "pages"}, long])
    mill.convert()
    dear = stream(columns=(field("text"),), exclude=rule("levenshtein(text, reverse(text)) > 2", "far"))
    monkeypatch.setattr("gristmill.stages.mixing.rule_engine.LIMITS", ProcessLimits(0.6, LIMITS.memory))
    named = r"documents/2024/b\.jsonl\.gz: rows 0 to 1: rule 'far' takes more than .* no row was judged"
    with pytest.raises(DataError, match=named):
        mill.mix(dear)
    assert mill.store.head(mill.stream().ledger) is None
    assert mill.store.head(mill.stream().shard("b")) is None
    assert mill.ids(mill.stream(), "a") == ["short"]  # the other shard is made
