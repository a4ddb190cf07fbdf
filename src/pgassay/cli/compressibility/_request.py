"""What is asked: the options as values, each refused with its name if it cannot be."""

import argparse
from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.study.units import parse_memory

BLOCK_BYTES = 4096
"""What a drive compresses at a time."""


@dataclass(frozen=True)
class Request:
    """`sample_bytes` is None for everything."""

    cluster: str
    codecs: tuple[str, ...]
    granularities: tuple[int, ...]
    fillfactors: tuple[int, ...]
    sample_bytes: int | None
    jobs: int | None


def read(arguments: argparse.Namespace) -> Request:
    """The request; raises `UsageError`."""
    from pgassay._core import stored_bytes

    codecs = _listed(arguments.codec)
    for codec in codecs:
        try:
            stored_bytes(b"", codec)
        except ValueError as error:
            raise UsageError(f"--codec: {error}") from None
    granularities = tuple(map(parse_memory, _listed(arguments.granularity)))
    for bytes_ in granularities:
        if not 1 <= bytes_ <= BLOCK_BYTES or bytes_ & (bytes_ - 1):
            raise UsageError("--granularity wants powers of two from 1B to 4kB", "512B is a sector, 1B is packed")
    sample = None if arguments.whole else parse_memory(arguments.sample)
    if sample is not None and sample <= 0:
        raise UsageError(f'--sample wants a size above 0, not "{arguments.sample}"', "--whole reads everything")
    fillfactors = tuple(map(_fillfactor, _listed(arguments.fillfactor)))
    return Request(arguments.cluster, codecs, granularities, fillfactors, sample, arguments.jobs)


def _listed(text: str) -> tuple[str, ...]:
    """Words between commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",")))


def _fillfactor(word: str) -> int:
    if not word.isdecimal() or not 10 <= int(word) <= 100:
        raise UsageError(f'--fillfactor wants whole per cents from 10 to 100, not "{word}"')
    return int(word)
