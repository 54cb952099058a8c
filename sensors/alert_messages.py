"""What is posted about a failure: an alert, and its message for a chat."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assets.support.next_steps import OF_MORE, OF_UNREADABLE
from gristmill.errors import escape_controls, shorten
from gristmill.lake.identity import digest_of

NAMED = 20
"""Most assets or kinds of alerts that a message names."""
_CALLS = str.maketrans({"<": "\u2039", ">": "\u203a", "@": "\uff20"})
"""What makes mentions and links in chats, and the similar characters that do not."""


@dataclass(frozen=True, kw_only=True)
class Alert:
    """What is posted, as JSON, besides `text`, `url`, `lake` and `silenced`.

    Attributes:
        event: `run_failure`, `check_failure`, `source_late`, `unreadable` (an event of Dagster that Gristmill cannot
            read), or `more`: the number of those without a message.
        run: id of the run; empty for `source_late`, as is the next.
        job: name of the run's job.
        assets: addresses of the assets that the run makes, or the one of the check; at most NAMED are posted.
        snapshot: the partition; empty without one.
        check: name of the check; empty for a run.
        error: description of what went wrong, in the words of the run or the check.
        next: advice on what to do next.
    """

    event: str
    run: str
    job: str
    assets: Sequence[str]
    snapshot: str
    check: str
    error: str
    next: str

    @property
    def topic(self) -> str:
        """The topic: alerts of one topic are posted once in GRISTMILL_WEBHOOK_SILENCE.

        Another snapshot is another topic, and so is another thing to do next.
        """
        what = self.check or self.job or "of"
        first = f" {self.assets[0]}" if self.assets else ""
        snapshot = f" ({self.snapshot})" if self.snapshot else ""
        number = digest_of([self.job, self.check, self.snapshot, self.next, *self.assets])[:16]
        return f"{self.event} {what}{first}{snapshot} #{number}"


@dataclass(frozen=True)
class Unposted:
    """The alerts of a topic that were not posted.

    Attributes:
        number: number of the alerts.
        run: id of the newest of their runs; empty if they have none.
        why: reason why they were not posted; empty if they were like one that was, or too many.
    """

    number: int
    run: str = ""
    why: str = ""

    def with_alert(self, run: str, why: str = "") -> "Unposted":
        """The alerts of both: these and another alert.

        Args:
            run: id of its run.
            why: reason why it was not posted.
        """
        return self.and_those(Unposted(1, run, why))

    def and_those(self, other: "Unposted") -> "Unposted":
        """The alerts of both: these and newer ones.

        Args:
            other: the newer ones.
        """
        return Unposted(self.number + other.number, other.run or self.run, other.why or self.why)


NOTHING = Unposted(0)


def message_of(alert: Alert, ui: str, left_out: int, lake: str) -> dict[str, Any]:
    """The message of an alert.

    Args:
        alert: the alert.
        ui: address of the UI; empty: no link.
        left_out: number of alerts of its topic that were left out since the last message.
        lake: its address: several deployments may post to one channel.
    """
    page = f"runs/{alert.run}" if alert.run else f"assets/{alert.assets[0]}"
    url = f"{ui}/{page}" if ui else ""
    what = _what(alert)
    lines = [f"{what}: {escape_for_chat(alert.error)}", f"Next: {alert.next}"]
    if left_out:
        lines.append(f"{left_out} more like it since the last message")
    lines += [f"Lake: {lake}", *([url] if url else [])]
    assets = list(alert.assets[:NAMED])
    return {**asdict(alert), "assets": assets, "text": "\n".join(lines), "url": url, "lake": lake, "silenced": left_out}


def message_of_more(left: Mapping[str, Unposted], ui: str, lake: str) -> dict[str, Any]:
    """The message that counts alerts without a message of their own.

    Args:
        left: the alerts, by topic.
        ui: address of the UI; empty: no link.
        lake: its address.
    """
    named = [_counted(topic, each) for topic, each in list(left.items())[:NAMED]]
    named += [f"{len(left) - NAMED} other kinds"] if len(left) > NAMED else []
    error, url = "; ".join(named), f"{ui}/runs" if ui else ""
    number = sum(each.number for each in left.values())
    more = Alert(event="more", run="", job="", assets=(), snapshot="", check="", error=error, next=OF_MORE)
    text = "\n".join([f"{number} more failed: {error}", f"Next: {OF_MORE}", f"Lake: {lake}", *([url] if url else [])])
    return {**asdict(more), "text": text, "url": url, "lake": lake, "silenced": number}


def _counted(topic: str, left: Unposted) -> str:
    run = f", run {left.run[:8]}" if left.run else ""
    return f"{escape_for_chat(topic.partition(' #')[0])}: {left.number}{run}{f' ({left.why})' if left.why else ''}"


def unreadable_alert(error: Exception, *, run: str = "", asset: str = "") -> Alert:
    """The bare alert for an event that cannot be read: it must not hold back those behind it.

    Args:
        error: exception that was raised when the event was read.
        run: id of the event's run; empty: the event has none.
        asset: address of the asset; empty: nobody knows it.
    """
    words = f"Gristmill could not read it ({type(error).__name__}: {shorten(str(error), 200)})"
    return Alert(
        event="unreadable",
        run=run,
        job="",
        assets=[asset] if asset else [],
        snapshot="",
        check="",
        error=escape_controls(words),
        next=OF_UNREADABLE,
    )


def _what(alert: Alert) -> str:
    """The subject of a message: what failed, and of which snapshot."""
    if alert.event == "unreadable":
        return f"an event of run {alert.run[:8]}" if alert.run else f"an event of {alert.assets[0]}"
    if alert.event == "source_late":
        return f"{alert.assets[0]} is late"
    snapshot = f" ({escape_for_chat(alert.snapshot)})" if alert.snapshot else ""
    return (
        f"{alert.check} of {alert.assets[0]}{snapshot} failed" if alert.check else f"{_named(alert)}{snapshot} failed"
    )


def _named(alert: Alert) -> str:
    """The job of a run. If it is the one that Dagster has for all assets, the assets say more."""
    if not alert.job.startswith("__") or not alert.assets:
        return alert.job
    more = f" and {len(alert.assets) - 1} more" if len(alert.assets) > 1 else ""
    return f"a run of {alert.assets[0]}{more}"


def escape_for_chat(words: str) -> str:
    r"""The words of the data for a chat: they call nobody, show no picture, and make no link with other words.

    >>> ascii(escape_for_chat("<!channel> @here ![x](http://a)"))
    "'\\u2039!channel\\u203a \\uff20here ![x] (http://a)'"
    """
    return words.translate(_CALLS).replace("](", "] (")
