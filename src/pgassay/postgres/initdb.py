"""initdb's options: what every cluster of ours gets, and what the `init.*` levels ask for, by version.

Manual, "initdb". Local connections are trusted (the socket's directory is closed to others), all others rejected; no
password exists anywhere.
"""

from collections.abc import Mapping

from pgassay.bench.places import Version
from pgassay.postgres import messages, versions
from pgassay.study.units import parse_boolean, parse_memory

ALWAYS = ("--locale=C", "--encoding=UTF8", "--auth-local=trust", "--auth-host=reject")
OPTIONS = ("data_checksums", "wal_segment_size")
_MB = 1024**2


def flags(options: Mapping[str, str], version: Version) -> list[str]:
    """The command line for these `init.*` levels; raises `UsageError` for what initdb does not know."""
    found = list(ALWAYS)
    if version.major >= versions.NO_INSTRUCTIONS:
        found.append("--no-instructions")
    for name, value in options.items():
        if name == "data_checksums":
            found += _checksums(parse_boolean(value), version)
        elif name == "wal_segment_size":
            found.append(f"--wal-segsize={wal_segment_bytes(value) // _MB}")
        else:
            raise messages.unknown_init_option(name, OPTIONS)
    return found


def _checksums(on: bool, version: Version) -> list[str]:
    if on:
        return ["--data-checksums"]
    return ["--no-data-checksums"] if version.major >= versions.CHECKSUMS_BY_DEFAULT else []


def wal_segment_bytes(text: str) -> int:
    """`"64MB"` (or a bare number of MB, as initdb takes it) in bytes: a power of two from 1MB to 1GB."""
    size = int(text) * _MB if text.isdecimal() else parse_memory(text)
    if size not in {2**power * _MB for power in range(11)}:
        raise messages.bad_init_option("wal_segment_size", text, "a power of two from 1MB to 1GB")
    return size
