"""The data card of a release as Markdown, for people."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gristmill.errors import escape_controls
from gristmill.releases.card import DataCard, StepCard, StreamCard
from gristmill.releases.training_card import TrainingCard


def card_text(card: DataCard) -> str:
    """The card as Markdown. Words of recipes cannot break its tables.

    Args:
        card: the card.
    """
    return "\n".join(_card_lines(card)) + "\n"


def _card_lines(card: DataCard) -> Iterator[str]:
    yield f"# {_as_cell(card.name)}"
    yield ""
    yield (
        f"{card.documents:,} documents of the mix `{card.mix}`, {card.tokens:,} tokens of the tokenizer"
        f" `{card.tokenizer}`. {_as_cell(card.description)}".rstrip()
    )
    yield ""
    held = sum(stream.validation_tokens for stream in card.streams)
    if held:
        yield f"{held:,} of the tokens are held out for validation."
        yield ""
    if card.owners:
        yield f"Owners: {', '.join(map(_as_cell, card.owners))}."
        yield ""
    yield "## Sources"
    yield ""
    yield from _markdown_table(
        ("stream", "source", "snapshots", "documents", "tokens", "share", "weight", "licence"),
        [_stream_table_row(stream, card.tokens) for stream in card.streams],
    )
    for stream in card.streams:
        told = [_as_cell(each) for each in (stream.description, stream.terms, stream.homepage) if each]
        if told:
            yield f"- **{stream.source}**: {' '.join(told)}"
    yield ""
    yield from _training_lines(card.training)
    yield "## Licences"
    yield ""
    yield from _token_table("licence", card.licences, card.tokens)
    if card.languages:
        yield "## Languages"
        yield ""
        yield from _token_table("language", card.languages, card.tokens)
    yield "## What was left out, and what was changed"
    yield ""
    for step in card.steps:
        yield from _step_lines(step)
    if card.sets:
        yield "## What the rules read"
        yield ""
        rows = [
            (f"`{each.asset}`", each.what, ", ".join(each.made_from), _as_cell(each.description)) for each in card.sets
        ]
        yield from _markdown_table(("attribute set", "kind" if card.form else "made by", "from", "description"), rows)
    yield "## Proof"
    yield ""
    yield f"- Tokenizer `{card.tokenizer}`: {card.tokenizer_sha256}"
    yield f"- Token cache: {card.fingerprint}. Equal fingerprints mean equal tokens."


def _token_table(what: str, counts: Mapping[str, int], whole: int) -> Iterator[str]:
    """A table of tokens by licence or language."""
    rows = [(_as_cell(name), f"{tokens:,}", _percentage(tokens, whole)) for name, tokens in counts.items()]
    yield from _markdown_table((what, "tokens", "share"), rows)


def _training_lines(card: TrainingCard | msgspec.UnsetType) -> Iterator[str]:
    """What the mix declares for training, and how training reads the streams."""
    if not card:
        return
    reading = card.reading
    yield "## Training"
    yield ""
    yield f"The mix declares: {_as_cell(card.declared)}."
    if reading.total is None:
        yield "How many tokens training reads is not known: documents are packed, and no sequence length is declared."
    elif reading.total_sequences is None:
        yield f"Training reads {reading.total:,} tokens."
    else:
        yield f"Training reads {reading.total:,} tokens in {reading.total_sequences:,} sequences."
    yield "The shares of other tables are of all tokens of the token cache, before they are packed into sequences."
    yield ""
    yield from _markdown_table(
        ("stream", "share of tokens", "share of sequences", "tokens read", "epochs"),
        [
            (
                each.stream,
                "-" if each.share is None else f"{each.share:.1%}",
                f"{each.drawn:.1%}",
                "-" if each.read is None else f"{each.read:,}",
                "-" if each.epochs is None else f"{each.epochs:.3g}",
            )
            for each in reading.streams
        ],
    )


def _stream_table_row(stream: StreamCard, tokens: int) -> tuple[str, ...]:
    snapshots = stream.snapshots
    shown = f"{len(snapshots)}, {snapshots[0]} to {snapshots[-1]}" if len(snapshots) > 2 else ", ".join(snapshots)
    return (
        stream.stream,
        f"{stream.source}/{stream.version}",
        shown,
        f"{stream.documents:,}",
        f"{stream.tokens:,}",
        _percentage(stream.tokens, tokens),
        f"{stream.weight:g}",
        _as_cell(stream.licence),
    )


def _step_lines(step: StepCard) -> Iterator[str]:
    total = step.kept + sum(each.rows for each in step.dropped)
    yield f"### `{step.asset}`"
    yield ""
    kept = f"{step.kept:,} of {total:,} rows were kept ({_percentage(step.kept, total)})"
    yield f"{kept}; {step.kept_changed:,} of these were changed." if step.kept_changed else f"{kept}."
    if step.changed:
        shown = ", ".join(f"{_as_cell(name)}: {rows:,}" for name, rows in step.changed.items())
        more = "" if step.kept_changed is msgspec.UNSET else " Rows that were dropped afterwards are counted too."
        yield f"Texts of rows were changed by {shown}.{more}"
    yield ""
    if step.dropped:
        rows = [
            (_as_cell(each.reason), f"{each.rows:,}", _as_code(each.where), _as_cell(each.because))
            for each in step.dropped
        ]
        yield from _markdown_table(("reason", "rows", "condition", "because"), rows)


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _as_cell(words: str) -> str:
    """Words on one line, without what would end a cell of a table or begin markup."""
    line = escape_controls(" ".join(words.split()))
    for character in "\\|<>`":
        line = line.replace(character, f"\\{character}")
    return line


def _as_code(words: str) -> str:
    """Words as code in a cell of a table; in code, nothing but a bar and a backtick has a meaning."""
    line = escape_controls(" ".join(words.split())).replace("|", "\\|")
    ticks = "``" if "`" in line else "`"
    return f"{ticks}{line}{ticks}" if line else ""


def _percentage(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
