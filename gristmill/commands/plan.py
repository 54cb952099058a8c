"""`plan [LAKE] [TARGET ...]`: shows what would be made, and why. It reads ledgers and listings, and changes nothing.

Targets are those of `make`, which makes what this command shows. Exit codes: 0 if everything that can be made is
finished; 1 if something would be made, is refused or wrong, or was asked for by name and waits; 2 if the command could
not run. What waits for something that no command can make now, such as raw data, does not count by itself.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from gristmill.commands._shared.reading_lines import reading_lines
from gristmill.commands._shared.targets import (
    add_target_arguments,
    add_vanished_option,
    prospect_line,
    read_target_arguments,
)
from gristmill.commands._shared.terminal import add_bucket_options, add_shelves_option, lake_of_arguments, print_line
from gristmill.errors import DataError, RecipeError
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.due_sets import DueSets
from gristmill.pipeline.estimate import Estimate, Estimator
from gristmill.pipeline.expected_tokens import NoSlice, expected_tokens
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.tasks import FolderTask, IndexTask, ResolutionTask, TokenizerTask
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.shelf import known_recipe
from gristmill.reports.sizes import number_and_noun, size_in_words

HELP = "show what would be made, and why; exit code 1 if there is anything"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_target_arguments(parser)
    add_vanished_option(parser)
    add_bucket_options(parser)
    parser.add_argument("--source", help="show only partitions that are made from this source")
    parser.add_argument("--mix", help="show only the slices, token caches and indexes of this mix")
    parser.add_argument("--all", action="store_true", help="list the finished partitions too")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Shows a line for each partition, tokenizer and index that is not finished. Returns the exit code.

    Raises:
        RecipeError: there is no such target on the shelves, the lake holds nothing of it, or no such snapshot.
        DataError: the snapshot's key is wrong.
        StoreError: the lake does not answer: try again.
    """
    shelves, catalogue, targets = read_target_arguments(arguments)
    for kind, shelf in (("source", catalogue.sources), ("mix", catalogue.mixes)):
        if getattr(arguments, kind):
            known_recipe(kind, shelf, getattr(arguments, kind), f"--{kind}")
    planner = Planner(catalogue, shelves, lake_of_arguments(arguments), targets, arguments.vanished)
    planner.check_something()
    return show_plan(planner, catalogue, lambda prospect: _is_chosen(arguments, catalogue, prospect), arguments)


def _is_chosen(arguments: Namespace, catalogue: Catalogue, prospect: Prospect) -> bool:
    """Whether --source and --mix let a partition be shown. An index and a tokenizer are of no source."""
    names = names_in_asset_address(prospect.asset)
    source = names.get("source") or dict(catalogue.partitioned_assets()).get(prospect.asset)
    return arguments.source in {None, source} and arguments.mix in {None, names.get("mix")}


def show_plan(planner: Planner, catalogue: Catalogue, chosen: Callable[[Prospect], bool], arguments: Namespace) -> int:
    """Shows a line for each partition that is not finished, how many are in each state, and how training reads mixes.

    Args:
        planner: planner of the targets that were asked for.
        catalogue: the recipes.
        chosen: whether a partition is shown and counted.
        arguments: `all`: show finished ones too; `json`: one JSON object per line.

    Returns:
        1 if something would be made, is refused or wrong, or was asked for by name and waits; else 0.

    Raises:
        RecipeError: the lake has nothing of what was chosen.
    """
    states: Counter[str] = Counter()
    code, due, mixes = 0, DueSets(), set[str]()
    for prospect in filter(chosen, planner.survey_all()):
        states[prospect.state] += 1
        due.add(prospect)
        if prospect.state != "finished" and (prospect.state != "wait" or planner.was_named(prospect)):
            code = 1
        if arguments.json:
            print_line(msgspec.json.encode(prospect).decode())
        elif arguments.all or prospect.state != "finished" or prospect.why:
            print_line(prospect_line(prospect))
            mixes.add(names_in_asset_address(prospect.asset).get("mix", ""))
    if not states:
        raise RecipeError("neither raw data nor ledgers of these sources; check the lake and --shelves")
    if not arguments.json:
        for line in (*due.lines(), *(f"note: {note}" for note in planner.notes)):
            print_line(line)
        total = number_and_noun(sum(states.values()), "partition")
        print_line(f"{total}: {', '.join(f'{n} {s}' for s, n in states.items())}")
        for mix in (catalogue.mixes[name] for name in sorted(mixes & catalogue.mixes.keys())):
            for line in _reading_lines(lake_of_arguments(arguments).store(), catalogue, mix):
                print_line(line)
    return code


def _reading_lines(store: Store, catalogue: Catalogue, mix: Mix) -> Iterator[str]:
    """How training would read a mix whose shares or budget are solved from tokens."""
    if not mix.solves_token_shares:
        return
    try:
        for each in expected_tokens(store, catalogue, mix):
            yield from reading_lines(each.title, mix, each.reading)
    except NoSlice:
        yield f"mix {mix.name}: how training reads its streams is not known before a slice of it is finished"
    except (DataError, RecipeError) as error:
        yield f"mix {mix.name}: {error}"


def show_estimate(planner: Planner, estimator: Estimator) -> int:
    """Shows what would be made for each kind of asset: bytes to read and to write, new bytes, and CPU hours.

    Returns:
        1 if something would be made, else 0.
    """
    trained = 0
    for task in planner.tasks():
        prospects = planner.survey_task(task)
        match task:
            case TokenizerTask() | FolderTask():
                trained += prospects[0].state in {"make", "follow"}
            case IndexTask() | ResolutionTask():
                pass
            case _:
                estimator.add(task, prospects)
    for estimate in estimator.estimates.values():
        print_line(_estimate_line(estimate))
    if trained:
        print_line(f"{number_and_noun(trained, 'tokenizer or model')}: not measured")
    total = estimator.total_estimate()
    if total.partitions:
        print_line(_estimate_line(total))
    return 1 if total.partitions or trained else 0


def _estimate_line(estimate: Estimate) -> str:
    """A line of an estimate."""
    which = f"{estimate.kind}: {number_and_noun(estimate.partitions, 'partition')}"
    read, written, new = (size_in_words(round(value)) for value in (estimate.read, estimate.written, estimate.new))
    if estimate.unknown == estimate.partitions:
        return f"{which}, bytes to read not known before the inputs are made; not measured yet"
    if estimate.unknown:
        read = f"at least {read}"
    if estimate.unmeasured == estimate.partitions:
        return f"{which}, {read} to read; not measured yet"
    some = f" ({estimate.unmeasured} not measured yet)" if estimate.unmeasured else ""
    return f"{which}{some}, {read} to read, {written} to write, {new} new, {estimate.cpu / 3600:.2f} CPU hours"
