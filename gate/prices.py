"""What models cost, by globs of their names. Pure."""

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Annotated, Protocol

from pydantic import Field

from gate.policy import Model

PER_PRICE = 1_000_000
"""Prices are for so many tokens."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(Model):
    """What a million tokens cost."""

    input: Amount = 0.0
    output: Amount = 0.0


Prices = Mapping[str, Price]
"""Globs of model names to prices; the first that matches counts."""


class Used(Protocol):
    """Tokens that a model took; `model` is empty where none was named."""

    @property
    def model(self) -> str: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...


class UnpricedError(ValueError):
    """A model that no price is known for."""


def cost(usage: Iterable[Used], prices: Prices) -> float:
    """Return what tokens cost.

    Raises:
        UnpricedError: no glob matches a model; the message says which and what to add.
    """
    spent = 0.0
    for one in usage:
        price = _price(one.model, prices)
        spent += (one.input_tokens * price.input + one.output_tokens * price.output) / PER_PRICE
    return spent


def _price(model: str, prices: Prices) -> Price:
    for pattern, price in prices.items():
        if fnmatch.fnmatchcase(model, pattern):
            return price
    what = f"model {model!r}" if model else "a response that names no model"
    raise UnpricedError(f"no price for {what}: add a glob that matches it to prices, or '*'")
