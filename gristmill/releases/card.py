"""The data card of a release: what is in it, where it comes from, and what was left out and why, as JSON."""

from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import cache_asset, documents_asset, mix_asset
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    DOCUMENTS,
    MARKS,
    MIX,
    MODEL,
    RAW,
    RESOLUTION,
    TOKEN_CACHE,
    kind_of,
    names_in_asset_address,
)
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.edits.carried import CARRIED
from gristmill.recipes.mix import Stream
from gristmill.recipes.mixture.declared_tokens import NOT_DECLARED, declared_tokens
from gristmill.recipes.mixture.token_shares import Reading
from gristmill.recipes.selection import CHANGED, Selection
from gristmill.recipes.tagger import OVERLAPS
from gristmill.releases.pinned import PinnedLedger, PinnedRelease
from gristmill.releases.training_card import TrainingCard, training_card

FORM = 2
"""Form of the cards that are made now. Those of version 0.2 have none, and are proven as they are: they also count
partitions that a release pins only because duplicates were looked for in them, and know fewer kinds of sets."""
FORMS = (FORM, UNSET)
"""All forms of cards, the newest first."""

_CHANGED = ": rows changed"
"""End of the names of a ledger's totals that count the rows that edits, or one transform, changed."""


class DroppedRows(msgspec.Struct, frozen=True):
    """Rows that a step left out for one reason.

    Attributes:
        reason: name of the rule, `blocklist: <name>`, `quarantine: <why>` or `sampled out`.
        rows: number of the rows.
        where: the rule's condition; empty for other reasons.
        because: reason why the rule was declared; empty if the recipe on the shelf has no such rule.
    """

    reason: str
    rows: int
    where: str = ""
    because: str = ""


class StepCard(msgspec.Struct, frozen=True):
    """What one step kept, over all snapshots of the release.

    Attributes:
        asset: address of what it made: a dataset version, a stream of the mix, or a stream of the token cache that
            dropped rows.
        kept: rows that it wrote.
        dropped: rows that it left out, by reason.
        changed: rows whose texts it changed, by `edits` and `transform <name>`; also those that it dropped afterwards.
        kept_changed: kept rows that have other bytes than the rows that it read; UNSET in cards of version 0.2.
    """

    asset: str
    kept: int
    dropped: tuple[DroppedRows, ...]
    changed: dict[str, int] = {}
    kept_changed: int | UnsetType = UNSET


class SetCard(msgspec.Struct, frozen=True):
    """An attribute set that a rule read.

    Attributes:
        asset: its address.
        what: `tagger`, `classifier` (it has a model), `overlaps` (with evaluation sets), `duplicates`, `carried` (from
            the version before) or `adopted`.
        description: description of its recipe on the shelf; empty if it is not there.
        made_from: the models, dedupe recipes or carried sets behind it.
    """

    asset: str
    what: str
    description: str
    made_from: tuple[str, ...]


class StreamCard(msgspec.Struct, frozen=True):
    """A stream of the mix, with its source.

    Attributes:
        stream: its name.
        source: name of the source.
        version: the dataset version.
        snapshots: keys of the snapshots.
        documents: rows of the token cache.
        tokens: number of tokens of the token cache, both splits.
        validation_tokens: number of tokens of the validation split.
        weight: weight as the trainer's configuration has it: its share of the sequences, relative to the other streams.
        description: description of the source.
        licence: licence of the source; NOT_DECLARED if its recipe declares none.
        terms: terms of the source.
        homepage: address of the homepage of the source.
    """

    stream: str
    source: str
    version: str
    snapshots: tuple[str, ...]
    documents: int
    tokens: int
    validation_tokens: int
    weight: float
    description: str
    licence: str
    terms: str
    homepage: str


class DataCard(msgspec.Struct, frozen=True):
    """The data card of a release.

    Attributes:
        name: name of the release.
        mix: name of the mix.
        description: description of the mix.
        owners: people who answer for the mix.
        tokenizer: name of the tokenizer.
        tokenizer_sha256: fingerprint of the tokenizer.
        documents: rows of the token caches.
        tokens: number of tokens of the token caches.
        licences: tokens by licence.
        streams: streams of the mix.
        steps: steps in the order in which they are made.
        sets: attribute sets that rules read.
        fingerprint: fingerprint of the token cache's index: equal fingerprints mean equal tokens.
        languages: tokens by language; empty if no recipe declares one.
        training: card of the training; UNSET if the weights of the streams say all.
        form: version of the card's form; see FORM.
    """

    name: str
    mix: str
    description: str
    owners: tuple[str, ...]
    tokenizer: str
    tokenizer_sha256: str
    documents: int
    tokens: int
    licences: dict[str, int]
    streams: tuple[StreamCard, ...]
    steps: tuple[StepCard, ...]
    sets: tuple[SetCard, ...]
    fingerprint: str
    languages: dict[str, int] = {}
    training: TrainingCard | UnsetType = UNSET
    form: int | UnsetType = UNSET


def data_card(
    release: PinnedRelease,
    catalogue: Catalogue,
    weights: Mapping[str, float],
    reading: Reading,
    form: int | UnsetType = FORM,
) -> DataCard:
    """The data card of a release.

    Args:
        release: the release.
        catalogue: the recipes: descriptions, licences and reasons of rules come from it, all counts from the ledgers.
        weights: weights of each stream in the trainer's configuration.
        reading: reading of the streams in training, as the index of the token cache has it.
        form: number of the card's form, see FORM.

    Raises:
        RecipeError: a selection on the shelf has changed since its rows were selected, or what the mix declares for
            training since the index was made.
        DataError: the index has no slice.
    """
    mix = catalogue.mixes[release.mix]
    streams = tuple(_stream_card(release, catalogue, stream, weights[stream.key]) for stream in mix.streams)
    tokens = {stream.stream: stream.tokens for stream in streams}
    sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
    declared = declared_tokens(mix.streams, sources, tokens)
    return DataCard(
        name=release.name,
        mix=release.mix,
        description=mix.description,
        owners=mix.owners,
        tokenizer=release.tokenizer,
        tokenizer_sha256=_tokenizer_sha256(release),
        documents=sum(stream.documents for stream in streams),
        tokens=sum(tokens.values()),
        licences=declared.licences or {NOT_DECLARED: sum(tokens.values())},
        streams=streams,
        steps=_step_cards(release, catalogue, form),
        sets=_set_cards(release, catalogue, form),
        fingerprint=release.index,
        languages=declared.languages,
        training=training_card(mix, reading) or UNSET,
        form=form,
    )


def _tokenizer_sha256(release: PinnedRelease) -> str:
    for each in release.ledgers:
        if names_in_asset_address(each.asset).get("tokenizer") == release.tokenizer:
            return each.fingerprint
    raise DataError(
        f"mix {release.mix!r}: its index by {release.tokenizer} has no slice, so there is nothing to pin;"
        " add raw data and make it"
    )


def _stream_card(release: PinnedRelease, catalogue: Catalogue, stream: Stream, weight: float) -> StreamCard:
    source = catalogue.sources[stream.source]
    asset = cache_asset(release.mix, release.tokenizer, stream.key)
    caches = [each for each in release.ledgers if each.asset == asset]
    totals: Counter[str] = Counter()
    for cache in caches:
        totals.update(cache.totals)
    return StreamCard(
        stream=stream.key,
        source=stream.source,
        version=stream.version,
        snapshots=tuple(cache.snapshot for cache in caches),
        documents=totals["rows"],
        tokens=totals["tokens"],
        validation_tokens=totals["validation tokens"],
        weight=weight,
        description=source.description,
        licence=source.licence or NOT_DECLARED,
        terms=source.terms,
        homepage=source.homepage,
    )


def _card_ledgers(release: PinnedRelease, form: int | UnsetType) -> list[PinnedLedger]:
    """The slices, the documents that come into them, and the sets that rules read, with those they are carried from.

    Other editions and other sources are pinned too, if duplicates were looked for in them: none of their rows is read.
    """
    if not form:
        return list(release.ledgers)
    pinned = {(each.asset, each.snapshot): each for each in release.ledgers}
    waiting = [(cache_asset(release.mix, release.tokenizer, stream), snapshot) for stream, snapshot in release.slices]
    found: set[tuple[str, str]] = set()
    while waiting:
        key = waiting.pop()
        if key in pinned and key not in found:
            found.add(key)
            waiting += [each[:2] for each in pinned[key].inputs if kind_of(each[0]) in {MIX, DOCUMENTS, ATTRIBUTES}]
    return [each for key, each in pinned.items() if key in found]


def _step_cards(release: PinnedRelease, catalogue: Catalogue, form: int | UnsetType) -> tuple[StepCard, ...]:
    """The steps that write documents: versions of sources, and streams of the mix; then what tokenization left out."""
    ledgers = _card_ledgers(release, form)
    short = {each.asset for each in ledgers if form and kind_of(each.asset) is TOKEN_CACHE and each.dropped}
    selections = _selections_by_address(release.mix, catalogue)
    kept: Counter[str] = Counter()
    dropped: dict[str, Counter[str]] = {}
    changed: dict[str, Counter[str]] = {}
    kept_changed: Counter[str] = Counter()
    for ledger in ledgers:
        if kind_of(ledger.asset) is DOCUMENTS or ledger.asset in selections or ledger.asset in short:
            _check_same_rules(ledger, selections.get(ledger.asset))
            kept[ledger.asset] += ledger.totals.get("rows", 0)
            dropped.setdefault(ledger.asset, Counter()).update(ledger.dropped)
            changed.setdefault(ledger.asset, Counter()).update(_changed_row_counts(ledger.totals))
            kept_changed[ledger.asset] += ledger.totals.get(CHANGED, 0)
    return tuple(
        StepCard(
            asset,
            kept[asset],
            tuple(_dropped_row_counts(reasons, selections.get(asset))),
            dict(changed[asset]),
            kept_changed[asset] if form else UNSET,
        )
        for asset, reasons in dropped.items()
    )


def _changed_row_counts(totals: Mapping[str, int]) -> dict[str, int]:
    """The rows whose texts edits and transforms changed, by what changed them; also those dropped by a later step."""
    return {name.removesuffix(_CHANGED): rows for name, rows in totals.items() if name.endswith(_CHANGED)}


def _check_same_rules(ledger: PinnedLedger, selection: Selection | None) -> None:
    """Checks that the rules on the shelf are those that the rows were selected by."""
    if selection is None:
        return
    made_by = msgspec.json.decode(ledger.recipe["parameters"])
    if made_by != msgspec.to_builtins(selection.parameters()):
        raise RecipeError(
            f"{ledger.asset} ({ledger.snapshot}): its recipe on the shelf is not the one that it was made by;"
            " make the mix again, then the release"
        )


def _selections_by_address(mix: str, catalogue: Catalogue) -> dict[str, Selection]:
    """The selections of the shelves by the address of what they make."""
    found: dict[str, Selection] = {mix_asset(mix, each.key): each for each in catalogue.mixes[mix].streams}
    for source in catalogue.sources.values():
        found |= {documents_asset(source.name, each.version): each for each in source.revisions}
    return found


def _dropped_row_counts(reasons: Mapping[str, int], selection: Selection | None) -> list[DroppedRows]:
    """The rules in their order, then other reasons by name. A rule that drops no row is listed too."""
    rules = () if selection is None else (*selection.include, *selection.exclude)
    listed = [DroppedRows(rule.name, reasons.get(rule.name, 0), rule.where, rule.because) for rule in rules]
    names = {rule.name for rule in rules}
    return listed + [DroppedRows(name, rows) for name, rows in sorted(reasons.items()) if name not in names]


def _set_cards(release: PinnedRelease, catalogue: Catalogue, form: int | UnsetType) -> tuple[SetCard, ...]:
    by_asset: dict[str, PinnedLedger] = {}
    for ledger in _card_ledgers(release, form):
        if kind_of(ledger.asset) is ATTRIBUTES:
            by_asset.setdefault(ledger.asset, ledger)
    return tuple(_set_card(ledger, catalogue, form) for ledger in by_asset.values())


def _set_card(ledger: PinnedLedger, catalogue: Catalogue, form: int | UnsetType) -> SetCard:
    name = names_in_asset_address(ledger.asset)["set"]
    behind = {kind_of(asset): asset for asset, _, _ in ledger.inputs}
    if MARKS in behind:
        dedupe = names_in_asset_address(behind[MARKS])["dedupe"]
        recipe = catalogue.dedupes.get(dedupe)
        return SetCard(
            ledger.asset, "duplicates", recipe.description if recipe else "", (RESOLUTION.at(dedupe=dedupe),)
        )
    tagger = catalogue.taggers.get(name)
    models = tuple(sorted(asset for asset, _, _ in ledger.inputs if kind_of(asset) is MODEL))
    words = tagger.description if tagger else ""
    if form and name.startswith(CARRIED):
        before = [each for each, _, _ in ledger.inputs if each.endswith(f"/{name.removeprefix(CARRIED)}")]
        return SetCard(ledger.asset, "carried", words, tuple(before))
    if form and RAW in behind:
        return SetCard(ledger.asset, "adopted", words, ())
    overlaps = form and OVERLAPS in msgspec.json.decode(ledger.recipe["parameters"])
    return SetCard(ledger.asset, "overlaps" if overlaps else "classifier" if models else "tagger", words, models)
