"""Dataset folders as the Hugging Face Hub holds them.

Source: "Structure your repository" and "Data files configuration" of the Hub's documentation. The data files of a split
lie in `data/`, at the top or in a folder of the configuration's name; their names begin with the split and may count
the parts: `data/train-00000-of-00003.parquet`. The card is `README.md`.
"""

import re

from gristmill.errors import RecipeError

_DATA = r"\.(?:parquet|jsonl?(?:\.(?:gz|zst|bz2|xz))?|csv(?:\.gz)?|tsv(?:\.gz)?|txt(?:\.gz)?)"


def data_files(*splits: str, config: str | None = None) -> str:
    r"""A pattern for the data files of a dataset's folder, for the `select` of a source. The card is left out.

    Args:
        splits: such as "train" or "test"; without any, all files of data.
        config: the configuration, whose folder holds the files; None: `data/`, the top, or any folder.

    Raises:
        RecipeError: a split or the configuration is empty, or holds a slash.

    >>> names = ["README.md", "data/train-00000-of-00003.parquet", "data/test-00000-of-00001.parquet", "en/train.jsonl"]
    >>> [name for name in names if re.search(data_files("train"), name)]
    ['data/train-00000-of-00003.parquet', 'en/train.jsonl']
    >>> [name for name in names if re.search(data_files("train", config="en"), name)]
    ['en/train.jsonl']
    """
    for name in (*splits, *([] if config is None else [config])):
        if not isinstance(name, str) or not name or "/" in name:
            raise RecipeError(f"data_files: {name!r} is no name of a split or configuration, such as 'train'")
    folder = r"(?:^|/)" if config is None else rf"(?:^|/){re.escape(config)}/"
    if not splits:
        return rf"{folder}(?:[^/]+/)*(?!dataset_infos?\.json$)[^/]+{_DATA}$"
    either = "|".join(map(re.escape, splits))
    return rf"{folder}(?:(?:{either})(?:[-_.][^/]*)?{_DATA}|(?:{either})/[^/]+{_DATA})$"
