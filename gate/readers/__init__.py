"""Reports of this and other tools to one model: a file per format, chosen by the first bytes."""

from gate.readers.base import READERS, Reader
from gate.readers.choice import check_same_tool, limit_notices, read_any, read_file

__all__ = ["READERS", "Reader", "check_same_tool", "limit_notices", "read_any", "read_file"]
