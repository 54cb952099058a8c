from tinybpe import EOS
from tokenizers import Tokenizer

from gristmill.encoding.probes import FIXED, SWEPT, probe_texts


def test_probes_are_the_same_each_time(small: Tokenizer) -> None:
    assert probe_texts(small) == probe_texts(small)


def test_every_code_point_of_the_swept_blocks_stands_behind_a_letter_and_a_space(small: Tokenizer) -> None:
    text = "".join(probe_texts(small))
    found = {text[place : place + 4] for place in range(len(text))}
    assert {f"a{chr(point)} {chr(point)}" for block in SWEPT for point in block} <= found


def test_added_tokens_are_tried_alone_doubled_cut_and_in_another_case(small: Tokenizer) -> None:
    texts = probe_texts(small)
    for form in (f"{EOS} {EOS}{EOS}", f".{EOS}. {EOS[:-1]} ", f"{EOS[1:]}{EOS.lower()}{EOS.upper()}"):
        assert any(form in text for text in texts), form


def test_one_probe_is_as_long_as_all_fixed_texts_together(small: Tokenizer) -> None:
    assert len(max(probe_texts(small), key=len)) > sum(map(len, FIXED))
