"""The metadataset of an export: all its datasets, drawn by the weights of the mix's streams."""

import hashlib
import posixpath
from collections.abc import Mapping, Sequence

from gristmill.energon.exports.splits import ENERGON_SPLIT, Dataset
from gristmill.energon.formats.metadataset import Blend, DatasetReference, Epoch, compose_metadataset
from gristmill.errors import DataError
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.recipes.export_formats.codec import TRAIN, Release

METADATASET = "metadataset.yaml"
"""The file of the index that Energon is given. It is replaced with each release, and names only finished files."""


def metadataset_files(
    release: Release, datasets: Sequence[Dataset], aux: Mapping[str, str], subflavors: Mapping[str, str]
) -> dict[str, bytes]:
    """The metadataset over some datasets, by its two names in the folder of the index.

    One is replaced with each release. The other has a digest in its name and never changes, so that a training that is
    started again finds the samples that it had.

    Args:
        release: release that has the weights or repetitions of the streams.
        datasets: datasets that it names.
        aux: auxiliary sources of all datasets.
        subflavors: subflavors of all datasets. The name of its stream is added to each.
    """
    data = encode_metadataset(release, datasets, aux, subflavors)
    return {METADATASET: data, f"metadataset-{hashlib.sha256(data).hexdigest()[:16]}.yaml": data}


def encode_metadataset(
    release: Release, datasets: Sequence[Dataset], aux: Mapping[str, str], subflavors: Mapping[str, str]
) -> bytes:
    """The metadataset over some datasets.

    A stream's weight is divided among its datasets by their numbers of samples, so that each sample of the stream is
    drawn as often as every other. If the release has repetitions, the training split is an epoch with them.

    Args: as in metadataset_files().

    Raises:
        DataError: the release has no weight of a stream, or no dataset has a row.
    """
    splits: dict[str, Blend | Epoch] = {}
    for split in dict.fromkeys(each.split for each in datasets):
        members = [each for each in datasets if each.split == split and each.rows]
        epoch = split == ENERGON_SPLIT[TRAIN] and release.repetitions
        shares = [epoch.get(m.stream, 0.0) for m in members] if epoch else _dataset_shares(members, release)
        references = [
            (share, _dataset_reference(release, each, aux, subflavors))
            for share, each in zip(shares, members, strict=True)
        ]
        drawn = tuple((share, reference) for share, reference in references if share > 0)
        if drawn:
            splits[split] = Epoch(drawn) if epoch else Blend(drawn)
    if not splits:
        mix = names_in_asset_address(release.index).get("mix", "")
        raise DataError(
            f"{release.index}: no stream of the mix {mix!r} has a document left, and"
            " Energon reads no empty dataset; let the mix keep some, or give the export other mixes"
        )
    return compose_metadataset(splits)


def _dataset_shares(datasets: Sequence[Dataset], release: Release) -> list[float]:
    weights, rows = release.weights, dict[str, int]()
    unknown = sorted({each.stream for each in datasets} - weights.keys())
    if unknown:
        raise DataError(f"{release.index}/release.json: it has no weight of {unknown[0]}; make {release.index} again")
    for each in datasets:
        rows[each.stream] = rows.get(each.stream, 0) + each.rows
    return [weights[each.stream] * each.rows / rows[each.stream] for each in datasets]


def _dataset_reference(
    release: Release, dataset: Dataset, aux: Mapping[str, str], subflavors: Mapping[str, str]
) -> DatasetReference:
    path = posixpath.relpath(dataset.path, release.index)
    words = {"stream": dataset.stream, **subflavors}
    return DatasetReference(path=path, split_part=dataset.part, subflavors=words, aux=aux)
