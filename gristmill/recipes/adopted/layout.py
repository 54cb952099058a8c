"""Dolma's layout: which version, attribute set and snapshot a file at an adopted root belongs to."""

from dataclasses import dataclass

from gristmill.recipes.raw_rules import Everything, Folders, Matching


@dataclass(frozen=True, slots=True)
class OrAll:
    """A rule of snapshots; objects that it puts into no snapshot are in the snapshot `all`.

    Attributes:
        rule: the rule of the others.
    """

    rule: Folders | Matching | Everything

    def split(self, name: str) -> tuple[str, str]:
        """The snapshot of an object; see Folders.

        >>> OrAll(Folders()).split("a.jsonl"), OrAll(Folders()).split("2024/a.jsonl")
        (('all', 'a.jsonl'), ('2024', '2024/a.jsonl'))
        """
        return self.rule.split(name) or ("all", name)

    def prefix(self, snapshot: str) -> str:
        """The prefix of all names of a snapshot's objects; empty without one."""
        return "" if snapshot == "all" else self.rule.prefix(snapshot)


@dataclass(frozen=True, slots=True)
class DolmaLayout:
    """Objects in `documents/` and `attributes/<set>/`, below the folder of a version if there are several.

    Attributes:
        rule: the snapshot of an object, by its name below `documents/` or its set.
        folders: the versions that have a folder each; empty: the layout begins at the root.
    """

    rule: OrAll
    folders: tuple[str, ...] = ()

    def parts(self, name: str) -> tuple[str, str, str] | None:
        """The version's folder, the attribute set and the name below it; None if the object is outside of the layout.

        >>> DolmaLayout(OrAll(Everything())).parts("attributes/pii/000.json.gz")
        ('', 'pii', '000.json.gz')
        """
        version, rest = "", name
        if self.folders:
            version, _, rest = name.partition("/")
            if version not in self.folders:
                return None
        top, _, rest = rest.partition("/")
        name_of_set = ""
        if top == "attributes":
            name_of_set, _, rest = rest.partition("/")
        return (version, name_of_set, rest) if rest and (top == "documents" or name_of_set) else None

    def split(self, name: str) -> tuple[str, str] | None:
        """The snapshot of an object; see Folders."""
        parts = self.parts(name)
        return (self.rule.split(parts[2])[0], name) if parts else None

    def prefix(self, snapshot: str) -> str:  # noqa: ARG002 - the same shape as Folders
        """No prefix: a snapshot has objects in several folders."""
        return ""


Partition = Folders | Matching | Everything | OrAll | DolmaLayout
"""The rules of `Source.partition`. The last two are made by gristmill itself."""
