"""Outputs: each module turns a comparison or a report into one of them, and knows no other."""
