"""One file out of a zip archive that somebody else made. Nothing is ever unpacked to disk."""

import io
import zipfile
import zlib

from gate.errors import InvalidFileError


def read_member(archive: bytes, name: str, limit_bytes: int) -> bytes:
    """Return the content of the one member called `name`; paths, links and everything else in it are not looked at.

    Raises:
        InvalidFileError: not a zip archive, no or several such members, encrypted, damaged, or larger than allowed,
            whatever size the archive claims.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = [info for info in opened.infolist() if info.filename == name]
            if len(members) != 1:
                raise InvalidFileError([f"{name}: stands {len(members)} times in the archive, and must once"])
            if members[0].flag_bits & 1:
                raise InvalidFileError([f"{name}: is encrypted"])
            with opened.open(members[0]) as file:
                content = file.read(limit_bytes + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InvalidFileError([f"{name}: the archive cannot be read ({type(error).__name__})"]) from None
    if len(content) > limit_bytes:
        raise InvalidFileError([f"{name}: larger than {limit_bytes:,} bytes"])
    return content
