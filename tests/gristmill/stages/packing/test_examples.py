import pytest
from splits import ASSET, CHAT, TEXT, WEIGHED, Row, texts, write_split

from gristmill.errors import DataError
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.row_format import Chat, Prebuilt, Text
from gristmill.stages.packing.examples import TrainingExample, TrainingExamples, examples_of, show_example
from gristmill.stages.packing.packer import PackingRule, pack_documents
from gristmill.stages.token_cache.token_stream import TokenStream, open_split

EOS = 9


def stream_of(store: FolderStore) -> TokenStream:
    return open_split(store, ASSET, "train")


def plain(example: TrainingExample) -> tuple[list[int], list[float], list[int] | None]:
    segments = example.segment_ids
    return example.tokens.tolist(), example.loss_weight.tolist(), None if segments is None else segments.tolist()


def all_of(examples: TrainingExamples) -> list[tuple[list[int], list[float], list[int] | None]]:
    with pytest.raises(IndexError, match=f"example {len(examples)} of {len(examples)}"):
        _ = examples[len(examples)]
    return [plain(examples[number]) for number in range(len(examples))]


def turns(*rows: tuple[list[int], list[int]]) -> list[Row]:
    return [{"input_ids": ids, "assistant_masks": masks} for ids, masks in rows]


def test_text_is_one_stream_whose_segments_end_with_eos(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": texts([1, 2, EOS], [3, EOS]), "2024/part-1": texts([4, 5, EOS], [EOS])})
    assert all_of(examples_of(stream_of(lake), Text(), 4, eos=EOS)) == [
        ([1, 2, EOS, 3], [1, 1, 1, 0], [0, 0, 0, 1]),
        ([EOS, 4, 5, EOS], [1, 1, 1, 0], [0, 1, 1, 1]),
    ]
    assert all_of(examples_of(stream_of(lake), Text(), 9))[0][2] is None
    assert all_of(examples_of(stream_of(lake), Text(), 9, eos=EOS, see_others=True))[0][2] is None
    assert all_of(examples_of(stream_of(lake), Text(), 10, eos=EOS)) == []


def test_packed_text_is_padded_and_nothing_predicts_padding(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": texts([1, 2], []), "2024/part-1": texts([3], [4, 5, 6, 7, 8, 9, 10])})
    assert all_of(examples_of(stream_of(lake), Text(pack=True), 5, eos=EOS)) == [
        ([1, 2, 3, 0, 0], [1, 1, 0, 0, 0], [0, 0, 2, -1, -1]),
        ([4, 5, 6, 7, 8], [1, 1, 1, 1, 0], [3, 3, 3, 3, 3]),
    ]
    assert all_of(examples_of(stream_of(lake), Text(pack=True), 5, see_others=True))[0] == (
        [1, 2, 3, 0, 0],
        [1, 1, 0, 0, 0],
        None,
    )


def test_of_conversations_what_the_assistant_said_is_learnt(lake: FolderStore) -> None:
    rows = turns(([1, 2, 3], [0, 1, 1]), ([4, 5], [1, 0]), ([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 1, 0, 1, 0, 0, 1]))
    write_split(lake, {"2024/part-0": rows}, CHAT)
    stream = stream_of(lake)
    assert all_of(examples_of(stream, Chat(), 6)) == [
        ([1, 2, 3, 4, 5, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, -1]),
        ([1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 0], [2] * 6),
    ]
    assert all_of(examples_of(stream, Chat(slice_strategy="right"), 6))[1] == (
        [3, 4, 5, 6, 7, 8],
        [0, 1, 0, 0, 1, 0],
        [2] * 6,
    )
    assert [row[1] for row in all_of(examples_of(stream, Chat(mask_user_turns=False), 6))] == [
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
    ]
    assert [row[2] for row in all_of(examples_of(stream, Chat(pack=1, slice_strategy="drop"), 6))] == [
        [0, 0, 0, -1, -1, -1],
        [1, 1, -1, -1, -1, -1],
    ]
    with pytest.raises(DataError, match=r"/train: document 2: 8 tokens, but an example has 6"):
        examples_of(stream, Chat(pack=False), 6)


def test_prebuilt_rows_are_examples_as_they_stand(lake: FolderStore) -> None:
    rows: list[Row] = [
        {"input_ids": [1, EOS, 2], "loss_weights": [0.5, 2.0, 1.0]},
        {"input_ids": [3, 4], "loss_weights": [0.25, 0.5]},
        {"input_ids": [5, 6], "loss_weights": [1.0]},
        {"input_ids": [], "loss_weights": []},
    ]
    write_split(lake, {"2024/part-0": rows}, WEIGHED)
    weighed = examples_of(stream_of(lake), Prebuilt(loss_weights_key="loss_weights"), 3, eos=EOS)
    assert [plain(weighed[n]) for n in (0, 1, 3)] == [
        ([1, EOS, 2], [0.5, 2.0, 0.0], [0, 0, 1]),
        ([3, 4], [0.25, 0.0], [0, 0]),
        ([], [], []),
    ]
    with pytest.raises(DataError, match="row 2: 2 tokens, 1 loss weights"):
        _ = weighed[2]
    assert plain(examples_of(stream_of(lake), Prebuilt(), 3)[0]) == ([1, EOS, 2], [1, 1, 0], None)


def test_the_types_are_the_trainers(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": turns(([1, 2, 3], [0, 1, 1]))}, CHAT)
    example = examples_of(stream_of(lake), Chat(), 6)[0]
    assert [str(each.dtype) for each in example if each is not None] == ["int32", "float32", "int32"]


def test_a_plan_by_another_rule_is_refused(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": texts([1, 2], [3])}, TEXT)
    stream = stream_of(lake)
    made = pack_documents(stream.lengths("input_ids"), PackingRule(8, 64, "left"))
    assert len(examples_of(stream, Text(pack=True), 8, packed=made)) == 1
    with pytest.raises(DataError, match=r"but the format asks for .*length=9.*; plan it again"):
        examples_of(stream, Text(pack=True), 9, packed=made)


def decode(ids: list[int]) -> str:
    return " ".join("abcdefghij"[number] for number in ids) + " "


def test_an_example_is_shown_by_segments_with_what_is_learnt(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": turns(([1, 2, 3], [0, 1, 1]), ([4, 5], [1, 0]))}, CHAT)
    assert show_example(examples_of(stream_of(lake), Chat(), 8)[0], lambda ids: decode(list(ids))) == (
        "--- segment 0, tokens 0 to 3\nb ⟦c d ⟧\n--- segment 1, tokens 3 to 5\n⟦e ⟧f \n--- padding, tokens 5 to 8\n"
    )


def test_weights_that_are_not_one_are_shown(lake: FolderStore) -> None:
    write_split(lake, {"2024/part-0": [{"input_ids": [1, 2, 3], "loss_weights": [0.5, 0, 1]}]}, WEIGHED)
    example = examples_of(stream_of(lake), Prebuilt(loss_weights_key="loss_weights"), 3)[0]
    assert show_example(example, lambda ids: decode(list(ids))) == "--- tokens 0 to 3\nb ⟦0.5: c ⟧d \n"
