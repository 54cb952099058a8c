"""Code references: which files declare what makes an asset. Dagster's page of the asset links to them."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from assets.support.keys import address_of
from assets.support.runs.tags import MIX
from assets.support.step_ops import StepAssets
from gristmill.lake.address import mix_index
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.code.digest import declaring_file


class CodeReferences:
    """The files of all recipes.

    Args:
        catalogue: the recipes.
        folder: the folder of the project or checkout.
        url: address of that folder on a git server, such as https://github.com/acme/corpus/blob/main; empty: files
            are named as they lie on this machine.
    """

    def __init__(self, catalogue: Catalogue, folder: str, url: str) -> None:
        self._catalogue, self._folder, self._url = catalogue, Path(folder).resolve(), url
        self._known: dict[tuple[str, ...], dict[str, Any]] = {}

    def of_steps(self, steps: Sequence[StepAssets]) -> list[StepAssets]:
        """The same steps, whose assets name their files."""
        return [
            replace(
                step,
                outputs=[
                    replace(output, metadata={**output.metadata, **self.metadata(output.address)})
                    for output in step.outputs
                ],
            )
            for step in steps
        ]

    def of_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """The same asset, which names its files."""
        mix = spec.tags.get(MIX)  # a preview has a key, but no place in the lake that would name its mix
        address = mix_index(mix) if mix and not names_in_asset_address(address_of(spec.key)) else address_of(spec.key)
        return spec.merge_attributes(metadata=self.metadata(address))

    def metadata(self, address: str) -> dict[str, Any]:
        """The entry of an asset's metadata; empty if its recipes are of no shelf, as in tests."""
        recipes = [each for each in self._recipes(address) if each is not None]
        files = tuple(filter(None, map(declaring_file, recipes)))
        if files not in self._known:
            self._known[files] = {"dagster/code_references": self._value(files)} if files else {}
        return self._known[files]

    def _recipes(self, address: str) -> Iterator[object]:
        """The recipes that make an asset: what is most its own comes first."""
        found = self._catalogue
        names = names_in_asset_address(address)
        for field, shelves in (
            ("set", (found.taggers, found.dedupes)),
            ("export", (found.exports,)),
            ("dedupe", (found.dedupes,)),
            ("mix", (found.mixes,)),
            ("tokenizer", (found.tokenizers,)),
            ("labels", (found.labels,)),
            ("model", (found.models,)),
            ("recipe", tuple(found.rows.values())),
            ("source", (found.sources,)),
        ):
            yield from (shelf.get(names.get(field, "")) for shelf in shelves)

    def _value(self, files: Sequence[str]) -> dg.CodeReferencesMetadataValue:
        with warnings.catch_warnings():  # beta in the pinned Dagster
            warnings.simplefilter("ignore", dg.BetaWarning)
            return dg.CodeReferencesMetadataValue(code_references=[self._reference(Path(each)) for each in files])

    def _reference(self, file: Path) -> dg.LocalFileCodeReference | dg.UrlCodeReference:
        resolved = file.resolve()
        if self._url and resolved.is_relative_to(self._folder):
            name = resolved.relative_to(self._folder).as_posix()
            return dg.UrlCodeReference(url=f"{self._url}/{name}", label=name)
        return dg.LocalFileCodeReference(file_path=str(resolved), label=file.name)
