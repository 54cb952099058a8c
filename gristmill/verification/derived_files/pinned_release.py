"""Compares a release with the ledgers that it pins: its files are derived again, as far as the lake has these."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, load_ledger, merged_ledger
from gristmill.lake.address import cache_asset, cache_index, mix_asset, place, tokenizer_asset
from gristmill.lake.asset_kinds import EXPORT, TOKEN_CACHE, is_product, kind_of, ledger_of_asset
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.ledger.index_ledger import content_digest, read_index_ledger
from gristmill.lake.ledger.model import Ledger, Recipe, TableDigest, Upstream
from gristmill.lake.store.json_object import NOT_DECODED, is_same_json
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mixture.token_shares import Reading
from gristmill.releases.card import DataCard, data_card
from gristmill.releases.card_files import CARD, CARD_FILES, card_files
from gristmill.releases.moved import redirect_release_file
from gristmill.releases.pinned import PinnedLedger, PinnedRelease, pinned_path
from gristmill.releases.pinned_objects import objects_of_slice
from gristmill.releases.pinning import pinned_ledger, trainer_files, trainer_reading
from gristmill.stages.export.index import release_folder
from gristmill.stages.token_cache.levanter_config import CATALOG, DATA_YAML, cache_catalog
from gristmill.verification.derived_files.finished_slices import are_disordered
from gristmill.verification.derived_files.pinned_chain import pinned_chain_faults
from gristmill.verification.trainer_config import first_wrong_value

_MEND = "restore it from a copy: a release never changes"
_PROSE = frozenset({"because", "description", "homepage", "owners"})
"""The fields of a card that only recipes say, and that nothing depends on: they may change under a name."""


def release_contradictions(store: Store, release: PinnedRelease, shelves: Sequence[str], say: Say) -> Iterator[Finding]:
    """Findings on a release that is right in itself, but does not follow from what it pins.

    Args:
        store: the lake.
        release: the release; its objects and files have the digests that it names.
        shelves: the packages that hold the recipes.
        say: function that receives a note on each thing that cannot be derived again.
    """
    proof = _Proof(store, release, shelves, say)
    yield from proof.files()
    yield from proof.pinned_ledger_findings()
    yield from proof.objects()
    yield from proof.kept()
    yield from proof.catalogue_findings()
    yield from proof.data_yaml_findings()
    yield from proof.card_findings()


class _Proof:
    """A release, and which of its ledgers the lake still has."""

    def __init__(self, store: Store, release: PinnedRelease, shelves: Sequence[str], say: Say) -> None:
        self._store, self._release, self._shelves = store, release, shelves
        self._where, self._folder = pinned_path(release.name), f"{RELEASES}{release.name}"
        self._note = say
        current = {(each.asset, each.snapshot): _current_ledger(store, each) for each in release.ledgers}
        self._there = {key: each for key, each in current.items() if each is not None}
        index = read_index_ledger(store, ledger_of_asset(cache_index(release.mix, release.tokenizer)))
        self._same_index = index is not None and index.fingerprint == release.index
        self._of_index = [(each.asset, each.snapshot) for each in index.inputs] if index and self._same_index else None

    def _note_gap(self, what: str) -> None:
        self._note(f"{self._where}: not proven: {what}")

    def files(self) -> Iterator[Finding]:
        """Findings unless it names the files that each release has: nothing proves those that it does not name."""
        card = {f"{self._folder}/{name}" for name in CARD_FILES}
        names = {f"{self._folder}/{name}" for name in (DATA_YAML, CATALOG)}
        there = {entry.path for entry in self._store.list(f"{self._folder}/")}
        if card & (there | self._release.files.keys()):
            names |= card
        else:
            self._note_gap("it has no data card")
        for path in sorted((names | there) - self._release.files.keys()):
            yield Finding(path, None, f"{self._where} does not name it, so nothing proves it", _MEND)
        for path in sorted(self._release.files.keys() - names):
            yield self._finding(f"it names {path}, which no release has")

    def pinned_ledger_findings(self) -> Iterator[Finding]:
        """Findings on pinned ledgers that are not those of the lake, or do not follow from each other."""
        for each in self._release.ledgers:
            name = _in_words(each.asset, each.snapshot)
            found = self._there.get((each.asset, each.snapshot))
            differ = [
                field for field in each.__struct_fields__ if found and _json_of(found, field) != _json_of(each, field)
            ]
            if differ:
                yield self._finding(f"its {', '.join(differ)} of {name} are not those of the lake's ledger")
            kind = kind_of(each.asset)
            for asset, snapshot, fingerprint in each.inputs if kind and kind.is_partitioned else ():
                read = kind_of(asset)
                if read is None or not read.ledger:
                    continue
                pinned = self._release.pinned_ledger(asset, snapshot)
                if pinned is None or pinned.fingerprint != fingerprint:
                    yield self._finding(f"{name} was made from {_in_words(asset, snapshot)}, which it pins otherwise")
        caches = [each for each in self._release.ledgers if kind_of(each.asset) is TOKEN_CACHE]
        pinned_slices = {(each.asset, each.snapshot) for each in caches}
        named = [(self._cache_address(stream), snapshot) for stream, snapshot in self._release.slices]
        if set(named) != pinned_slices or len(named) != len(pinned_slices):
            yield self._finding("its slices are not those of its ledgers")
        if self._of_index is not None and set(self._of_index) != pinned_slices:
            yield self._finding("its slices are not those of the index that it names")
        elif are_disordered(self._release.slices) or (self._of_index is not None and self._of_index != named):
            yield self._finding("its slices are in another order than those of the index that it names")
        yield from (self._finding(what) for what in pinned_chain_faults(self._release))
        gone = [
            _in_words(each.asset, each.snapshot)
            for each in self._release.ledgers
            if (each.asset, each.snapshot) not in self._there
        ]
        if gone:
            shown = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")
            self._note_gap(
                f"{len(gone)} of its {len(self._release.ledgers)} ledgers, which the lake no longer has: {shown}"
            )

    def objects(self) -> Iterator[Finding]:
        """Findings unless it names each object of its slices; a note on the bytes that nothing derives again."""
        old = 0
        for each in self._release.ledgers:
            if not is_product(each.asset):
                continue
            partition = place(each.asset, each.snapshot)
            if (each.asset, each.snapshot) not in self._there:
                folders = tuple(f"{each.asset}/{split}{each.snapshot}/" for split in ("", "train/", "validation/"))
                old += sum(size for path, (_, size) in self._release.objects.items() if path.startswith(folders))
                continue
            of_slice = objects_of_slice(self._store, partition)
            if wrong := [path for path, named in of_slice if self._release.objects.get(path) != named]:
                more = f", nor {len(wrong) - 1} more of {_in_words(each.asset, each.snapshot)}" if wrong[1:] else ""
                yield self._finding(f"it does not name {wrong[0]} as the ledger of the lake does{more}")
        if old:
            whole = sum(size for _, size in self._release.objects.values())
            self._note_gap(
                f"{old:,} of the {whole:,} bytes of its objects ({100 * old / whole:.1f}%): parts that only this"
                " release names, and that nothing makes again"
            )

    def kept(self) -> Iterator[Finding]:
        """Findings unless it names all files of its tokenizer and of its exports: `gc` keeps what it names."""
        assets = {each.asset for each in self._release.ledgers}
        tokenizer = tokenizer_asset(self._release.tokenizer)
        folders = {folder for path in self._release.objects if (folder := release_folder(path))}
        for export in {asset.rpartition("/")[0] for asset in assets if kind_of(asset) is EXPORT}:
            index = read_index_ledger(self._store, ledger_of_asset(f"{export}/index"))
            slices = {(each.asset, each.snapshot) for each in index.inputs} if index else set()
            pinned = {(e.asset, e.snapshot) for e in self._release.ledgers if e.asset.startswith(f"{export}/")}
            if index and slices == pinned and all(key in self._there for key in pinned):
                folders |= {folder for path in index.files if (folder := release_folder(path))}
        for folder in sorted({f"{tokenizer}/", *folders}):
            for entry in self._store.list(folder):
                if entry.path not in self._release.objects and entry.path != ledger_of_asset(tokenizer):
                    yield self._finding(f"it does not name {entry.path}, which belongs to its data")

    def catalogue_findings(self) -> Iterator[Finding]:
        """A finding unless the catalogue holds the ledgers of the pinned parts."""
        data = self._read_release_file(CATALOG)
        if data is None:
            return
        try:
            splits: dict[str, dict[str, Any]] = json.loads(data)["splits"]
            streams = {stream for named in splits.values() for stream in named} | {s for s, _ in self._release.slices}
            tops = tuple(f"{self._cache_address(stream)}/" for stream in streams)
            known = {
                path.removeprefix(top).partition("/")[0]
                for top in tops
                for path in self._release.objects
                if path.startswith(top) and path.endswith(f"/{LEDGER_NAME}")
            }
            derived = {
                split: {
                    stream: (f"{self._cache_address(stream)}/{split}", self._merged_stream_ledger(stream, split))
                    for stream in streams
                }
                for split in splits.keys() | known
            }
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            yield self._file_finding(CATALOG, f"it is no catalogue ({error})")
            return
        root, tokenizer = self._store.url, self._release.tokenizer
        if data not in {cache_catalog(root, derived, tokenizer, earlier=earlier) for earlier in (False, True)}:
            yield self._file_finding(CATALOG, "it does not hold the ledgers of the parts that the release pins")

    def data_yaml_findings(self) -> Iterator[Finding]:
        """Findings on a `data.yaml` that does not follow from the pinned ledgers, or from the index."""
        data = self._read_release_file(DATA_YAML)
        if data is None:
            return
        index = cache_index(self._release.mix, self._release.tokenizer)
        try:
            config = json.loads(data)
            if config["cache_catalog"] != f"{self._store.url}/{self._folder}/{CATALOG}":
                yield self._file_finding(DATA_YAML, "its cache_catalog is not that of the release")
                return
            config["cache_catalog"] = f"{self._store.url}/{index}/{CATALOG}"
            streams = json.loads(self._read_release_file(CATALOG) or b'{"splits":{}}')["splits"].get("train", {})
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            yield self._file_finding(DATA_YAML, f"it is no configuration ({error})")
            return
        heads = [_pinned_as_head(each) for each in self._release.ledgers if kind_of(each.asset) is TOKEN_CACHE]
        caches = {stream: self._cache_address(stream) for stream in streams}
        of_index = json.dumps(config, indent=2).encode() + b"\n"
        try:
            wrong = first_wrong_value(of_index, self._store.url, index, caches, heads)
        except RecipeError as error:
            wrong = str(error)
        if wrong:
            yield self._file_finding(DATA_YAML, wrong)
        elif not self._same_index:
            self._note_gap("the weights, the block and the packing in data.yaml: the index has changed since")
        else:
            try:
                derived = trainer_files(self._store, self._release)
            except DataError:
                return  # the audit of the index says what is wrong
            if derived[f"{self._folder}/{DATA_YAML}"] != data:
                yield self._file_finding(DATA_YAML, "its weights, its block or its packing are not those of the index")

    def card_findings(self) -> Iterator[Finding]:
        """Findings on a card that does not follow from the ledgers and the recipes, and on its other forms."""
        data = self._read_release_file(CARD)
        if data is None:
            return
        try:
            card = msgspec.json.decode(data, type=DataCard)
            files = card_files(self._store, self._release, card, shards=self._has_mix)
        except (*NOT_DECODED, DataError) as error:
            yield self._file_finding(CARD, f"it is no data card ({error})")
            return
        for path, made in files.items():
            own = path == f"{self._folder}/{CARD}"
            if own and is_same_json(data, made):
                continue
            if path in self._release.files and self._release.files[path] != content_digest(made, path, self._store.url):
                source = "its own values, in the form that Gristmill writes" if own else f"{CARD} and the ledgers"
                yield Finding(path, None, f"it does not follow from {source}", _MEND)
        if not self._has_mix:
            self._note_gap("croissant.json, whose documents the lake no longer has")
        derived = self._derived_card(card)
        if derived is None:
            return
        differ = sorted(_differing_keys(msgspec.to_builtins(card), msgspec.to_builtins(derived)))
        if words := [key for key in differ if key.rpartition(".")[2] in _PROSE]:
            self._note_gap(f"words of its card, which are not those of the recipes on the shelves: {', '.join(words)}")
        if others := [key for key in differ if key not in words]:
            what = f"its {', '.join(others)} do not follow from the ledgers, the index and the recipes on the shelves"
            mend = f"{_MEND}; if a recipe has changed since, verify with the --shelves of then"
            yield Finding(f"{self._folder}/{CARD}", None, what, mend)

    @property
    def _has_mix(self) -> bool:
        """Whether the lake has the documents of all slices as they were."""
        return all((mix_asset(self._release.mix, name), key) in self._there for name, key in self._release.slices)

    def _derived_card(self, card: DataCard) -> DataCard | None:
        """The card as it would be made now; None with a note if it cannot be."""
        try:
            catalogue: Catalogue = read_catalogue(tuple(self._shelves), checked=False)
        except RecipeError:
            catalogue = Catalogue({}, {}, {}, {})
        mix = catalogue.mixes.get(self._release.mix)
        weights = json.loads(self._read_release_file(DATA_YAML) or b"{}").get("train_weights", {})
        if mix is None or {each.key for each in mix.streams} != weights.keys():
            self._note_gap(f"{CARD}: no recipe on the shelves makes the mix, or it has other streams now")
            return None
        try:
            if self._same_index:
                reading = trainer_reading(self._store, self._release)
            else:
                reading = card.training.reading if card.training else Reading(None, ())
            made = data_card(self._release, catalogue, weights, reading, card.form)
        except (DataError, RecipeError) as error:
            self._note_gap(f"{CARD}: recipe changed, or of an earlier version: {error}")
            return None
        if not card.training and made.training:
            self._note_gap(f"{CARD}: an earlier version made it, which said nothing of training")
            made = msgspec.structs.replace(made, training=msgspec.UNSET)
        return made

    def _merged_stream_ledger(self, stream: str, split: str) -> CacheLedger:
        """The merged ledger of the pinned parts of a stream, in the order of the slices."""
        top = f"{self._cache_address(stream)}/{split}/"
        parts: dict[str, CacheLedger] = {}
        metadata: Mapping[str, Any] | None = None
        for snapshot in (snapshot for name, snapshot in self._release.slices if name == stream):
            for path in sorted(path for path in self._release.objects if path.startswith(f"{top}{snapshot}/")):
                if path.endswith(f"/{LEDGER_NAME}"):
                    ledger = load_ledger(self._store.read(path), path)
                    metadata = ledger["metadata"]["preprocessor_metadata"]
                    parts[path.removeprefix(top).removesuffix(f"/{LEDGER_NAME}")] = ledger
        return merged_ledger(parts, metadata)

    def _cache_address(self, stream: str) -> str:
        return cache_asset(self._release.mix, self._release.tokenizer, stream)

    def _read_release_file(self, name: str) -> bytes | None:
        """A file of the release, directed to this lake; None if it has none, or if its own proof has a finding."""
        path = f"{self._folder}/{name}"
        tagged = self._store.read_tagged(path)
        digest = self._release.files.get(path)
        return redirect_release_file(tagged[0], path, digest, self._store.url) if tagged and digest else None

    def _file_finding(self, name: str, what: str) -> Finding:
        return Finding(f"{self._folder}/{name}", None, what, _MEND)

    def _finding(self, what: str) -> Finding:
        return Finding(self._where, None, what, _MEND)


def _current_ledger(store: Store, pinned: PinnedLedger) -> PinnedLedger | None:
    """The ledger of the lake with this fingerprint; None if the lake no longer has it."""
    try:
        found = pinned_ledger(store, Upstream(pinned.asset, pinned.snapshot, pinned.fingerprint))
    except (DataError, RecipeError):
        return None
    return found if found.fingerprint == pinned.fingerprint else None


def _pinned_as_head(pinned: PinnedLedger) -> Ledger:
    """A pinned ledger as the head that it was, as far as it is pinned."""
    parameters = msgspec.json.decode(pinned.recipe["parameters"], type=dict[str, Any])
    recipe = Recipe("", 1, parameters)
    inputs = tuple(Upstream(*each) for each in pinned.inputs)
    none = TableDigest(0, "")
    return Ledger(
        1, pinned.asset, pinned.snapshot, pinned.fingerprint, recipe, inputs, pinned.totals, pinned.dropped, none
    )


def _json_of(pinned: PinnedLedger, field: str) -> bytes:
    return msgspec.json.encode(getattr(pinned, field), order="sorted")


def _in_words(asset: str, snapshot: str) -> str:
    return f"{asset} ({snapshot})" if snapshot else asset


def _differing_keys(found: object, derived: object, key: str = "") -> Iterator[str]:
    """The keys whose values differ, such as `streams.licence`; places in lists are left out."""
    if isinstance(found, dict) and isinstance(derived, dict):
        for name in found.keys() | derived.keys():
            yield from _differing_keys(found.get(name), derived.get(name), f"{key}.{name}".lstrip("."))
    elif isinstance(found, list | tuple) and isinstance(derived, list | tuple) and len(found) == len(derived):
        yield from {each for pair in zip(found, derived, strict=True) for each in _differing_keys(*pair, key)}
    elif found != derived:
        yield key
