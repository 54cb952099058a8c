"""Runs of `dolma mix`: what they write, what they refuse, and what they do after a kill, an edit or a change."""

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gristmill.dolma.formats.mixer_config import MixerConfig, mixer_config
from gristmill.dolma.mixing.grinder import MixItem
from gristmill.dolma.mixing.mixing import MixPlan, absent_attributes, plan_mixing, run_mixing
from gristmill.dolma.mixing.stream_mixer import check_utf8
from gristmill.dolma.tagging.records import MANIFEST, FileRecord, open_output_folder, read_receipts, write_begun_receipt
from gristmill.dolma.tagging.run_claim import RUNS
from gristmill.errors import AtWork, DataError, GristmillError, MalformedRow, RecipeError
from gristmill.execution.runner import Inline
from gristmill.lake.identity import digest_of

ROWS: list[dict[str, Any]] = [
    {"id": "1", "text": "mail a@b.c now", "metadata": {"n": 1}, "attributes": {"own": [[0, 1, 1]]}},
    {"id": "2", "text": "  é  ", "source": "x", "metadata": {"provenance": "old", "n": 2}},
    {"id": "3", "text": "long enough"},
]
SETS: dict[str, list[dict[str, Any]]] = {
    "pii": [{"mail": [[5, 10, 0.9]], "words": [[0, 14, 3]]}, {"words": [[0, 5, 1]]}, {"words": [[0, 11, 2.0]]}],
    "later": [{}, {"words": [[0, 5, 7]]}, {}],
}


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("0", "1", "2"):
        write(tmp_path / f"documents/{name}.json.gz", [{**row, "id": f"{name}{row['id']}"} for row in ROWS])
        for set_, values in SETS.items():
            attributes = [{"id": f"{name}{n + 1}", "attributes": value} for n, value in enumerate(values)]
            write(tmp_path / f"attributes/{set_}/{name}.json.gz", attributes)
    return tmp_path


def config(home: Path, output: Mapping[str, Any] | None = None, **stream: Any) -> MixerConfig:
    fields = {
        "name": "s",
        "documents": [f"{home}/documents/*.gz"],
        "attributes": list(SETS),
        "output": {"path": f"{home}/out", "discard_fields": ["attributes"], **(output or {})},
        **stream,
    }
    shuffle = fields.pop("shuffle", True)
    return mixer_config(json.dumps({"streams": [fields], "shuffle": shuffle}).encode(), "c.json", {})


def mix(given: MixerConfig, *, force: bool = False) -> MixPlan:
    plan = plan_mixing(given, {}, force=force)
    run_mixing(plan, Inline(), {}, lambda _: None)
    return plan


def written(home: Path) -> dict[str, list[Any]]:
    paths = sorted(path for path in (home / "out").rglob("*.gz") if path.is_file())
    return {
        path.relative_to(home / "out").as_posix(): list(
            map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        )
        for path in paths
    }


def ids(home: Path) -> list[str]:
    return [row["id"] for rows in written(home).values() for row in rows]


def test_the_last_set_wins_and_rows_say_where_they_are_from(home: Path) -> None:
    mix(config(home, filter={"exclude": ["$.attributes[?(@.words && @.words[0] && @.words[0][2] < 3)]"]}))
    (rows,) = written(home).values()
    assert [row["id"] for row in rows] == ["01", "02", "11", "12", "21", "22"]
    assert rows[1] == {"id": "02", "text": "  é  ", "source": "x", "metadata": {"provenance": "0.json.gz:2", "n": 2}}
    assert rows[0] == {"id": "01", "text": "mail a@b.c now", "metadata": {"n": 1, "provenance": "0.json.gz:1"}}


def test_attributes_are_merged_where_they_are_not_discarded(home: Path) -> None:
    mix(config(home, {"discard_fields": ["source"]}, filter={"include": ["$.attributes[?(@.words[0][2] > 2.5)]"]}))
    (rows,) = written(home).values()
    assert rows[0]["attributes"] == {"own": [[0, 1, 1]], "mail": [[5, 10, 0.9]], "words": [[0, 14, 3]]}
    assert rows[1]["attributes"] == {"words": [[0, 5, 7]]}
    assert "source" not in rows[1]


def test_spans_are_replaced_and_short_texts_dropped(home: Path) -> None:
    spans = [{"span": "$.attributes.mail", "min_score": 0.5, "max_score": 0.95, "replacement": "<{}>"}]
    mix(config(home, {"min_text_length": 3}, span_replacement=spans))
    (rows,) = written(home).values()
    assert [row["text"] for row in rows[:2]] == ["mail <a@b.c> now", "long enough"]


@pytest.mark.parametrize(
    ("replacement", "syntax", "span"),
    [
        ("$.metadata.who", "jsonpath", "$.attributes.mail"),
        ("$.metadata.who", "jq", ".attributes?.mail?"),
        ("$.metadata.who | tostring", "jq", "[.attributes.mail[]?]"),
    ],
)
def test_a_replacement_from_the_row(home: Path, replacement: str, syntax: str, span: str) -> None:
    rows = [{**ROWS[0], "metadata": {"who": "WHO"}}, *ROWS[1:]]
    write(home / "documents/0.json.gz", [{**row, "id": f"0{row['id']}"} for row in rows])
    spans = [{"span": span, "min_score": 0.5, "replacement": replacement, "syntax": syntax}]
    given = config(home, documents=[f"{home}/documents/0.json.gz"], span_replacement=spans)
    mix(given)
    assert written(home)["s-0000.json.gz"][0]["text"] == "mail WHO now"


def test_whole_rows_are_read_for_other_paths_and_jq(home: Path) -> None:
    mix(config(home, filter={"include": ["$.metadata[?(@.n == 2)]", "$[?(@.id == '03')]"]}))
    assert ids(home) == ["02", "03", "12", "22"]
    other = home / "out2"
    mix(config(home, {"path": str(other)}, filter={"exclude": [".attributes.words[0][-1] > 2"], "syntax": "jq"}))
    (rows,) = [gzip.decompress(path.read_bytes()).splitlines() for path in other.glob("*.gz")]
    assert [json.loads(row)["id"] for row in rows] == ["03", "13", "23"]


def test_outputs_gather_whole_files_up_to_their_size(home: Path) -> None:
    size = (home / "documents/0.json.gz").stat().st_size
    plan = mix(config(home, {"max_size_in_bytes": 2 * size + 1}))
    assert {name: len(rows) for name, rows in written(home).items()} == {"s-0000.jsonl.gz": 6, "s-0001.json.gz": 3}
    assert plan.outputs == {"s": 2}


def test_without_shuffle_each_file_gives_one(home: Path) -> None:
    mix(config(home, shuffle=False))
    assert {name: len(rows) for name, rows in written(home).items()} == {f"documents/{n}.json.gz": 3 for n in range(3)}


def test_equal_runs_give_equal_bytes_and_a_second_run_does_nothing(home: Path) -> None:
    mix(config(home))
    first = (home / "out/s-0000.json.gz").read_bytes()
    plan = plan_mixing(config(home), {})
    assert (len(plan.items), plan.done_count) == (0, 1)
    mix(config(home), force=True)
    assert (home / "out/s-0000.json.gz").read_bytes() == first
    assert json.loads((home / "out" / MANIFEST).read_text())["made_by"] == "gristmill dolma mix"


def test_changed_documents_or_attributes_are_noticed(home: Path) -> None:
    mix(config(home))
    for name in ("documents/1.json.gz", "attributes/later/1.json.gz"):
        rows = list(map(json.loads, gzip.decompress((home / name).read_bytes()).splitlines()))
        write(home / name, [{**row, "more": [1] * 50} for row in rows])
        assert len(plan_mixing(config(home), {}).items) == 1
        mix(config(home))
        assert not plan_mixing(config(home), {}).items


def test_other_options_and_files_of_others_need_force(home: Path) -> None:
    mix(config(home))
    with pytest.raises(
        RecipeError, match=r"made by the streams s; now by s with other options; give another output\.pa"
    ):
        plan_mixing(config(home, {"min_text_length": 4}), {})
    (home / "out/s-0000.json.gz").write_bytes(b"mine")
    with pytest.raises(DataError, match="not made by this command"):
        plan_mixing(config(home), {})
    mix(config(home), force=True)
    assert len(ids(home)) == 9


def test_outputs_that_are_no_longer_made_are_an_error(home: Path) -> None:
    size = (home / "documents/0.json.gz").stat().st_size
    mix(config(home, {"max_size_in_bytes": size}))
    with pytest.raises(DataError, match=r"s-0000\.jsonl\.gz, s-0001\.jsonl\.gz, s-0002\.json\.gz"):
        plan_mixing(config(home), {})


@pytest.mark.parametrize(
    ("options", "others"),
    [({}, ["s-0000.jsonl.gz", "s-0001.jsonl.gz", "s-0002.json.gz"]), ({"shuffle": False}, ["documents/2.json.gz"])],
)
def test_files_without_a_record_that_a_reader_would_take_for_outputs_are_an_error(
    home: Path, options: dict[str, Any], others: list[str]
) -> None:
    """A torn manifest does not make older outputs part of the new mix, with --force neither."""
    size = (home / "documents/0.json.gz").stat().st_size
    mix(config(home, {"max_size_in_bytes": size}, **options))
    (home / "out" / MANIFEST).write_text("{")
    (home / "out/s-notes.json").write_text("{}")
    (home / "documents/2.json.gz").unlink()
    larger = config(home, {"max_size_in_bytes": 2 * size + 2}, **options)
    words = rf"out: these look like outputs .*: {', '.join(others)}; .* Move them away, or give another output\.path"
    with pytest.raises(DataError, match=words):
        mix(larger, force=True)
    for name in others:
        (home / "out" / name).unlink()
    mix(larger, force=True)
    (home / "out/s-notes.json").unlink()
    assert len(ids(home)) == 6


def test_a_file_of_somebody_that_a_killed_run_was_to_replace_stays_that_of_somebody(home: Path) -> None:
    mine = home / "out/s-0000.jsonl.gz"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    size = (home / "documents/0.json.gz").stat().st_size
    small = config(home, {"max_size_in_bytes": size})
    plan = plan_mixing(small, {}, force=True)
    item = msgspec.json.decode(plan.items[0].body, type=MixItem)
    one = item.file.as_one
    store = open_output_folder(str(home / "out"), {})
    write_begun_receipt(
        store, item.file.name, FileRecord(one.url, one.version, item.recipe), foreign=item.foreign
    )  # and it dies
    with pytest.raises(DataError, match="not made by this command"):
        mix(small)
    with pytest.raises(DataError, match=r"s-0000\.jsonl\.gz have changed since an earlier run wrote them"):
        mix(config(home), force=True)
    assert mine.read_bytes() == b"mine"
    mix(small, force=True)
    assert len(ids(home)) == 9


def test_a_run_without_work_leaves_the_receipts_of_a_run_that_began_meanwhile(home: Path) -> None:
    mix(config(home))
    idle = plan_mixing(config(home), {})
    assert idle.items == []
    small = config(home, {"max_size_in_bytes": 1})
    (folder,) = plan_mixing(small, {}, force=True).folders
    began = folder.claim_if_needed({})
    store = open_output_folder(folder.root, {})
    for file in folder.files:
        write_begun_receipt(store, file.name, FileRecord(file.url, file.version, folder.recipe_of_file(file.name)))
    before = read_receipts(store)
    run_mixing(idle, Inline(), {}, lambda _: None)
    assert read_receipts(store) == before
    assert len(before) == 3
    store.delete([began.claim])
    mix(small, force=True)
    assert len(ids(home)) == 9


def test_a_run_that_failed_has_no_claim(home: Path) -> None:
    _truncated(home)
    with pytest.raises(DataError):
        mix(config(home))
    assert not list((home / "out" / RUNS).glob("*"))


def test_a_run_that_came_between_looking_and_writing_is_noticed(home: Path) -> None:
    """Else outputs of both would stand beside each other, and every row would be there twice."""
    slow = plan_mixing(config(home, {"max_size_in_bytes": 1}), {})
    mix(config(home))
    before = written(home)
    with pytest.raises(AtWork, match="another run has written here since this one looked; run again"):
        run_mixing(slow, Inline(), {}, lambda _: None)
    assert written(home) == before
    assert mix(config(home)).items == []


def _short(home: Path) -> None:
    write(home / "attributes/pii/1.json.gz", [{"id": "11", "attributes": {}}])


def _long(home: Path) -> None:
    write(home / "attributes/pii/1.json.gz", [{"id": f"1{n + 1}", "attributes": {}} for n in range(4)])


def _other_id(home: Path) -> None:
    write(home / "attributes/pii/1.json.gz", [{"id": f"1{n}", "attributes": {}} for n in (1, 3, 2)])


def _truncated(home: Path) -> None:
    path = home / "documents/1.json.gz"
    path.write_bytes(path.read_bytes()[:-9])


def _no_text(home: Path) -> None:
    write(home / "documents/1.json.gz", [{"id": f"1{n + 1}", "text": None} for n in range(3)])


def _no_utf8(home: Path) -> None:
    path = home / "documents/1.json.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"mail", b"m\xffil"), mtime=0))


def _span_outside(home: Path) -> None:
    rows = [{"id": f"1{n + 1}", "attributes": {"mail": [[2, 99, 1]]}} for n in range(3)]
    write(home / "attributes/later/1.json.gz", rows)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_short, r"it has 1 rows, and .* has more\. Dolma's mixer would pass the others"),
        (_long, "it has more rows than"),
        (_other_id, 'row 1 has the id "13", and the document in .* has "12"'),
        (_truncated, "1.json.gz"),
        (_no_text, "row 0: it has no text"),
        (_no_utf8, r"1\.json\.gz: row 0: it is no UTF-8"),
        (_span_outside, r"row 0: the span \[2, 99\] is not inside its 14 code points"),
    ],
)
def test_bad_input_stops_the_run_and_the_next_continues(home: Path, spoil: Any, reason: str) -> None:
    size = (home / "documents/0.json.gz").stat().st_size
    spans = [{"span": "$.attributes.mail", "min_score": 0.5}]
    given = config(home, {"max_size_in_bytes": size}, span_replacement=spans)
    before = {path: path.read_bytes() for path in home.rglob("1.json.gz")}
    spoil(home)
    with pytest.raises(GristmillError, match=reason):
        mix(given)
    assert set(written(home)) == {"s-0000.jsonl.gz", "s-0002.json.gz"}
    for path, data in before.items():
        path.write_bytes(data)
    assert len(mix(given).items) == 1
    assert len(ids(home)) == 9


def test_a_missing_file_of_attributes_is_an_error(home: Path) -> None:
    (home / "attributes/later/2.json.gz").unlink()
    with pytest.raises(DataError, match=r"later/2\.json\.gz: this file of attributes is missing"):
        plan_mixing(config(home), {})


def test_an_expression_that_is_not_read_is_an_error_of_the_plan(home: Path) -> None:
    with pytest.raises(RecipeError, match="stream 's': JSONPath"):
        plan_mixing(config(home, filter={"include": ["$.a["]}), {})


def test_outputs_never_replace_what_is_read(home: Path) -> None:
    with pytest.raises(RecipeError, match="would replace this file, which is read"):
        plan_mixing(config(home, {"path": str(home)}, shuffle=False), {})


def test_a_filter_that_fails_names_the_row(home: Path) -> None:
    given = config(home, filter={"include": [".metadata.n.x"], "syntax": "jq"})
    with pytest.raises(DataError, match=r"0\.json\.gz: row 0: the filter fails on it: Cannot index number"):
        mix(given)


def test_an_error_that_quotes_the_row_is_cut(home: Path) -> None:
    given = config(home, filter={"include": ['error("x" * 5000)'], "syntax": "jq"})
    with pytest.raises(DataError, match=r"row 0: the filter fails on it: x{297}\.\.\. "):
        mix(given)


def test_wrong_utf8_is_found_in_a_row_behind_a_megabyte_of_others() -> None:
    first = b'{"text":"%s"}' % ("\u00e9" * (1 << 19)).encode()
    check_utf8(first + b"\n", "a.json", 3)
    with pytest.raises(MalformedRow, match=r"a\.json: row 4: it is no UTF-8"):
        check_utf8(first + b'\n{"text":"\xe9"}\n', "a.json", 3)


MISSPELT = [
    {"filter": {"exclude": ["$.attributes[?(@.wrods && @.wrods[0][2] > 2)]"]}},
    {"filter": {"exclude": [".attributes.wrods[0][2] > 2"], "syntax": "jq"}},
    {"span_replacement": [{"span": "$.attributes.wrods", "min_score": 0, "replacement": "x"}]},
    {"span_replacement": [{"span": "[.attributes.wrods[]?]", "syntax": "jq", "min_score": 0, "replacement": "x"}]},
]


@pytest.mark.parametrize("stream", MISSPELT)
@pytest.mark.parametrize("discarded", [["attributes"], []])
def test_an_attribute_that_no_row_has_is_told(home: Path, stream: dict[str, Any], discarded: list[str]) -> None:
    given = config(home, {"discard_fields": discarded}, **stream)
    for _ in range(2):  # the second run does not take the files of the first for done
        with pytest.raises(DataError, match=r"stream 's': no row of 9 has the attribute 'wrods'.*--strict"):
            run_mixing(plan_mixing(given, {}), Inline(), {}, lambda _: None, strict=True)
        assert written(home) == {}
    plan = plan_mixing(given, {})
    facts = run_mixing(plan, Inline(), {}, lambda _: None)
    (warning,) = absent_attributes(plan, facts)
    assert warning == "stream 's': no row of 9 has the attribute 'wrods', so what names it changes nothing"
    assert len(ids(home)) == 9
    again = plan_mixing(given, {})  # all is done, as after a run that was killed: its receipts say what it saw
    assert (again.items, absent_attributes(again, {})) == ([], [warning])
    with pytest.raises(DataError, match="no row of 9 has the attribute 'wrods'"):
        run_mixing(again, Inline(), {}, lambda _: None, strict=True)


def test_a_manifest_of_version_0_2_is_intact(home: Path) -> None:
    given = config(home)
    mix(given)
    (path,) = home.rglob(MANIFEST)
    plain = {**json.loads(path.read_text()), "digest": ""}
    for record in plain["files"].values():
        del record["coming"], record["read"], record["unseen"]
    path.write_text(json.dumps({**plain, "digest": digest_of(plain)}))
    assert mix(given).items == []


def test_an_attribute_without_a_span_is_no_misspelt_one(home: Path) -> None:
    for name in ("0", "1", "2"):
        rows = [{"id": f"{name}{n + 1}", "attributes": {"mail": []} if name == "2" else {}} for n in range(3)]
        write(home / f"attributes/pii/{name}.json.gz", rows)
    mix(
        config(
            home, span_replacement=[{"span": "$.attributes.mail", "min_score": 0, "replacement": "x"}], shuffle=False
        )
    )
    assert len(ids(home)) == 9


def test_rows_of_an_earlier_run_may_have_the_attribute(home: Path) -> None:
    given = config(
        home, span_replacement=[{"span": "$.attributes.mail", "min_score": 0, "replacement": "x"}], shuffle=False
    )
    mix(given)
    write(home / "attributes/pii/2.json.gz", [{"id": f"2{n + 1}", "attributes": {}} for n in range(3)])
    assert len(mix(given).items) == 1


def test_attributes_that_were_rewritten_in_place_are_mixed_again(home: Path) -> None:
    assert len(mix(config(home)).items) == 1
    path = home / "attributes/pii/1.json.gz"
    before = path.stat()
    path.write_bytes(bytes(path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(plan_mixing(config(home), {}).items) == 1


@pytest.mark.parametrize("discarded", [[], ["attributes"]])
@pytest.mark.parametrize("sets", [[], ["pii"]])
def test_null_attributes_of_a_document_are_none(home: Path, sets: list[str], discarded: list[str]) -> None:
    """Dolma's mixer replaces the null by the attributes of the sets; without sets it stays (tests/real_dolma)."""
    write(home / "documents/0.json.gz", [{"id": "01", "text": "mail a@b.c now", "attributes": None}])
    write(home / "attributes/pii/0.json.gz", [{"id": "01", "attributes": SETS["pii"][0]}])
    only = {"documents": [f"{home}/documents/0.json.gz"], "attributes": sets}
    spans = [{"span": "$.attributes.mail", "min_score": 0.5, "replacement": "X"}]
    mix(config(home, {"discard_fields": discarded}, span_replacement=spans, **only))
    [row] = written(home)["s-0000.json.gz"]
    assert row["text"] == ("mail X now" if sets else "mail a@b.c now")
    if not discarded:
        assert row["attributes"] == (SETS["pii"][0] if sets else None)
