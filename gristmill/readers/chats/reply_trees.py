"""Reads conversation trees in the form of OpenAssistant's exports: a prompt and its nested replies in each line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.readers.chats.json_rows import json_rows
from gristmill.readers.parts.units import cut_by
from gristmill.readers.records import conversation_text
from gristmill.readers.text import Unfit
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds

ROLES = {"prompter": "user", "assistant": "assistant"}
"""The roles of OpenAssistant, and those of OpenAI's form."""
_LAST = 1 << 62

Message = dict[str, Any]
Path = tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class ReplyTrees(Reader):
    """Reads each path from a tree's prompt to a last reply as one conversation. Use it as the `convert` of a source.

    The id is the `message_id` of the last message. Metadata are `messages` in OpenAI's form, `message_ids`,
    `message_tree_id`, `tree_state`, `language`, and the last message's `rank`, if it has one. `created` is its
    `created_date`, if it has one. The text is the conversation as people read it.

    Messages that are marked as deleted are left out with their replies, and counted.

    Attributes:
        source: name of the source, which is the source of every document.
        paths: `all`, or `best`: one conversation for each tree, which takes the best-ranked reply each time. The best
            rank is the lowest number. Replies without a rank come last, in the order of the tree.
        end: `assistant`: a path ends with its last answer, and replies of the prompter behind it are left out. A tree
            without an answer is left out and counted. `any`: a path ends with a message that has no replies.
    """

    source: str
    paths: Literal["all", "best"] = "all"
    end: Literal["assistant", "any"] = "assistant"

    def __post_init__(self) -> None:
        check_types(self, f"ReplyTrees of source {self.source!r}")

    def row_ids(self) -> RowIds:
        return RowIds("field", "message_id")

    def cut_by(self, name: str) -> str:
        """The units at which an object of this name is cut, such as `lines`; empty if it is never cut. See Split."""
        return cut_by(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields the conversations of each tree. See gristmill.recipes.source.Source.convert."""
        for row in json_rows(raw):
            if isinstance(row, Refused):
                yield row
                continue
            span = raw.raw_span
            try:
                made = list(self._convert_tree(row.fields))
            except Unfit as unfit:
                yield row.refused(unfit.reason, unfit.detail)
                continue
            for each in made:
                raw.raw_span = span
                yield each

    def _convert_tree(self, tree: Message) -> Iterator[Document | LeftOut]:
        prompt = tree.get("prompt")
        if not isinstance(prompt, dict):
            raise Unfit("no field 'prompt'", f"the row has: {', '.join(tree)}"[:200])
        found, deleted = _conversation_paths(prompt, best=self.paths == "best")
        if deleted:
            yield LeftOut("deleted message", deleted)
        if self.end == "assistant":
            found = _longest_paths([path for path in map(_cut_after_answer, found) if path])
        if not found:
            yield LeftOut("tree without an answer")
        for path in found:
            yield self._path_document(tree, path)

    def _path_document(self, tree: Message, path: Path) -> Document:
        messages = [{"role": ROLES[each["role"]], "content": each["text"]} for each in path]
        last = path[-1]
        metadata: Message = {
            "messages": messages,
            "message_ids": [each["message_id"] for each in path],
            "message_tree_id": tree.get("message_tree_id"),
            "tree_state": tree.get("tree_state"),
            "language": path[0].get("lang"),
            "rank": last.get("rank"),
        }
        created = last.get("created_date")
        return Document(
            id=last["message_id"],
            text=conversation_text(messages),
            source=self.source,
            created=created if isinstance(created, str) else UNSET,
            metadata={key: value for key, value in metadata.items() if value is not None},
        )


def _conversation_paths(prompt: Message, *, best: bool) -> tuple[list[Path], int]:
    """The paths from the prompt to messages without replies, in the order of the tree, and how many were deleted."""
    found: list[Path] = []
    seen: set[str] = set()
    ahead: list[tuple[Path, Message]] = [] if _is_deleted(prompt) else [((), prompt)]
    deleted = 1 - len(ahead)
    while ahead:
        before, message = ahead.pop()
        _check_message(message, seen)
        path = (*before, message)
        replies = message.get("replies") or []
        if not isinstance(replies, list):
            raise Unfit("malformed message", f"message {message['message_id']!r}: replies is no list")
        kept = [reply for reply in replies if not _is_deleted(reply)]
        deleted += len(replies) - len(kept)
        if best:
            kept = sorted(kept, key=_reply_rank)[:1]
        if not kept:
            found.append(path)
        ahead += [(path, reply) for reply in reversed(kept)]
    return found, deleted


def _is_deleted(message: object) -> bool:
    if not isinstance(message, dict):
        raise Unfit("malformed message", f"a message is {message!r:.80}, not an object")
    return message.get("deleted") is True


def _reply_rank(reply: Message) -> int:
    rank = reply.get("rank")
    return rank if isinstance(rank, int) else _LAST


def _longest_paths(paths: list[Path]) -> list[Path]:
    """The paths that are not the beginning of another one, each once."""
    inner = {message["message_id"] for path in paths for message in path[:-1]}
    return list({path[-1]["message_id"]: path for path in paths if path[-1]["message_id"] not in inner}.values())


def _cut_after_answer(path: Path) -> Path:
    """The path up to its last message of the assistant; empty without one."""
    end = len(path)
    while end and path[end - 1]["role"] != "assistant":
        end -= 1
    return path[:end]


def _check_message(message: Message, seen: set[str]) -> None:
    """Checks that a message has an id of its own, a text and a known role."""
    for key in ("message_id", "text", "role"):
        if not isinstance(message.get(key), str) or (key == "message_id" and not message[key]):
            raise Unfit("malformed message", f"message {message.get('message_id')!r}: {key} is no string")
    if message["role"] not in ROLES:
        raise Unfit("unknown role", f"message {message['message_id']!r}: {message['role']!r:.80}")
    if message["message_id"] in seen:
        raise Unfit("message id twice", repr(message["message_id"]))
    seen.add(message["message_id"])
