"""The token cache of the lake of conversations, as a process: `python chat_step.py LAKE [FOLDER FIRST EACH]`.

It makes the cache and its index with a consolidated copy. With FOLDER it does that again and again, each time to a copy
of the lake there, in a child process. The child kills itself before one of its changes of the lake: before the change
of the number FIRST, then EACH changes later, until a child lives through all of its changes.
"""

import os
import signal
import sys
import traceback
import uuid
from pathlib import Path

from one_step import STORE_ERROR, Changes
from talklake import BYTES, TEMPLATE, mix_of
from testkit import SHELVES, SNAPSHOT, Mill, link

from gristmill.errors import StoreError
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Chat
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.token_cache.step import TokenCacheStep


def spelled() -> Mix:
    """Conversations, some of them held out, in two parts; the index makes the packing plans too."""
    return mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=2, validation=0.3, sequence_length=64)


def work(mill: Mill) -> None:
    """Makes the cache and the index."""
    mix = spelled()
    step = TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES)
    make(step, mill.lake, Inline(), uuid.uuid4().hex, mill.said.append)
    index_cache(mill.store, mix, BYTES, {"pages": mill.source()}, {"pages": [SNAPSHOT]}, consolidated=True)


def main(root: str, folder: str = "", first: str = "1", each: str = "1") -> int:
    """The exit code."""
    if not folder:
        try:
            work(Mill(Path(root)))
        except StoreError:
            traceback.print_exc()
            return STORE_ERROR
        return 0
    number, code = int(first) - int(each), -signal.SIGKILL
    while code == -signal.SIGKILL:
        number += int(each)
        code = _killed(link(Path(root), Path(folder) / f"killed-{number}"), number)
    return code


def _killed(root: Path, number: int) -> int:
    """The exit code of a child that should die before that change."""
    child = os.fork()
    if not child:
        Changes(str(root), number)
        work(Mill(root))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
