"""Where base reports live: a file per kind of store, and the choice of the base."""

from gate.store.base import STORES, Store, is_ref_name, parse_store
from gate.store.checkout import first_parents_in, parents_in
from gate.store.choice import Base, choose_base
from gate.store.stored import without_transcripts

__all__ = [
    "STORES",
    "Base",
    "Store",
    "choose_base",
    "first_parents_in",
    "is_ref_name",
    "parents_in",
    "parse_store",
    "without_transcripts",
]
