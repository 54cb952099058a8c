import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from streams import rule, stream
from testkit import Mill, lines, make_documents

from gristmill.errors import DataError, MalformedRow, Misaligned, StoreError
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.lake.ledger.model import Recipe, Shard
from gristmill.recipes.rules import field, score, spans


def adopt(mill: Mill, name: str, rows: Sequence[bytes], shard: str = "a", *, ids: str | None = None) -> None:
    """Puts a set's shard and a ledger that vouches for it, as an adopted set has; `ids` is what it claims."""
    where = mill.attributes(name)
    data = gzip.compress(b"".join(row + b"\n" for row in rows), mtime=0)
    mill.store.put(where.shard(shard), data)
    documents = mill.table(mill.documents())[shard]
    claimed = Shard(
        name=shard,
        rows=documents.rows,
        bytes=len(data),
        length=0,
        sha256=hashlib.sha256(data).hexdigest(),
        content=hashlib.sha256(data).hexdigest()[:32],
        ids=ids or documents.ids,
        recipe="adopted",
        inputs=(),
    )
    upstream = read_ledger(mill.store, mill.documents())[0].upstream
    head = compose_ledger(where, Recipe(name, 1, {}), (upstream,), [claimed])
    mill.store.put(where.table, pack_table([claimed]))
    mill.store.put(where.ledger, as_json(head))


def row(number: int, score_: float = 0.5, **more: Any) -> bytes:
    whole = {"id": f"doc-{number:05d}", "source": "pages", "attributes": {"tox-1__x": [[0, 4, score_]]}}
    return json.dumps({**whole, **more}).encode()


def test_includes_excludes_blocklists_and_rate_are_counted_by_their_first_reason(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(100))
    mill.convert()
    mill.tag("words-1")
    blocked = [{"source": "pages", "id": f"doc-{n:05d}", "reason": "asked for"} for n in (0, 1, 2, 3)]
    mill.store.put("blocklists/takedowns.jsonl", lines(blocked))
    ledger = mill.mix(
        stream(
            columns=(field("metadata.language", name="lang"), score("words-1__count", "words")),
            include=rule("lang = 'en'", "english"),
            exclude=(*rule("words < 2", "short"), *rule("words >= 5", "long")),
            blocklists=("takedowns",),
        )
    )
    # 4 are blocked; of the other 96, 48 are French; of the 48 English ones (4, 6, ..., 98) 9 have one word
    # (10, 20, ..., 90) and 10 have five (4, 14, ..., 94).
    assert ledger.dropped == {"blocklist: takedowns": 4, "english": 48, "long": 10, "short": 9}
    assert ledger.totals["rows"] == 29
    assert mill.ids(mill.stream(), "a")[:4] == ["doc-00006", "doc-00008", "doc-00012", "doc-00016"]


def test_a_smaller_rate_is_a_subset_and_another_seed_another_sample(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(2000))
    mill.convert()
    drawn: dict[str, set[str]] = {}
    for name, changes in {
        "one": {"rate": 0.1},
        "two": {"rate": 0.2},
        "other": {"rate": 0.1, "seed": 7},
    }.items():
        ledger = mill.mix(stream(name=name, **changes))
        drawn[name] = set(mill.ids(mill.stream(name), "a"))
        assert ledger.dropped == {"sampled out": 2000 - len(drawn[name])}
    assert drawn["one"] < drawn["two"]
    assert drawn["one"] != drawn["other"]
    assert 150 < len(drawn["one"]) < 250
    assert 340 < len(drawn["two"]) < 460


def test_a_sample_is_drawn_from_what_the_rules_let_pass(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(1000))
    mill.convert()
    even = {"columns": (field("metadata.language", name="lang"),), "include": rule("lang = 'en'")}
    mill.mix(stream(name="sampled", rate=0.3))
    dropped = mill.mix(stream(name="both", rate=0.3, **even)).dropped
    both, sampled = mill.ids(mill.stream("both"), "a"), mill.ids(mill.stream("sampled"), "a")
    assert both == [id_ for id_ in sampled if int(id_[-1]) % 2 == 0]
    assert dropped == {"rule": 500, "sampled out": 500 - len(both)}


@pytest.mark.slow
def test_a_key_that_first_appears_in_row_30000_counts(mill: Mill) -> None:
    rows = [{"id": f"{n}", "text": "t", "source": "pages", "metadata": {}} for n in range(30_010)]
    for late in rows[30_000:]:
        late["metadata"] = {"rare": "yes"}
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    ledger = mill.mix(stream(columns=(field("metadata.rare"),), include=rule("rare = 'yes'", "rare")))
    assert ledger.totals["rows"] == 10
    assert ledger.totals["absent: rare"] == 30_000
    assert ledger.dropped == {"rare": 30_000}


def test_absent_and_null_together_are_the_rows_without_a_value(mill: Mill) -> None:
    found: list[dict[str, Any]] = [{}, {}, {}, {"a": None}, {"a": None}, {"a": "x"}]
    mill.raw("a.jsonl.gz", [{"id": f"{n}", "text": "t", "source": "pages", "metadata": m} for n, m in enumerate(found)])
    mill.convert()
    labels: list[dict[str, Any]] = [{}, *[{"s-1__b": []}] * 2, *[{"s-1__b": [[0, 1, 0.5]]}] * 3]
    rows = [{"id": f"{n}", "source": "pages", "attributes": each} for n, each in enumerate(labels)]
    adopt(mill, "s-1", [json.dumps(row).encode() for row in rows])
    columns = (field("metadata.a"), score("s-1__b", "b"), spans("s-1__b", "list"))
    ledger = mill.mix(stream(columns=columns, exclude=rule("a IS NULL", "a") + rule("b IS NULL", "b")))
    assert ledger.dropped == {"a": 5}
    told = {name: rows for name, rows in ledger.totals.items() if name.startswith(("absent: ", "null: "))}
    assert told == {"absent: a": 3, "null: a": 2, "absent: b": 1, "null: b": 2, "absent: list": 1}


@pytest.mark.slow
def test_a_key_of_another_type_in_row_30000_is_an_error_that_names_the_row(mill: Mill) -> None:
    rows = [{"id": f"{n}", "text": "t", "source": "pages", "metadata": {"stars": n}} for n in range(30_010)]
    rows[30_000]["metadata"] = {"stars": "many"}
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    with pytest.raises(DataError, match=r"v0/documents/2024/a\.jsonl\.gz: row 30000: .*stars|row 30000: Expected"):
        mill.mix(stream(columns=(field("metadata.stars", "BIGINT"),), include=rule("stars >= 0")))
    assert mill.store.head(mill.stream().shard("a")) is None


def test_a_rule_that_has_no_answer_for_a_row_names_it(mill: Mill) -> None:
    rows = make_documents(2000)
    rows[1234]["metadata"]["language"] = "7"
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 0: .*'rule'"):
        mill.mix(stream(columns=(field("metadata.language", name="lang"),), exclude=rule("CAST(lang AS BIGINT) = 7")))


def test_rows_of_later_blocks_are_named_and_counted_in_the_whole_shard(mill: Mill) -> None:
    rows = make_documents(3)
    for each, number, kind in zip(rows, ("1", "2", "x"), ("a", "b", 7), strict=True):
        each["text"] = "x" * (3 << 20)  # two blocks: rows 0 and 1, and row 2
        each["metadata"] = {"number": number, "kind": kind}
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    numbers = (field("metadata.number"),)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 2: .*'rule'"):
        mill.mix(stream(columns=numbers, exclude=rule("CAST(number AS BIGINT) = 7")))
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 2: .*kind"):
        mill.mix(stream(columns=(field("metadata.kind"),), exclude=rule("kind = 'x'")))
    adopt(mill, "tox-1", [json.dumps({"id": f"doc-{n:05d}", "attributes": {"x": 0.1}}).encode() for n in range(3)])
    totals = mill.mix(stream(**WITH_TOX)).totals
    assert (totals["rows"], totals["attribute rows without a source: tox-1"]) == (3, 3)


def test_null_is_neither_included_nor_excluded(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", [{"id": f"{n}", "text": "t", "source": "pages"} for n in range(4)])
    mill.convert()
    column = (field("metadata.x", "BIGINT", optional=True),)
    assert mill.mix(stream(name="in", columns=column, include=rule("x > 0"))).totals["rows"] == 0
    assert mill.mix(stream(name="ex", columns=column, exclude=rule("x > 0"))).totals["rows"] == 4


WITH_TOX = {"columns": (score("tox-1__x", "x"),), "exclude": rule("x > 0.7", "toxic")}


def test_an_adopted_set_is_joined_and_rows_without_a_source_are_counted(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(4))
    mill.convert()
    bare = json.dumps({"id": "doc-00003", "attributes": {"x": 0.9}}).encode()
    adopt(mill, "tox-1", [row(0), row(1, 0.9), row(2), bare])
    ledger = mill.mix(stream(**WITH_TOX))
    assert ledger.dropped == {"toxic": 2}
    assert ledger.totals["attribute rows without a source: tox-1"] == 1
    assert mill.ids(mill.stream(), "a") == ["doc-00000", "doc-00002"]


def test_a_scalars_span_ends_where_the_text_does(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()
    adopt(mill, "tox-1", [json.dumps({"id": f"doc-{n:05d}", "attributes": {"x": 1}}).encode() for n in range(3)])
    column = spans("tox-1__x", "x")
    ledger = mill.mix(stream(columns=(column,), include=rule('x[1]."end" = 9', "nine-characters")))
    assert mill.ids(mill.stream(), "a") == ["doc-00001"]
    assert ledger.dropped == {"nine-characters": 2}


MISALIGNED = {
    "a row too few": ([row(n) for n in range(9)], r"tox-1/2024/a\.jsonl\.gz: ends after 9 rows"),
    "a row too many": ([row(n) for n in range(11)], r"tox-1/2024/a\.jsonl\.gz: has a row 10 .*ends before it"),
    "swapped rows": (
        [row(n) for n in (0, 1, 2, 4, 3, 5, 6, 7, 8, 9)],
        r"tox-1/2024/a\.jsonl\.gz: row 3: id 'doc-00004' .* but sources/pages/v0/.*a\.jsonl\.gz has 'doc-00003'",
    ),
    "another source": (
        [row(0), row(1, source="books"), *[row(n) for n in range(2, 10)]],
        r"tox-1/2024/a\.jsonl\.gz: row 1: id 'doc-00001' \(source 'books'\), but .* \(source 'pages'\)",
    ),
}


@pytest.mark.parametrize("what", MISALIGNED)
def test_rows_that_are_not_those_of_the_documents_are_an_error_that_names_both(mill: Mill, what: str) -> None:
    mill.raw("a.jsonl.gz", make_documents(10))
    mill.convert()
    rows, message = MISALIGNED[what]
    adopt(mill, "tox-1", rows)
    with pytest.raises(DataError, match=message):
        mill.mix(stream(**WITH_TOX))
    assert mill.store.head(mill.stream().shard("a")) is None
    assert mill.store.head(mill.stream().ledger) is None


@pytest.mark.slow
@pytest.mark.parametrize("cut", [0, 1, 4999])
def test_misalignment_is_found_in_shards_of_many_blocks_too(mill: Mill, cut: int) -> None:
    long = " ".join(["word"] * 400)
    rows = [{**document, "text": long} for document in make_documents(5000)]
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    numbers = list(range(5000))
    del numbers[cut]
    adopt(mill, "tox-1", [row(n) for n in numbers])
    named = f"row {cut}: id 'doc-{cut + 1:05d}'" if cut < 4999 else "ends after 4999 rows"
    with pytest.raises(DataError, match=named):
        mill.mix(stream(**WITH_TOX))


@pytest.mark.parametrize(
    ("number", "kind"),
    [("9" * 400, "DOUBLE"), ("9" * 400, "BIGINT"), (str(2**70), "BIGINT"), ("5", "VARCHAR"), ("true", "DOUBLE")],
)
def test_a_column_declared_with_another_type_is_not_blamed_on_the_file(mill: Mill, number: str, kind: str) -> None:
    fine = b'{"id":"a","text":"t","source":"pages","metadata":{}}\n'
    mill.raw(
        "a.jsonl.gz",
        gzip.compress(fine + fine.replace(b'"a"', b'"b"').replace(b"{}", b'{"n":%s}' % number.encode()), mtime=0),
    )
    mill.convert()
    words = r"the selection declares the column with another type|mend the data, the rule or the column"
    with pytest.raises(DataError, match=rf"row 1: .*({words})") as told:
        mill.mix(stream(columns=(field("metadata.n", kind),), include=rule("n IS NOT NULL")))
    assert "rebuild this file" not in str(told.value)
    kept = stream(columns=(field("id"),), include=rule("id = 'b'"))
    assert mill.mix(kept).totals["rows"] == 1


def test_misalignment_is_known_for_what_it_is() -> None:
    assert issubclass(Misaligned, DataError)
    assert issubclass(MalformedRow, DataError)


def test_a_set_that_was_changed_by_hand_is_a_store_error_and_nothing_passes(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    where = mill.attributes("words-1").shard("a")
    rows = mill.lines(where)
    mill.store.put(where, gzip.compress(b"\n".join([rows[1], rows[0], *rows[2:]]) + b"\n", mtime=0))
    with pytest.raises(StoreError, match=r"words-1/2024/a\.jsonl\.gz: not the object that its ledger names"):
        mill.revise()
    assert mill.store.head(mill.documents("v1").shard("a")) is None


def test_a_label_with_several_spans_is_no_score(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(2))
    mill.convert()
    two = row(1, attributes={"tox-1__x": [[0, 1, 0.1], [1, 2, 0.2]]})
    adopt(mill, "tox-1", [row(0), two])
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 1: tox-1__x has 2 spans"):
        mill.mix(stream(**WITH_TOX))


def test_two_blocklists_have_their_own_counters(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    for name, numbers in (("eval", (1, 2)), ("takedowns", (2, 3))):
        entries = [{"source": "pages", "id": f"doc-{n:05d}", "reason": "r"} for n in numbers]
        mill.store.put(f"blocklists/{name}.jsonl", lines(entries))
    ledger = mill.mix(stream(blocklists=("takedowns", "eval")))
    assert ledger.dropped == {"blocklist: eval": 2, "blocklist: takedowns": 1}


def test_dolmas_data_pass_with_their_own_attributes(mill: Mill, dolma: Path) -> None:
    mill.raw("000.json.gz", (dolma / "documents" / "000.json.gz").read_bytes())
    assert mill.convert().totals["rows"] == 10
    for name in ("toxicity", "sample", "duplicate_paragraphs", "pii"):
        packed = (dolma / "attributes" / name / "000.json.gz").read_bytes()
        adopt(mill, name, gzip.decompress(packed).splitlines(), "000")
    chosen = stream(
        columns=(
            score("toxicity__toxicity", "toxicity"),
            score("sample__random_number_v1__random", "dice"),
            spans("duplicate_paragraphs__bff_duplicate_paragraph_spans", "repeats"),
        ),
        exclude=(*rule("toxicity > 0.5", "toxic"), *rule("len(repeats) > 0", "repeated")),
    )
    rows = gzip.decompress((dolma / "attributes/toxicity/000.json.gz").read_bytes()).splitlines()
    toxic = sum(json.loads(line)["attributes"].get("toxicity", 0) > 0.5 for line in rows)
    ledger = mill.mix(chosen)
    assert ledger.dropped.get("toxic", 0) == toxic
    assert ledger.totals["rows"] + sum(ledger.dropped.values()) == 10
