"""How rows were decided, in words: by which test, and what running base and head again has shown."""

from gate.comparison import Comparison, Row, Side
from gate.policy import Policy
from gate.render import number
from gate.render.escape import Sentence, say
from gate.render.wording import improved, name, short_commit, spend


def decided_by(comparison: Comparison) -> Sentence:
    """Return by which test the rows were decided, and what a PASS promises."""
    if comparison.base is None:
        return say("Nothing was compared.")
    again = sum(r.decided_by == "confirmation" for r in comparison.rows)
    sequential = sum(r.decided_by == "sequential" for r in comparison.rows)
    if sequential:
        few = comparison.model_copy(update={"rows": [r for r in comparison.rows if r.decided_by != "sequential"]})
        return say(
            "{} {} by a sequential test of its threshold, not against a base.",
            decided_by(few),
            number.many(sequential, "probe"),
        )
    tested = [r for r in comparison.rows if r.decided_by and r.decided_by != "confirmation"]
    if not tested and not again:
        return say("No probe could be tested against a base.")
    alpha = number.level(comparison.policy.alpha)
    if again:
        how = say(
            "by running {} again for {}, exact tests on the fresh counts, Holm, to alpha {}",
            _both(comparison.confirmed_with),
            number.many(again, "probe"),
            alpha,
        )
        if tested:
            how = say("{}; {} by the first look", how, number.many(len(tested), "probe"))
    elif all(r.decided_by == "exact_test" for r in tested):
        each = say(" for each of {} probes", len(tested)) if len(tested) > 1 else say("")
        how = say("by a single one-sided exact test at alpha {}{}", alpha, each)
    else:
        how = say(
            "by one-sided exact tests, {} corrected together (step-down) to alpha {}",
            number.many(len(tested), "probe"),
            alpha,
        )
    if more := sum(r.first_look is not None for r in tested):
        how = say("{}; {} had more runs, as planned for what stays open", how, number.many(more, "probe"))
    return say("Decided {}. {}", how, promise(comparison.policy))


def _both(side: Side | None) -> Sentence:
    """Return which base ran beside head, and what both took."""
    if side is None:
        return say("base and head")
    sha = short_commit(side.commit)
    name = say("base {}", sha) if sha else say("base")
    return say("{} and head ({})", name, spend(side))


def promise(policy: Policy) -> Sentence:
    """Return how often a PASS may be wrong."""
    return say(
        "A PASS misses a drop of {} at most {} of the time.",
        number.points(policy.min_effect),
        number.share(policy.beta),
    )


def confirmed(rows: list[Row]) -> Sentence | None:
    """Return how many of these rows were seen again when base and head were run again; None for none."""
    again = sum(row.screen is not None for row in rows)
    if not again:
        return None
    text = say("confirmed by running base and head again")
    return text if again == len(rows) else say("{} of {} {}", again, len(rows), text)


def not_reproduced(row: Row) -> Sentence:
    """Return the counts of both looks at a probe that looked worse only once."""
    screen = row.screen
    if screen is None:
        return improved(row)
    first = say("first {}, base {}", number.counts(screen.head), number.counts(screen.base))
    return say("{} — {}; run again {}, base {}", name(row), first, number.counts(row.head), number.counts(row.base))
