"""A judge, often a model, decides."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

from pydantic import Field

from gate.policy import Category
from gate.probes.base import Check, Probe
from gate.trace import Trace

Ask = Callable[[str, str, Trace], object]
"""Put (judge, criterion, trace) to the judge called `module:callable`, and return its reply."""


class Judge(Probe):
    """The judge `module:callable` finds that the run meets `criterion`, with at least `threshold` if it gives a score.

    Loading and calling a judge is an effect, so the probe does neither: whoever runs judges passes the function that
    does as `ask`. It loads the judge, calls it as `judge(criterion, output, trace)` outside the chaos session, and
    sees to time limits, retries and which output and trace the judge gets to see; an exception of it is an error of
    the probe. The probe turns the reply into a check.
    """

    type: ClassVar[str] = "judge"
    category: ClassVar[Category] = "security"
    judge: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")]
    criterion: str
    threshold: Annotated[float, Field(allow_inf_nan=False)] = 0.5

    @property
    def label(self) -> str:
        return f"judge({self.criterion[:40]!r})"

    def check(self, trace: Trace, ask: Ask | None = None) -> Check:
        """Judge one run.

        Raises:
            ValueError: there is nobody to ask, or the reply is neither a verdict nor a score.
        """
        if ask is None:
            raise ValueError(f"the judge {self.judge} was not called: judging needs a function that asks it")
        return self.read(ask(self.judge, self.criterion, trace))

    def read(self, reply: object) -> Check:
        """Return what a reply says: a bool, a score, or either with a reason."""
        verdict, reason = reply, ""
        if isinstance(reply, list | tuple) and len(reply) == 2:
            verdict, reason = reply[0], str(reply[1])
        if isinstance(verdict, bool):
            return Check(verdict, reason)
        if isinstance(verdict, int) or (isinstance(verdict, float) and math.isfinite(verdict)):
            return Check(verdict >= self.threshold, reason)
        raise ValueError(f"the judge {self.judge} gave no verdict: expected true, false or a score, got {reply!r:.80}")
