"""The rows of the raw data of this shelf, by snapshot."""

from collections.abc import Iterator
from typing import Any


def books(snapshot: str) -> Iterator[dict[str, Any]]:
    """Twenty pages: each fifth French, each seventh short, each eleventh loud."""
    for number in range(20):
        words = " ".join(f"word{number * k % 7}" for k in range(2 if number % 7 == 6 else 4 + number))
        text = f"Page {number} of {snapshot}, naïve: {words}"
        text = "STOP " + words.upper() if number % 11 == 10 else words if number % 7 == 6 else text
        metadata = {"language": "fr" if number % 5 == 4 else "en", "page": number}
        yield {"id": f"{snapshot}-{number}", "text": text, "source": "books", "metadata": metadata}


def talks(snapshot: str) -> Iterator[dict[str, Any]]:
    """Ten conversations; to the fourth nobody has answered."""
    for number in range(10):
        said = [("user", f"What happened in {snapshot}?"), ("assistant", f"{number} things."), ("user", "Thank you.")]
        messages = [{"role": role, "content": words} for role, words in (said[:1] if number == 3 else said)]
        yield {"id": f"talk-{number}", "text": "", "source": "talks", "metadata": {"messages": messages}}


def exams(snapshot: str) -> Iterator[dict[str, Any]]:
    """Ten rows of eight ids; the third is too short."""
    for number in range(10):
        length = 5 if number == 2 else 8
        metadata = {
            "ids": [(number * k) % 256 for k in range(length)],
            "weights": [0.5 * (k % 3) for k in range(length)],
        }
        yield {"id": f"{snapshot}-{number}", "text": "", "source": "exams", "metadata": metadata}
