"""What is said of a pinned report: which it is, what is worse than it, and what could not be compared."""

from collections.abc import Iterator

from gate.comparison import Anchor, Drop
from gate.render import number
from gate.render.escape import Sentence, say
from gate.render.wording import probe_name, short_commit


def named(anchor: Anchor) -> Sentence:
    """Return which report it is, and that it decides nothing."""
    sha = short_commit(anchor.commit)
    at = say(" at {}", sha) if sha else say("")
    return say("{}{}; only shown, blocks nothing", anchor.name, at)


def told(anchor: Anchor) -> Iterator[Sentence]:
    """Yield what was found, a line in any case; then what is worse, and what was not compared."""
    if not anchor.problem.strip() and anchor.compared:
        worse = say("{} worse", len(anchor.worse)) if anchor.worse else say("nothing is worse")
        yield say("{}: {} of its {} compared", worse, anchor.compared, number.many(anchor.probes, "probe"))
        yield from map(_drop, anchor.worse)
    yield from _gaps(anchor)


def drift_warning(anchor: Anchor) -> Sentence | None:
    """Return what was not compared, in a line for the log; None where everything was."""
    gaps = list(_gaps(anchor))
    more = say(" (and {} more)", len(gaps) - 1) if len(gaps) > 1 else say("")
    return say("anchor {}: {}{}", anchor.name, gaps[0], more) if gaps else None


def _drop(drop: Drop) -> Sentence:
    name = say("{} · {}", drop.experiment, probe_name(drop.probe, drop.label, drop.phase))
    counts = say("{} → {}", number.counts(drop.anchor), number.counts(drop.head))
    return say("{} — {}, p {}", name, counts, number.p_value(drop.p_value))


def _gaps(anchor: Anchor) -> Iterator[Sentence]:
    """Yield what was not compared, and why."""
    if anchor.problem.strip():
        yield say("nothing is compared with it: {}", anchor.problem)
    elif not anchor.compared:
        yield say("none of its probes can be compared")
    for name in anchor.changed:
        yield say("{} is not compared: its definition is another one now", name)
