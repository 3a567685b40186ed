"""An agent without a single decorator."""
