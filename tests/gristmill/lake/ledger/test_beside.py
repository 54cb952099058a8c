import pytest
from streams import stream
from testkit import SHELVES, Mill, make_documents

from gristmill.errors import OtherMaking, RecipeError
from gristmill.execution.survey import check_accepted, survey_step
from gristmill.lake.address import place
from gristmill.lake.ledger.beside import check_beside
from gristmill.lake.ledger.code import Code
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.step import MixingStep, stream_step

V0 = "sources/pages/v0/documents"


def test_a_new_snapshot_is_not_made_by_code_that_a_finished_one_refuses(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    target = mill.conversion().plan(mill.store).targets[0]
    new, inputs = place(V0, "2025"), target.upstream
    (code,) = read_run_note(mill.store, mill.documents()).codes
    check_beside(mill.store, new, target.recipe, inputs, Code(code))
    check_beside(mill.store, new, target.recipe, inputs, Code("edited", "mill.pages", reason="only renamed"))
    words = r"documents \(2025\): not made beside .* refused: .* \(2024\): the code of mill\.pages changed since"
    with pytest.raises(OtherMaking, match=words):
        check_beside(mill.store, new, target.recipe, inputs, Code("edited", "mill.pages"))
    mill.store.put(mill.documents().ledger, b"torn")  # told of 2024 alone
    check_beside(mill.store, new, target.recipe, inputs, Code("edited", "mill.pages"))


def of(snapshot: str, *, rate: float = 1.0, draft: bool = False, version: str = "v0") -> MixingStep:
    mix = Mix(name="blend", streams=(stream(rate=rate, version=version),), draft=draft)
    return stream_step(mix, "pages", snapshot, SHELVES)


def test_a_new_snapshot_is_refused_before_work_while_the_first_or_the_last_is(mill: Mill) -> None:
    """Of a mix that is no draft. Its rate changes; 2024 was made by the old one, and 2025 and 2026 come later."""
    for number, snapshot in enumerate(("2024", "2025", "2026")):
        mill.raw("a.jsonl.gz", make_documents(4, start=10 * number), snapshot=snapshot)
        mill.convert(snapshot=snapshot)
    mill.make(of("2024"))
    before = mill.tree()
    for changed in (of("2025", rate=0.5), of("2025", rate=0.5, draft=True)):
        for refused in (survey_step, check_accepted):
            with pytest.raises(OtherMaking, match=r"2025\): not made beside .*2024\) was made by another .*rate"):
                refused(changed, mill.store)
        with pytest.raises(RecipeError, match="not made beside"):
            mill.make(changed)
    assert mill.tree() == before

    mill.make(of("2026"))
    with pytest.raises(OtherMaking, match=r"\(2024\) was made by another"):
        survey_step(of("2025", rate=0.5), mill.store)
    mill.make(of("2025"))


def test_a_draft_is_made_anew_and_a_stream_that_took_another_source_is_another_matter(mill: Mill) -> None:
    for snapshot in ("2024", "2025"):
        mill.raw("a.jsonl.gz", make_documents(4), snapshot=snapshot)
        mill.convert(snapshot=snapshot)
    mill.make(of("2024", draft=True))
    mill.make(of("2025", draft=True, rate=0.5))
    other, sealed = place("mixes/blend/documents/pages", "2026"), of("2026", rate=0.25).recipe
    check_beside(mill.store, other, sealed, (Upstream("sources/notes/v0/documents", "2026", ""),), Code())
    with pytest.raises(OtherMaking, match="rate"):
        check_beside(mill.store, other, sealed, (Upstream(V0, "2026", ""),), Code())
