"""What the loader makes of each `dataset.yaml` was tried with the real one: tests/real_energon does it again."""

from pathlib import Path

import pytest
from datasetyaml import FALLEN_BACK, OWN, REFUSED, TAKEN, TEXT
from tarfolder import write_tar

from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.formats.sample_types import SAMPLE_TYPES
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.dataset_file import read_dataset_file
from gristmill.energon.preparing.lint import LintOptions, lint_tars
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars


def flaws(text: str) -> list[str]:
    found = read_dataset_file(text.encode(), "d.yaml").flaws
    return [f"{'warning ' if flaw.warning else ''}{flaw}".replace("d.yaml: ", "") for flaw in found]


@pytest.mark.parametrize("text", [*TAKEN, *OWN])
def test_what_the_loader_takes_has_no_flaw(text: str) -> None:
    assert flaws(text) == []


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_the_loader_refuses_or_drops_is_named(text: str, words: str) -> None:
    (flaw,) = flaws(text)
    assert flaw.startswith(words)


def test_a_module_that_energon_does_not_have_is_a_warning() -> None:
    (flaw,) = flaws(FALLEN_BACK)
    assert flaw == "warning TextSample is not in megatron.energon.nope (write __module__: megatron.energon)"


@pytest.mark.parametrize("name", SAMPLE_TYPES)
def test_each_type_is_known_in_all_its_modules(name: str) -> None:
    kind = SAMPLE_TYPES[name]
    fields = ", ".join(f"{field}: txt" for field in kind.required_field_names)
    for module in kind.modules:
        assert flaws(f"sample_type: {{__module__: {module}, __class__: {name}}}\nfield_map: {{{fields}}}") == []


def write_captions(folder: Path) -> None:
    """Two shards of three samples; one sample has no caption in `cap`, two have one in `alt`, and one in `one`."""
    for shard in range(2):
        members = {f"{shard}{n}.txt": b"t" for n in range(3)} | {f"{shard}{n}.cap": b"c" for n in range(3)}
        members |= {f"{shard}0.alt": b"a"} | ({} if shard else {"00.one": b"1"})
        if shard:
            del members["12.cap"]
        write_tar(folder / f"{shard}.tar", dict(sorted(members.items())))


@pytest.mark.parametrize(
    ("place", "refused", "told"),
    [
        ("txt", False, []),
        ("cap,txt", False, []),
        ("json[caption],txt", False, []),
        (
            "cap",
            False,
            [".nv-meta/dataset.yaml: 'text' is read from 'cap', which 1 of 6 samples lack: the loader drops"],
        ),
        ("TXT,alt", False, [".nv-meta/dataset.yaml: 'text' is read from 'TXT' or 'alt', which 4 of 6 samples lack: "]),
        (
            "one",
            False,
            [".nv-meta/dataset.yaml: 'text' is read from 'one', which 5 of 6 samples lack: the loader drops"],
        ),
        ("json[a]", True, [".nv-meta/dataset.yaml: 'text' is read from 'json', which no sample has: the loader drops"]),
    ],
)
def test_the_parts_of_a_field_map_are_looked_for_in_all_samples(
    tmp_path: Path, place: str, *, refused: bool, told: list[str]
) -> None:
    write_captions(tmp_path)
    dataset = open_dataset(str(tmp_path), {})
    typed = f"{TEXT}field_map: {{text: '{place}'}}\n".encode()
    options = PrepareOptions(ratio={"train": 1}, dataset_yaml=typed)
    prepared = prepare_tars(dataset, options, crude_dataset(), lambda _: None)
    assert prepared.written is not refused
    assert [str(flaw)[: len(start)] for flaw, start in zip(prepared.flaws, told, strict=True)] == told
    if refused:
        assert str(prepared.flaws[0]).endswith("(the parts are: alt, cap, one, txt)")
        assert not (tmp_path / ".nv-meta").exists()
        prepare_tars(dataset, options._replace(dataset_yaml=None), crude_dataset(), lambda _: None)
        (tmp_path / ".nv-meta" / "dataset.yaml").write_bytes(typed)
    found = lint_tars(dataset, LintOptions(splits=()), lambda _: None)[1]
    assert found == prepared.flaws


def test_the_first_sample_without_a_part_is_named(tmp_path: Path) -> None:
    write_captions(tmp_path)
    options = PrepareOptions(ratio={"train": 1}, dataset_yaml=f"{TEXT}field_map: {{text: cap}}\n".encode())
    (flaw,) = prepare_tars(open_dataset(str(tmp_path), {}), options, crude_dataset(), lambda _: None).flaws
    assert flaw.mend == "the first is '12' in 1.tar"


def test_a_kept_file_that_the_loader_refuses_keeps_prepare_from_writing(tmp_path: Path) -> None:
    write_captions(tmp_path)
    (tmp_path / ".nv-meta").mkdir()
    (tmp_path / ".nv-meta" / "dataset.yaml").write_text(TEXT + "field_map: {txet: txt}\n")
    options = PrepareOptions(ratio={"train": 1})
    found = prepare_tars(open_dataset(str(tmp_path), {}), options, crude_dataset(), lambda _: None)
    assert not found.written
    assert "TextSample has no field 'txet'" in str(found.flaws[0])


@pytest.mark.parametrize(
    ("place", "data", "told"),
    [
        ("json[turns][1],txt", b'{"turns": []}', []),
        ("json[turns][0]", b'{"turns": ["a"]}', []),
        (
            "json[turns][1],json[text]",
            b'{"turns": ["a"], "lang": "en"}',
            [
                (
                    "'text' is read from json[turns][1],json[text], which the first sample, '0' in 0.tar, does not have"
                    " (its keys are: turns, lang)"
                )
            ],
        ),
        ("json[text]", b"{text", ["the first sample, '0' in 0.tar, has a part 'json' that is not JSON: Expecting"]),
    ],
)
def test_keys_of_json_are_looked_for_in_the_first_sample(
    tmp_path: Path, place: str, data: bytes, told: list[str]
) -> None:
    write_tar(tmp_path / "0.tar", {"0.json": data, "0.txt": b"t", "1.json": b"{}", "1.txt": b"t"})
    dataset = open_dataset(str(tmp_path), {})
    options = PrepareOptions(ratio={"train": 1}, dataset_yaml=f"{TEXT}field_map: {{text: '{place}'}}\n".encode())
    prepared = prepare_tars(dataset, options, crude_dataset(), lambda _: None)
    assert prepared.written
    assert all(flaw.warning for flaw in prepared.flaws)
    said = [str(flaw).removeprefix(".nv-meta/dataset.yaml: ") for flaw in prepared.flaws]
    assert [each[: len(start)] for each, start in zip(said, told, strict=True)] == told
    assert lint_tars(dataset, LintOptions(splits=()), lambda _: None)[1] == prepared.flaws
