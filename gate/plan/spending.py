"""What runs take: as those of the base did, at given prices. What nobody knows stays unknown."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from gate.errors import UsageError
from gate.plan.model import Cost
from gate.prices import Price, Prices, UnpricedError, cost
from gate.report import ExperimentReport, ModelUsage, Phase, PhaseReport, Report


def parse_price(text: str) -> tuple[str, Price]:
    """Return the glob of models and the price that `MODEL=IN/OUT` states, in USD for a million tokens.

    Raises:
        UsageError: not of that form, or not a finite price of 0 or more.
    """
    model, _, prices = text.rpartition("=")
    entered, _, left = prices.partition("/")
    try:
        price = Price(input=float(entered), output=float(left))
    except ValueError:
        price = None
    if price is None or not model.strip():
        fix = "write MODEL=IN/OUT in USD for a million tokens, such as gpt-4o*=2.50/10"
        raise UsageError(f"not a price: {text!r}", where="--price", fix=fix)
    return model.strip(), price


@dataclass(frozen=True)
class _PerRun:
    """What one run takes on average; None where nobody knows."""

    model_calls: float | None = None
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None

    def times(self, runs: float) -> "_PerRun":
        """Return what so many runs take."""
        return _PerRun(*(None if one is None else one * runs for one in astuple(self)))

    def or_else(self, other: "_PerRun") -> "_PerRun":
        """Return these figures, the absent ones taken from another."""
        return _PerRun(*(a if a is not None else b for a, b in zip(astuple(self), astuple(other), strict=True)))


class Spending:
    """What the runs of one experiment will take: as its phase did in the base, else the experiment, else the suite."""

    def __init__(self, experiment: ExperimentReport | None, base: Report | None, prices: Prices, parallel: int) -> None:
        every = [phase for e in base.experiments for phase in e.phases] if base else []
        self.prices, self.parallel = prices, parallel
        self.models_are_seen = any(phase.model_calls for phase in every)
        self.own = list(experiment.phases) if experiment else []
        self.suite = self._average(every)
        if base is not None and base.spend.runs:
            spend, runs = base.spend, base.spend.runs
            self.suite = self.suite.or_else(
                _PerRun(
                    model_calls=spend.model_calls / runs if spend.model_calls else None,
                    tokens=spend.tokens / runs if spend.tokens else None,
                    usd=spend.usd / runs if spend.usd is not None and not prices else None,
                    seconds=None if spend.seconds is None else spend.seconds / runs,
                )
            )

    def of(self, runs: Mapping[Phase, float]) -> dict[Cost, Any]:
        """Return the totals of phases with so many runs, under the names of `PlannedExperiment`."""
        each = [
            self._average([p for p in self.own if p.phase == phase])
            .or_else(self._average(self.own))
            .or_else(self.suite)
            .times(count)
            for phase, count in runs.items()
        ]
        calls, tokens, usd, seconds = (_sum(column) for column in zip(*map(astuple, each), strict=True))
        return {
            "model_calls": None if calls is None else math.ceil(round(calls, 6)),
            "tokens": None if tokens is None else math.ceil(round(tokens, 6)),
            "usd": usd,
            "minutes": None if seconds is None else seconds / self.parallel / 60,
        }

    def _average(self, phases: Sequence[PhaseReport]) -> _PerRun:
        phases = [p for p in phases if p.runs]
        runs = sum(len(p.runs) for p in phases)
        if not runs:
            return _PerRun()
        seconds = _sum(p.seconds for p in phases)
        calls = _sum(p.model_calls for p in phases)
        usage = [one for p in phases for one in p.usage or []]
        # No call seen anywhere means that nobody looked; a response that does not tell its tokens leaves the sum open.
        known = bool(calls) or (calls == 0 and self.models_are_seen)
        complete = known and calls is not None and sum(u.responses for u in usage) >= calls
        usd = _sum(self._cost(u) for u in usage) if complete else None
        return _PerRun(
            model_calls=calls / runs if known and calls is not None else None,
            tokens=sum(u.input_tokens + u.output_tokens for u in usage) / runs if complete else None,
            usd=None if usd is None else usd / runs,
            seconds=None if seconds is None else seconds / runs,
        )

    def _cost(self, usage: ModelUsage) -> float | None:
        try:
            return cost([usage], self.prices)
        except UnpricedError:
            return None


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if one is absent."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
