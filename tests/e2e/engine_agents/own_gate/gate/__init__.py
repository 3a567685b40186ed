"""A package of the agent's own that happens to have our name."""

MINE = True
