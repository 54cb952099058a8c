"""`release [LAKE] MIX TOKENIZER NAME` pins what a training run uses, under a name: ledgers, objects, configuration.
`release diff [LAKE] A B` shows what differs between two releases. `release list [LAKE]` shows all of them.

A release never changes. `gc` keeps all that it names. Its data card and the trainer's configuration lie in
`releases/<name>/` of the lake. In a copied lake, the same words direct the configuration to the copy.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.address import cache_index, export_index
from gristmill.lake.asset_kinds import DOCUMENTS, MIX, TOKEN_CACHE, kind_of, ledger_of_asset, names_in_asset_address
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.shelf import known_recipe
from gristmill.releases.card import FORMS, data_card
from gristmill.releases.card_files import card_files, card_of_release
from gristmill.releases.difference import release_differences
from gristmill.releases.moved import redirect_release
from gristmill.releases.pinned import PinnedRelease, pinned_path, read_pinned, release_names
from gristmill.releases.pinning import pinned_release, train_weights, trainer_files, trainer_reading, write_release
from gristmill.releases.withdrawal import find_withdrawn

HELP = "pin what a training run uses under a name, with a data card; compare releases"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] MIX TOKENIZER NAME, or diff [LAKE] A B, or list [LAKE]",
        help="what is released, and the name of the release; before it the lake: -, s3://bucket/prefix, or a folder; by"
        " default that of the project or GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--export", action="append", default=[], metavar="NAME", help="an export that belongs to it")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Writes the release, or shows differences. Returns 0.

    Raises:
        RecipeError: the words have another form, no mix has the name, or a draft made a part of it.
        Unknown: the lake lacks a release that is compared.
        DataError: an index is missing, the lake has another release of this name, or a copied lake lacks an object of
            the release. Or a file of a release that is compared is lost or edited.
        StoreError: the lake does not answer.
    """
    words = list(arguments.words)
    verb = words[0] if words[0] in {"diff", "list"} else ""
    if verb:
        words.pop(0)
    wanted = {"diff": 2, "list": 0}.get(verb, 3)
    if len(words) not in {wanted, wanted + 1} or (len(words) == wanted and words and is_path(words[0])):
        raise RecipeError(
            f"{' '.join(arguments.words)}: give MIX TOKENIZER NAME, or diff A B, or list; the lake comes before names"
        )
    arguments.lake = words.pop(0) if len(words) > wanted else "-"
    store = lake_of_arguments(arguments).store()
    if verb == "list":
        _print_release_names(store)
    elif verb == "diff":
        withdrawn = find_withdrawn(store)
        for path in dict.fromkeys(map(pinned_path, words)):
            if path in withdrawn:
                print_line(f"note: {withdrawn[path]}")
        lines = release_differences(store, *(read_pinned(store, name) for name in words))
        for line in lines:
            print_line(line)
        if not lines:
            print_line(f"{words[0]} and {words[1]}: the same data, made and read in the same way")
    else:
        _write_release(store, arguments, *words)
    return 0


def _write_release(store: Store, arguments: Namespace, mix: str, tokenizer: str, name: str) -> None:
    if moved := redirect_release(store, name, mix, tokenizer, arguments.export):
        print_line(
            "the lake has this release already, and was copied from another lake; directed to this one:"
            f" {', '.join(moved)}"
        )
        return
    catalogue = read_catalogue(shelf_packages(arguments))
    known_recipe("mix", catalogue.mixes, mix, "release")
    if store.head(ledger_of_asset(cache_index(mix, tokenizer))) is None:  # what was made may have left the shelf since
        known_recipe("tokenizer", catalogue.tokenizers, tokenizer, "release")
    for export in arguments.export:
        if store.head(ledger_of_asset(export_index(mix, export))) is None:
            known_recipe("export", catalogue.exports, export, "release")
    release = pinned_release(store, name, mix, tokenizer, tuple(arguments.export))

    def check(tell: Say = lambda _: None) -> None:
        targets = read_targets(catalogue, [MIX.made_by.format(mix=mix)])
        planner = Planner(catalogue, shelf_packages(arguments), lake_of_arguments(arguments), targets)
        _check_finished(planner, release, arguments.export, tell)

    if store.head(pinned_path(name)) is None:  # a release that is there never changes, whatever came after it
        check(print_line)
    files = trainer_files(store, release)
    weights, reading = train_weights(files, release), trainer_reading(store, release)
    card = card_of_release(store, name, [data_card(release, catalogue, weights, reading, form) for form in FORMS])
    folder = f"{RELEASES}{name}"
    files |= card_files(store, release, card)
    written = write_release(store, release, files, check)  # raw data and lists may have changed meanwhile
    print_line(
        f"{folder}.json: {card.documents:,} documents, {card.tokens:,} tokens; {len(release.objects):,} objects pinned"
    )
    if f"{folder}.json" not in written:
        again = f"lost or edited, so written again: {', '.join(written)}" if written else "nothing was written"
        print_line(f"the lake has this release already; {again}")
    else:
        print_line(f"{folder}/card.md: the data card")
    print_line(f"{folder}/data.yaml: the configuration for Levanter")


def _check_finished(planner: Planner, release: PinnedRelease, exports: Sequence[str], tell: Say) -> None:
    """Checks that raw data, blocklists and recipes are still those that the release was made from.

    Its ledgers say nothing of these. A snapshot that was never made belongs to no release. That is told, and so are raw
    data that are not there and cannot be compared.

    Raises:
        DataError: `make` would make something of the release again or close one of its indexes anew, or cannot say so.
    """
    target = MIX.made_by.format(mix=release.mix)
    indexes = {cache_index(release.mix, release.tokenizer), *(export_index(release.mix, each) for each in exports)}
    pinned = {(ledger.asset, ledger.snapshot) for ledger in release.ledgers}
    sources = {names_in_asset_address(asset).get("source") for asset, _ in pinned}
    for prospect in planner.survey_all():
        asset, snapshot, state = prospect.asset, prospect.snapshot, prospect.state
        where, why = f"{asset} ({snapshot})" if snapshot else asset, "; ".join(prospect.why)
        ours = asset in indexes or (asset, snapshot) in pinned
        # What only follows is told by what it follows: that comes before it, and may be of a snapshot that is new.
        if ours and (state in {"make", "refused"} or (state == "wrong" and kind_of(asset) is not DOCUMENTS)):
            mend = f"; run `gristmill make` for {target} first" if state == "make" else ""
            raise DataError(f"{where}: is not up to date: {why}{mend}")
        if state in {"wait", "wrong"} and (ours or names_in_asset_address(asset).get("source") in sources):
            tell(f"note: {where}: {why}")
        elif state in {"make", "follow"} and not ours and _is_cache(asset, release.tokenizer):
            tell(f"note: {where}: {why}; so it is not in the release")


def _is_cache(asset: str, tokenizer: str) -> bool:
    """Whether an asset is a token cache of a tokenizer: a mix may have others, which the release has nothing of."""
    return kind_of(asset) is TOKEN_CACHE and names_in_asset_address(asset)["tokenizer"] == tokenizer


def _print_release_names(store: Store) -> None:
    names, withdrawn = release_names(store), find_withdrawn(store)
    for name in names:
        release = read_pinned(store, name)
        counts = f"{len(release.slices)} slices, {len(release.objects):,} objects"
        said = "; withdrawn: see gristmill verify" if pinned_path(name) in withdrawn else ""
        print_line(f"{name}: {release.mix}, {release.tokenizer}, {counts}{said}")
    if not names:
        print_line("the lake has no releases")
