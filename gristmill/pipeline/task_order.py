"""The order of tasks: what a task reads comes before it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gristmill.errors import RecipeError
from gristmill.execution.step import Step
from gristmill.pipeline.tasks import FolderTask, ResolutionTask
from gristmill.stages.tagging.step import TaggingStep

Node = tuple[str, str]
"""An asset and a snapshot. The snapshot is empty for what has no partitions."""
Made = Step | FolderTask | ResolutionTask
"""What the order holds."""


@dataclass(eq=False)
class OrderedTask:
    """A task, with what it makes and reads.

    Attributes:
        task: the task.
        makes: the nodes that it makes.
        reads: the nodes that it reads. What no entry makes is there already, or is not asked for.
        beside: the parts of one tagging step, this one included.
        state: `waits`, `at work` while its inputs come, `passed`.
    """

    task: Made
    makes: tuple[Node, ...]
    reads: tuple[Node, ...]
    beside: Sequence["OrderedTask"] = ()
    state: str = "waits"


@dataclass
class TaskOrder:
    """Puts tasks in order. It follows what each task reads, so no task comes before its inputs.

    Attributes:
        steps: the steps of a snapshot of a source, in an order that people expect.
        source_of: name of the source of a partitioned asset; empty for other assets.
        others: the entries of resolutions, labelled sets and models, by address.
    """

    steps: Callable[[str, str], Iterable[Step]]
    source_of: Callable[[str], str]
    others: dict[str, OrderedTask]
    _entries: dict[tuple[str, str], list[OrderedTask]] = field(default_factory=dict)
    _makers: dict[Node, OrderedTask] = field(default_factory=dict)

    def snapshot(self, source: str, key: str) -> Iterator[Made]:
        """The tasks of a snapshot that have not come yet, each after its inputs of whatever source.

        Args:
            source: name of the source.
            key: key of the snapshot.

        Raises:
            RecipeError: something is made from itself.
        """
        for entry in self._tasks_of_snapshot(source, key):
            yield from self._visit_after_inputs(entry)

    def remaining_tasks(self) -> Iterator[Made]:
        """The resolutions, labelled sets and models that have not come yet, each after its inputs."""
        for entry in self.others.values():
            yield from self._visit_after_inputs(entry)

    def _visit_after_inputs(self, entry: OrderedTask) -> Iterator[Made]:
        if entry.state == "passed":
            return
        if entry.state == "at work":
            raise RecipeError(f"{entry.makes[0][0]} is made from itself, by the recipes of what it reads; change one")
        entry.state = "at work"
        yield from self._visit_inputs(entry)
        joined = [entry]
        for each in entry.beside:  # so that the documents are read once for all of them
            if each.state == "waits" and self._is_free(each):
                each.state = "at work"  # what needs it cannot be joined: it comes with the others, and not before
                joined.append(each)
                yield from self._visit_inputs(each)
        for each in joined:
            each.state = "passed"
        yield (
            entry.task
            if len(joined) == 1
            else _join_tagging_parts([each.task for each in entry.beside if each in joined])
        )

    def _visit_inputs(self, entry: OrderedTask) -> Iterator[Made]:
        for node in entry.reads:
            maker = self._task_making_node(node)
            if maker is not None:
                yield from self._visit_after_inputs(maker)

    def _is_free(self, entry: OrderedTask) -> bool:
        """Whether nothing that an entry is made from is at work."""
        todo, seen = [*entry.reads], set[Node]()
        while todo:
            maker = self._task_making_node(todo.pop())
            if maker is None or maker.state == "passed" or maker.makes[0] in seen:
                continue
            if maker.state == "at work":
                return False
            seen.add(maker.makes[0])
            todo += maker.reads
        return True

    def _task_making_node(self, node: Node) -> OrderedTask | None:
        asset, key = node
        if asset in self.others:
            return self.others[asset]
        source = self.source_of(asset)
        if source:
            self._tasks_of_snapshot(source, key)
        return self._makers.get(node)

    def _tasks_of_snapshot(self, source: str, key: str) -> list[OrderedTask]:
        if (source, key) not in self._entries:
            entries = [entry for step in self.steps(source, key) for entry in self._entries_of_step(step)]
            self._entries[source, key] = entries
            self._makers |= {node: entry for entry in entries for node in entry.makes}
        return self._entries[source, key]

    def _entries_of_step(self, step: Step) -> list[OrderedTask]:
        """The entry of a step. A tagging step has one for its sets without models, and one for each other set."""
        parts = [*step.split_by_inputs()] if isinstance(step, TaggingStep) else [step]
        entries = [self._entry_of_step(part) for part in parts]
        for entry in entries:
            entry.beside = entries
        return entries

    def _entry_of_step(self, step: Step) -> OrderedTask:
        makes = tuple((asset, step.snapshot) for asset in step.makes)
        reads = tuple((asset, step.snapshot if self.source_of(asset) else "") for asset in step.reads)
        return OrderedTask(step, makes, reads)


def _join_tagging_parts(parts: Iterable[Made]) -> TaggingStep:
    """Parts of one tagging step as one step."""
    steps = [part for part in parts if isinstance(part, TaggingStep)]
    return replace(steps[0], taggers=tuple(tagger for step in steps for tagger in step.taggers))
