"""Brings the files of a model into the lake, and looks at them first: they may be damaged, forged or pickled."""

import hashlib
from pathlib import Path

from gristmill.encoding.reference import load_reference
from gristmill.errors import RecipeError
from gristmill.formats.fasttext.layout import check_fasttext
from gristmill.lake.store.protocol import Store
from gristmill.recipes.models.model import Model
from gristmill.recipes.models.onnx_file import check_onnx

IN_LAKE = "lake:"
"""Prefix, in a recipe, of a path in the lake."""

LARGEST = 8 << 30
"""Bytes of the largest file that is brought: it is read as a whole."""

_PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_PACKED = (b"PK\x03\x04", b"\x93NUMPY")


def brought_files(store: Store, model: Model) -> dict[str, bytes]:
    """The files of a model that is brought.

    Args:
        store: the lake.
        model: the recipe; its `file` says where the files are.

    Returns:
        Bytes by file name.

    Raises:
        RecipeError: a file is missing or too large, does not have the sha256 of the recipe, or is not what the recipe
            says.
    """
    files: dict[str, bytes] = {}
    for name, sha256 in model.brought.items():
        where, data = _read_brought_file(store, model, name)
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise RecipeError(
                f"model {model.name!r}: {where} has sha256 {found}, the recipe says {sha256}; restore the file;"
                " or, if it is the right one, write its sha256 into the recipe, under the next number if the lake"
                " has the model already"
            )
        _check_model_header(model, name, where, data)
        files[name] = data
    return files


def _read_brought_file(store: Store, model: Model, name: str) -> tuple[str, bytes]:
    """Where a file is, and its bytes."""
    place = model.file or ""
    if place.startswith(IN_LAKE):
        path = place.removeprefix(IN_LAKE).strip("/") + (f"/{name}" if model.is_folder else "")
        entry = store.head(path)
        where, size = f"{store.url}/{path}", entry.size if entry else -1
    else:
        local = Path(place).expanduser().absolute()
        local = local / name if model.is_folder else local
        where, size = str(local), local.stat().st_size if local.is_file() else -1
    if size < 0:
        raise RecipeError(f"model {model.name!r}: no file {where}; mend file= of the recipe")
    if size > LARGEST:
        raise RecipeError(f"model {model.name!r}: {where} has {size:,} bytes, more than {LARGEST:,}; make it smaller")
    return where, store.read(path) if place.startswith(IN_LAKE) else local.read_bytes()


def _check_model_header(model: Model, name: str, where: str, data: bytes) -> None:
    """Checks the first bytes of a file; of a fastText model, all that its loader trusts.

    Raises:
        RecipeError: it is pickled, or is no fastText model.
    """
    what = f"model {model.name!r}: {where}"
    if data.startswith(_PICKLES) or (data.startswith(_PACKED) and (b".pkl" in data or data.startswith(b"\x93NUMPY"))):
        raise RecipeError(
            f"{what} is a pickled file by its first bytes, which may run any code when it is loaded; bring the model as"
            " fastText (.bin, .ftz) or ONNX (.onnx)"
        )
    if model.kind == "fasttext":
        check_fasttext(data, what)
    if model.kind == "tokenizer":
        _check_tokenizer(data, what)
    if model.kind == "onnx" and name.endswith(".onnx"):
        check_onnx(data, list(model.brought), what)


def _check_tokenizer(data: bytes, what: str) -> None:
    try:
        load_reference(data)
    except RecipeError as error:
        raise RecipeError(f"{what}: {error}") from error
