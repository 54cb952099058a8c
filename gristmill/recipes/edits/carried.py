"""The names of carried sets: attribute sets of a version whose spans come from the version before."""

CARRIED = "carried-"
"""The name of a carried set is this, and the name of the set that it comes from. No tagger has such a name."""


def carried_name(name: str) -> str:
    """The name of the set that has the carried spans of a set.

    >>> carried_name("pii-1")
    'carried-pii-1'
    """
    return CARRIED + name


def original_set_name(name: str) -> str:
    """The name of the set that a tagger or another maker wrote, whichever number of versions it was carried over.

    >>> original_set_name("carried-carried-pii-1"), original_set_name("pii-1")
    ('pii-1', 'pii-1')
    """
    while name.startswith(CARRIED):
        name = name.removeprefix(CARRIED)
    return name
