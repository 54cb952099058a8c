import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splits import ASSET, CHAT, TEXT, WEIGHED, texts, write_split

from gristmill.errors import DataError
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Slice, Text
from gristmill.stages.packing.report import Report, report_on_packing
from gristmill.stages.token_cache.token_stream import open_split


def report_of(store: FolderStore, form: Format, length: int) -> Report:
    report, made = report_on_packing(open_split(store, ASSET, "train"), form, length)
    assert (made is None) == (report.kind != "packed")
    assert made is None or len(made) == report.examples
    lost = report.truncated_tokens + report.dropped_tokens + report.unfit_tokens
    assert report.filled + lost == report.tokens
    assert report.filled + report.padding == report.examples * length
    assert report.fill.value_count == report.examples
    assert report.lengths.value_count == report.documents
    return report


def lengths(store: FolderStore, *numbers: int) -> None:
    """A split of documents with so many tokens each, in two parts."""
    rows = texts(*(list(range(number)) for number in numbers))
    write_split(store, {"2024/part-0": rows[:2], "2024/part-1": rows[2:]})


def test_packed_documents(lake: FolderStore) -> None:
    lengths(lake, 4, 4, 2, 3, 15, 0, 6)
    report = report_of(lake, Text(pack=True), 10)  # 4+4+2, 3, 10 of 15, 0+6
    assert (report.kind, report.segments, report.slice_strategy) == ("packed", 64, "left")
    assert (report.documents, report.tokens, report.examples) == (7, 34, 4)
    assert (report.filled, report.padding) == (29, 11)
    assert (report.truncated_documents, report.truncated_tokens) == (1, 5)
    assert report.fill_rate == 29 / 40
    assert report.fill.counts == (0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 2)  # 3, 6, and two full ones
    assert report.lengths.edges == (0, 1, 2, 4, 8, 16)
    assert report.lengths.counts == (1, 0, 2, 3, 1)


def test_dropped_documents(lake: FolderStore) -> None:
    rows = [{"input_ids": range(n), "assistant_masks": [0] * n} for n in (4, 15, 3, 11)]
    write_split(lake, {"2024/part-0": rows}, CHAT)
    report = report_of(lake, Chat(slice_strategy="drop"), 10)
    assert (report.examples, report.filled) == (2, 7)
    assert (report.dropped_documents, report.dropped_tokens) == (2, 26)
    with pytest.raises(DataError, match="document 1: 15 tokens, but an example has 10"):
        report_of(lake, Chat(pack=False), 10)


def test_one_stream_cut_into_windows(lake: FolderStore) -> None:
    lengths(lake, 4, 4, 5, 0, 10, 4, 2, 0)  # ends at 4, 8, 13, 13, 23, 27, 29; windows end at 10 and 20
    report = report_of(lake, Text(), 10)
    assert (report.kind, report.segments, report.slice_strategy) == ("windows", None, None)
    assert (report.examples, report.filled, report.padding) == (2, 20, 0)
    assert report.split_documents == 1  # the third; the fifth is cut off at the end
    assert (report.truncated_documents, report.truncated_tokens) == (1, 3)
    assert (report.dropped_documents, report.dropped_tokens) == (2, 6)
    assert report.fill_rate == 1


def test_prebuilt_rows_are_examples_or_unfit(lake: FolderStore) -> None:
    rows = [{"input_ids": range(n), "loss_weights": [1.0] * n} for n in (10, 9, 10, 0)]
    write_split(lake, {"2024/part-0": rows}, WEIGHED)
    report = report_of(lake, Prebuilt(loss_weights_key="loss_weights"), 10)
    assert (report.kind, report.examples, report.filled) == ("rows", 2, 20)
    assert (report.unfit_documents, report.unfit_tokens) == (2, 9)


def test_a_split_without_rows_has_no_examples(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": []}, TEXT)
    for form in (Text(), Text(pack=True), Chat(), Prebuilt()):
        report = report_of(lake, form, 10)
        assert (report.documents, report.examples, report.fill_rate) == (0, 0, 1)


def test_a_cache_of_another_format_is_an_error_that_names_its_fields(lake: FolderStore) -> None:
    lengths(lake, 4, 4)
    with pytest.raises(DataError, match="its rows have no field 'assistant_masks', but input_ids"):
        report_of(lake, Chat(), 10)


@pytest.mark.slow
@given(
    numbers=st.lists(st.integers(0, 25), max_size=25),
    form=st.sampled_from(["text", "packed", "left", "right", "drop", "rows"]),
    length=st.integers(1, 12),
)
@settings(max_examples=60)
def test_every_token_stands_somewhere(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], form: str, length: int
) -> None:
    lake = FolderStore(str(tmp_path_factory.mktemp("lake")))
    forms: dict[str, Format] = {"text": Text(), "packed": Text(pack=3), "rows": Prebuilt()}
    slices: dict[str, Slice] = {"left": "left", "right": "right", "drop": "drop"}
    rows = [{"input_ids": range(n), "assistant_masks": range(n)} for n in numbers]
    write_split(lake, {"2024/part-0": rows[:10], "2024/part-1": rows[10:]}, CHAT if form in slices else TEXT)
    report = report_of(lake, forms.get(form) or Chat(slice_strategy=slices[form], pack=3), length)
    assert (report.documents, report.tokens) == (len(numbers), sum(numbers))
