"""Dataset folders as the Hugging Face Hub holds them: which files belong to a split.

Source: "File names and splits", "Manual configuration" and "Structure your repository" of the Hub's documentation.
Files `data/SPLIT-00000-of-00003.parquet` name their split. Else a word such as `train` or `dev` tells it, in the file's
name or in the name of a folder, with no letter around it. The card, `README.md`, may list the files instead.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gristmill.errors import RecipeError, known_names
from gristmill.readers.mapping.front_matter import split_front_matter
from gristmill.readers.text import Unfit

WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""The words that tell each split."""

_DATA = r"\.(?:parquet|jsonl|ndjson|json|csv|tsv|txt)(?:\.(?:gz|zst|bz2|xz))?$"
_NOT_DATA = r"(?:dataset_infos?|dataset_dict|config)\.json$"
_SHARD = r"-\d{5}-of-\d{5}[^/]*"
_AROUND = "[-._ 0-9]"
_SPECIAL = r"^(?!(?:.*/)?(?:\.|__))"
"""Hidden files and folders, and those that begin with two underscores, hold no data."""


def data_files(*splits: str, config: str | None = None, card: str | None = None) -> str:
    r"""A pattern for the data files of a dataset's folder, for the `select` of a source. The card is left out.

    A file `data/SPLIT-00000-of-00003.parquet` belongs to this split alone. Of other files, a word in the file's name
    goes before one in its folders. Where no name tells a split, the Hub takes all files as `train`; ask for
    `data_files()` then.

    Args:
        splits: such as "train" or "test"; without any, all files of data. `train`, `validation` and `test` have several
            words each: `dev` means `validation`.
        config: the configuration. Without a card, a folder of this name holds the files. None: any folder; of a card,
            its default configuration.
        card: the text of the dataset's README.md. If it lists files (`configs`, `data_files`), only these are taken.

    Raises:
        RecipeError: a split or the configuration is empty, or holds a slash; or the card does not have it.

    >>> names = ["README.md", "data/train-00000-of-00003.parquet", "data/test-00000-of-00001.parquet", "en/train.jsonl"]
    >>> [name for name in names if re.search(data_files("train"), name)]
    ['data/train-00000-of-00003.parquet', 'en/train.jsonl']
    >>> [name for name in names if re.search(data_files("train", config="en"), name)]
    ['en/train.jsonl']
    >>> card = "---\nconfigs:\n- config_name: en\n  data_files:\n  - split: train\n    path: en/*.jsonl\n---\n# Poems\n"
    >>> [name for name in names if re.search(data_files("train", card=card), name)]
    ['en/train.jsonl']
    """
    for name in (*splits, *([] if config is None else [config])):
        if not isinstance(name, str) or not name or "/" in name:
            raise RecipeError(f"data_files: {name!r} is no name of a split or configuration, such as 'train'")
    folder = "" if config is None else rf"(?=(?:.*/)?{re.escape(config)}/)"
    if card is not None and (listed := _card_configurations(card)):
        chosen = _choose_configuration(listed, config)
        if "data_files" in chosen:
            return _listed_files_pattern(chosen["data_files"], _folder_of_configuration(chosen), splits)
        folder = f"(?={re.escape(_folder_of_configuration(chosen))})"
    data = rf"(?!(?:.*/)?{_NOT_DATA})(?=.*{_DATA})"
    return _SPECIAL + folder + data + (_split_file_pattern(splits) if splits else "")


def _split_file_pattern(splits: Iterable[str]) -> str:
    """A pattern for the whole name of a file that belongs to one of the splits."""
    exact = "|".join(map(re.escape, splits))
    asked = "|".join(re.escape(word) for split in splits for word in _split_name_words(split))
    known = "|".join([asked, *(word for words in WORDS.values() for word in words)])
    before = rf"(?:[^/]*{_AROUND})?"
    sharded = rf"data/(?:{exact}){_SHARD}$"
    in_name = rf"{before}(?:{asked}){_AROUND}[^/]*$"
    in_folder = rf"{before}(?:{asked})(?:{_AROUND}[^/]*)?/(?:.*/)?(?!{before}(?:{known}){_AROUND})[^/]+$"
    return rf"(?:(?:.*/)?{sharded}|(?!(?:.*/)?data/[^/]+{_SHARD}$)(?:.*/)?(?:{in_name}|{in_folder}))"


def _split_name_words(split: str) -> tuple[str, ...]:
    return next((words for words in WORDS.values() if split in words), (split,))


def _card_configurations(card: str) -> list[dict[str, Any]]:
    """The configurations that a card lists."""
    try:
        matter, _ = split_front_matter(card)
    except Unfit as unfit:
        raise RecipeError(f"data_files: the card cannot be read: {unfit.reason} ({unfit.detail})") from unfit
    listed = matter.get("configs") or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise RecipeError("data_files: `configs` of the card is no list of configurations")
    return listed


def _choose_configuration(configs: list[dict[str, Any]], name: str | None) -> Mapping[str, Any]:
    """The configuration of this name, or the default one."""
    named = {str(each.get("config_name", "default")): each for each in configs}
    if name is None:
        marked = [each for each in configs if str(each.get("default")).lower() == "true"]
        default = [named["default"]] if "default" in named else []
        one = marked or default or (configs if len(configs) == 1 else [])
        if one:
            return one[0]
        raise RecipeError(f"data_files: the card has several configurations; give config=, one of {', '.join(named)}")
    if name not in named:
        raise RecipeError(f"data_files: the card has no configuration {name!r}; {known_names(name, named)}")
    return named[name]


def _folder_of_configuration(config: Mapping[str, Any]) -> str:
    folder = str(config.get("data_dir") or "").strip("/").removeprefix("./")
    return f"{folder}/" if folder not in {"", "."} else ""


def _listed_files_pattern(data_files: Any, folder: str, splits: tuple[str, ...]) -> str:
    """A pattern for the files that a card lists for these splits; without any, for all that it lists."""
    given = data_files if isinstance(data_files, list) else [data_files]
    by_split: dict[str, list[str]] = {}
    for each in given:
        split, paths = (each.get("split", "train"), each.get("path")) if isinstance(each, dict) else ("train", each)
        for path in paths if isinstance(paths, list) else [paths]:
            if not isinstance(path, str) or not path:
                raise RecipeError("data_files: an entry of `data_files` in the card has no path")
            by_split.setdefault(str(split), []).append(path)
    for split in splits:
        if split not in by_split:
            raise RecipeError(f"data_files: the card lists no split {split!r}; {known_names(split, by_split)}")
    paths = [path for split, paths in by_split.items() if not splits or split in splits for path in paths]
    return rf"{_SPECIAL}(?:{'|'.join(_glob_as_regex(folder + path.removeprefix('./')) for path in paths)})$"


_PIECES = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|[^*?\[]+|\[")


def _glob_as_regex(path: str) -> str:
    r"""A pattern for a path with `*`, `?`, `[...]` and `**`, as the Hub reads them: only `**` goes into folders.

    >>> [_glob_as_regex(path) for path in ("data/*.csv", "**/a.csv", "[a-c]?.txt")]
    ['data/[^/]*\\.csv', '(?:.*/)?a\\.csv', '[a-c][^/]\\.txt']
    """
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(signs.get(each) or _escape_glob_piece(each) for each in _PIECES.findall(path))


def _escape_glob_piece(piece: str) -> str:
    if piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
        inner = piece[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^/{inner[1:]}]" if inner.startswith(("!", "^")) else f"[{inner}]"
    return re.escape(piece)
