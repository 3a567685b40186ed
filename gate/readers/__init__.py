"""Reports of this and other tools to one model: a file per format, chosen by the first bytes."""

from gate.readers.base import READERS, Reader
from gate.readers.choice import read_any, read_bytes, read_file

__all__ = ["READERS", "Reader", "read_any", "read_bytes", "read_file"]
