"""Real Energon loads a small dataset of each sample type: every element of every sample is what was written."""

from pathlib import Path
from typing import Any

import pytest
from energonsets import RED, SETS, SmallSet, picture, told, write_dataset
from peer import Ask
from seaweed import Seaweed

from gristmill.energon.formats.dataset_yaml import typed_dataset
from gristmill.energon.formats.sample_types import SAMPLE_TYPES

pytestmark = pytest.mark.slow
SAMPLED = ("", "CaptioningSample", "TextSample")
"""The types that CI also reads from S3: crude samples, images, texts."""
EACH = pytest.mark.parametrize("small", SETS, ids=lambda small: small.kind or "crude")


def test_every_sample_type_has_a_dataset() -> None:
    assert {small.kind for small in SETS} == {*SAMPLE_TYPES, ""}


@EACH
def test_every_element_of_every_sample_in_order_and_at_random(energon: Ask, tmp_path: Path, small: SmallSet) -> None:
    small.write(tmp_path / "set")
    check(energon, str(tmp_path / "set"), small)


@pytest.mark.parametrize(
    "small",
    [pytest.param(each, marks=() if each.kind in SAMPLED else pytest.mark.exhaustive, id=each.kind) for each in SETS],
)
def test_the_same_from_an_s3_server(energon_on_s3: Ask, seaweed: Seaweed, tmp_path: Path, small: SmallSet) -> None:
    small.write(tmp_path / "set")
    prefix = f"sets/{small.kind or 'crude'}"
    store = seaweed.store(prefix)
    for file in sorted(path for path in (tmp_path / "set").rglob("*") if path.is_file()):
        store.put(file.relative_to(tmp_path / "set").as_posix(), file.read_bytes())
    check(energon_on_s3, f"msc://lake/{prefix}", small)


def check(energon: Ask, path: str, small: SmallSet) -> None:
    """Both splits in order; the training split as it is shuffled; each sample by its key; each part by its name."""
    job = {"do": "load", "path": path, "cooker": small.cooker}
    names = [f"{key}.{part}" for key in sorted(small.parts) for part in small.parts[key]]
    train, val, drawn, files = energon(
        {**job, "split": "train"},
        {**job, "split": "val"},
        {**job, "split": "train", "training": True},
        {"do": "files", "path": path, "names": names},
    )
    expected = small.samples()
    for found, wanted in ((train, expected[:4]), (val, expected[4:])):
        assert found == {"samples": wanted, "restored": wanted[::-1]}
    assert drawn["restored"] == drawn["samples"][::-1]
    assert by_key(drawn["samples"]) == expected[:4]
    parts = [content for key in sorted(small.parts) for content in small.parts[key].values()]
    assert files == {"files": [{"bytes": content.hex()} for content in parts]}


def by_key(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(samples, key=lambda sample: str(sample["__key__"]))


def test_a_sample_without_a_mapped_value_is_dropped_and_null_is_kept(energon: Ask, tmp_path: Path) -> None:
    values: list[dict[str, object]] = [{"q": "?", "a": ["yes"]}, {"q": "?", "a": None}, {"q": "?"}]
    samples = {f"s{n}": {"png": picture(RED), "json": told(**value)} for n, value in enumerate(values)}
    mapped = {"image": "png", "context": "json[q]", "answers": "json[a]"}
    write_dataset(tmp_path / "set", {"0.tar": samples}, {"train": ["0.tar"]}, typed_dataset("VQASample", mapped))
    [found] = energon({"do": "load", "path": str(tmp_path / "set")})
    assert [(each["__key__"], each["answers"]) for each in found["samples"]] == [("s0", ["yes"]), ("s1", None)]
