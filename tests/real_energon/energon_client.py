"""Runs inside an environment that has the real Energon, and answers jobs (see tests/support/drivers/peer.py).

Jobs: {"do": "load", "path", "split", "training", "cooker", "image"}: all samples, in the order of the loader; and the
          same once more, restored from their keys, the last first
      {"do": "open", "name", "state", ...}: a loader that stays open, with the options of "load" and those of opened();
          with "state" it continues from a file of "save"
      {"do": "take", "name", "count", "keys"}: the next samples of this loader, all that are left if no count is
          given; with "keys" only their keys
      {"do": "save", "name", "state"}: writes what the loader needs to continue into a file
      {"do": "files", "path", "names", "store"}: parts by name, as a cooker gets them from an auxiliary source, which
          stays open if it has a name; an error for each part that is not found
      {"do": "media", "path", "names"}: the same for media metadata
      {"do": "prepare", "path", "args", "tool"}: the real tool's own preparation; `tool` may be prepare_media
      {"do": "yaml", "texts"}: what its parser makes of them
      {"do": "types"}: the fields of its sample types
"""

import dataclasses
import gc
import json
import sys
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

torch: Any = import_module("torch")
energon: Any = import_module("megatron.energon")
stores: Any = import_module("megatron.energon.cache.file_store")

Job = dict[str, Any]
UNDER = "__"


@energon.edataclass
class Cooked(energon.Sample):  # type: ignore[misc]
    """A crude sample as it comes: all its parts, and the media that it asked for."""

    parts: dict[str, Any]
    media: list[Any]


@energon.stateless  # type: ignore[untyped-decorator]
def everything(sample: dict[str, Any]) -> Cooked:
    """Keeps all parts."""
    parts = {name: value for name, value in sample.items() if not name.startswith(UNDER)}
    return Cooked(**energon.basic_sample_keys(sample), parts=parts, media=[])


@energon.stateless  # type: ignore[untyped-decorator]
def with_media(sample: dict[str, Any], media: Any) -> Cooked:
    """Keeps all parts, and what the document's image is in the auxiliary source."""
    cooked: Cooked = everything(sample)
    cooked.media = [media[cooked.parts["json"]["image"]][0]]
    return cooked


@energon.stateless  # type: ignore[untyped-decorator]
def sequence(sample: dict[str, Any]) -> Any:
    """An interleaved sample: texts, and the parts that stand for images."""
    items = [sample[each["image"]] if isinstance(each, dict) else each for each in sample["json"]["sequence"]]
    return energon.InterleavedSample(**energon.basic_sample_keys(sample), sequence=items)


@energon.stateless  # type: ignore[untyped-decorator]
def similarity(sample: dict[str, Any]) -> Any:
    """An interleaved sample whose texts and images are matched by a matrix."""
    told = sample["json"]
    return energon.SimilarityInterleavedSample(
        **energon.basic_sample_keys(sample),
        images=[sample[name] for name in told["images"]],
        texts=told["texts"],
        similarity_matrix=torch.tensor(told["similarity_matrix"]),
        matched_text_indices=told["matched_text_indices"],
    )


OPEN: dict[str, tuple[Any, Any]] = {}
STORES: dict[str, Any] = {}
COOKERS = {each.__name__: each for each in (everything, with_media, sequence, similarity)}


def encoder(cooker: str, image: str) -> Any:
    """A task encoder that passes samples on."""

    class Passing(energon.DefaultTaskEncoder):  # type: ignore[misc]
        decoder = energon.SampleDecoder(image_decode=image)
        cookers = [energon.Cooker(COOKERS[cooker])] if cooker else []

    return Passing()


def opened(job: Job) -> tuple[Any, int]:
    """A loader over a split, and its number of samples.

    Options: `rank` of `world`, with so many `workers`, and the `seed`; for training a `buffer` to shuffle in, and
    `once`: one epoch.
    """
    worker = energon.WorkerConfig(
        rank=job.get("rank", 0),
        world_size=job.get("world", 1),
        num_workers=job.get("workers", 0),
        seed_offset=job.get("seed", 0),
    )
    options = {
        "split_part": job.get("split", "train"),
        "worker_config": worker,
        "batch_size": None,
        "task_encoder": encoder(job.get("cooker", ""), job.get("image", "torchrgb8")),
    }
    if job.get("training"):
        dataset = energon.get_train_dataset(
            job["path"],
            shuffle_buffer_size=job.get("buffer"),
            max_samples_per_sequence=1,
            repeat=not job.get("once"),
            **options,
        )
    else:
        dataset = energon.get_val_dataset(job["path"], **options)
    return energon.get_savable_loader(dataset), len(dataset)


def load(job: Job) -> Job:
    """All samples of a split."""
    loader, length = opened(job)
    samples = list(islice(loader, length))
    restored = [loader.restore_sample(sample.__restore_key__) for sample in reversed(samples)]
    return {"samples": [described(each) for each in samples], "restored": [described(each) for each in restored]}


def open_loader(job: Job) -> Job:
    """Opens a loader that stays open."""
    loader, length = opened(job)
    if "state" in job:
        loader.restore_state_rank(torch.load(job["state"], weights_only=False))
    OPEN[job["name"]] = loader, iter(loader)
    return {"length": length}


def take(job: Job) -> Job:
    """The next samples of an open loader. If no count is given, it is closed at its end, and its workers with it."""
    samples = list(islice(OPEN[job["name"]][1], job.get("count")))
    if job.get("count") is None:
        del OPEN[job["name"]]
    return {"samples": [each.__key__ if job.get("keys") else described(each) for each in samples]}


def save(job: Job) -> Job:
    """Writes the state of an open loader."""
    torch.save(OPEN[job["name"]][0].save_state_rank(), job["state"])
    return {}


def described(value: Any) -> Any:
    """A value as JSON: tensors with type and shape, bytes in hex, videos by their frames."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, torch.Tensor):
        return {"tensor": str(value.dtype).removeprefix("torch."), "values": value.tolist()}
    if isinstance(value, np.ndarray | np.generic):
        return {"array": str(value.dtype), "values": value.tolist()}
    if isinstance(value, list | tuple):
        return [described(each) for each in value]
    if isinstance(value, dict):
        return {key: described(each) for key, each in value.items()}
    if hasattr(value, "get_frames"):
        clips = value.get_frames()
        return {"frames": [list(clip.shape) for clip in clips.video_clips]}
    if dataclasses.is_dataclass(value):
        left_out = {"__restore_key__", "__sources__"}
        names = [each.name for each in dataclasses.fields(value) if each.name not in left_out]
        return {name: described(getattr(value, name)) for name in names}
    raise TypeError(type(value))


def files(job: Job) -> Job:
    """Parts by name."""
    store = STORES.get(job.get("store", ""))
    if store is None:
        folder = job.get("folder")
        store = stores.SystemFileStore(job["path"]) if folder else stores.WebdatasetFileStore(epath(job["path"]))
        if "store" in job:
            STORES[job["store"]] = store
    return {"files": [part(store, name) for name in job["names"]]}


def part(store: Any, name: str) -> Any:
    """A part of a store, or why it is not found."""
    try:
        return described(store[name][0])
    except KeyError as error:
        return {"error": str(error)}


def media(job: Job) -> Job:
    """Media metadata by name."""
    store = stores.SystemFileStore(job["path"]) if job.get("folder") else stores.WebdatasetFileStore(epath(job["path"]))
    return {"media": [described(store.get_media_metadata(name)) for name in job["names"]]}


def epath(path: str) -> Any:
    """A path or an address."""
    return import_module("megatron.energon.epathlib").EPath(path)


def prepare(job: Job) -> Job:
    """The real tool's preparation, in this process."""
    runner = import_module("click.testing").CliRunner()
    command = import_module(f"megatron.energon.tools.{job.get('tool', 'prepare')}").command
    done = runner.invoke(command, [*job["args"], job["path"]])
    return {"code": done.exit_code, "said": done.output}


def types(_: Job) -> Job:
    """The fields of each sample type, and which of them must be given."""
    found = {}
    for name, module in json.loads(_["types"]).items():
        fields = dataclasses.fields(getattr(import_module(module), name))
        own = [each for each in fields if not each.name.startswith(UNDER)]
        found[name] = {each.name: each.default is dataclasses.MISSING for each in own}
    return {"types": found}


JOBS = {
    "load": load,
    "open": open_loader,
    "take": take,
    "save": save,
    "files": files,
    "media": media,
    "prepare": prepare,
    "types": types,
}


def answer(job: Job) -> Job:
    """The answer to one job; an error of Energon is an answer."""
    try:
        if job["do"] == "yaml":
            load_yaml = import_module("megatron.energon.eyaml").load_yaml
            return {"values": [load_yaml(text.encode()) for text in job["texts"]]}
        return JOBS[job["do"]](job)
    except Exception as error:  # noqa: BLE001 - what it raises is what the test asks about
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answers a line of jobs with a line of answers. What Energon prints goes to stderr."""
    out, sys.stdout = sys.stdout, sys.stderr
    gc.freeze()  # each loader of Energon collects garbage several times, and need not look at PyTorch's modules
    for line in sys.stdin:
        out.write(json.dumps([answer(job) for job in json.loads(line)]) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
