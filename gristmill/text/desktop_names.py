"""The names of files that desktops make by themselves."""

_DESKTOP = frozenset({".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx"})  # in lower case


def is_of_desktop(name: str) -> bool:
    """Whether Windows or macOS has put a file there by itself; the packers of both put such files into archives.

    >>> [is_of_desktop(name) for name in ("__MACOSX/a/._b.txt", "a/._b.txt", "a/.DS_Store", "a/Thumbs.db", ".github/a")]
    [True, True, True, True, False]
    """
    return "/._" in f"/{name}" or not _DESKTOP.isdisjoint(name.lower().split("/"))
