"""Which experiments have the same runs without faults. Pure."""

import hashlib
import json
from collections.abc import Iterable

from gate.experiment import Experiment


def baseline_groups(
    experiments: Iterable[Experiment], *, target: str | None = None, seed: int | None = None
) -> dict[str, str]:
    """Return, by experiment name, a digest of all that its baseline runs depend on; equal ones are the same runs.

    Two files agree if they say the same: a default that only one of them spells out keeps them apart. `target` and
    `seed` are given in place of the files' own. Experiments without a baseline are left out.
    """
    return {e.name: _digest(e, target, seed) for e in experiments if e.baseline}


def _digest(experiment: Experiment, target: str | None, seed: int | None) -> str:
    depends_on = [
        target or experiment.entrypoint,
        experiment.arguments,
        experiment.seed if seed is None else seed,
        experiment.isolation,
        experiment.environment,
        experiment.instrument,
        experiment.timeout_s,
        experiment.infra_errors,
    ]
    return hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:16]
