"""A plan: what every experiment of a suite will take and show."""

from typing import Annotated, Literal

from pydantic import Field

from gate.policy import Model, Name, OpenRate, Policy, Rate
from gate.report import Count, Phase, Text, Total, Usd

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Cost = Literal["model_calls", "tokens", "usd", "minutes"]
COSTS: tuple[Cost, ...] = ("model_calls", "tokens", "usd", "minutes")


class PlannedProbe(Model):
    """One probe in one phase, as it would be compared if nothing had changed.

    `rate`: the pass rate expected, from the base's counts or, without them, the threshold. `power`: the chance to call
    a drop of `min_effect` from there, the probe compared alone; absent where the rate leaves no room for such a drop.
    `pass_chance`: the chance that an unchanged agent is proven to be one, in one look. `runs_wanted`: runs in both arms
    with which the wanted power is reached; absent where none up to 2,000 do. `sequential_runs`: what a sequential test
    of the threshold would take on average; absent where there is none. `early_runs`: after how many runs, on average,
    its comparison with the base is decided if nothing changed, and if the rate dropped by `min_effect`, a second look
    included; absent where `run` does not stop for that, and above 2,000 runs.
    """

    probe: Name
    phase: Phase
    rate: Rate
    rate_from: Literal["base", "threshold"]
    base_runs: Count
    runs: Count
    alpha: OpenRate
    min_effect: OpenRate
    wanted_power: OpenRate
    power: Probability | None
    pass_chance: Probability
    runs_wanted: Count | None
    sequential_runs: Amount | None
    early_runs: tuple[Amount, Amount] | None


class PlannedExperiment(Model):
    """One experiment: its runs, its probes, and what it will cost; what nobody knows is absent.

    `shared_runs`: baseline runs that an earlier experiment carries out, and pays for, too. `sequential_runs`,
    `early_runs`: what all probes together take at least, in the chaos phase. `max_runs`: how many runs a phase has with
    a second look, absent where there is none. `early_costs`: the costs of `early_runs`, with the baseline's, as known.
    """

    name: Name
    path: Text
    runs: dict[Phase, Count]
    shared_runs: Count
    probes: list[PlannedProbe]
    power: Probability | None
    runs_wanted: Count | None
    sequential_runs: Amount | None
    early_runs: tuple[Amount, Amount] | None
    max_runs: Count | None = None
    early_costs: dict[Cost, tuple[Amount, Amount]] = {}
    model_calls: Total | None
    tokens: Total | None
    usd: Usd | None
    minutes: Amount | None


class PlanTotal(Model):
    """The suite: sums of what is known; `unknown` says for how many experiments a sum lacks its part.

    `runs` are those that are carried out; `shared_runs` would be carried out as well if experiments shared none.
    `early_runs`: what is carried out on average, at least, if nothing changed, and if every rate dropped by
    `min_effect`; absent where a part is. `early_costs`: what that costs, as far as it is known of all.
    """

    experiments: Count
    runs: Total
    shared_runs: Total
    early_runs: tuple[Amount, Amount] | None
    early_costs: dict[Cost, tuple[Amount, Amount]] = {}
    model_calls: Total | None
    tokens: Total | None
    usd: Usd | None
    minutes: Amount | None
    unknown: dict[Cost, Count]


class Plan(Model):
    """A whole plan. `base` is the commit of the report it draws on; `notes` say what the figures leave out."""

    schema_version: Literal[1] = 1
    policy: Policy
    parallel: Count
    base: Text | None
    experiments: list[PlannedExperiment]
    total: PlanTotal
    notes: list[Text]

    def to_json(self) -> str:
        """Return the plan as JSON text, ending in a line feed."""
        return self.model_dump_json(indent=1) + "\n"
