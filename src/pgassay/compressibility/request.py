"""What is asked: the options as values, each refused with its name if it cannot be."""

from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.study.units import parse_memory

BLOCK_BYTES = 4096
"""What a drive compresses at a time."""


@dataclass(frozen=True)
class Request:
    """A cluster (directory or connection string) and how to look at it; `sample_bytes` is None for everything.

    `granularities` are bytes that a compressed block is rounded up to; `jobs` is None for one thread a core.
    """

    cluster: str
    codecs: tuple[str, ...]
    granularities: tuple[int, ...]
    fillfactors: tuple[int, ...]
    sample_bytes: int | None
    jobs: int | None


def parse_request(
    cluster: str, *, codecs: str, granularities: str, fillfactors: str, sample: str | None, jobs: int | None
) -> Request:
    """The request that words between commas make; `sample` None for everything. Raises `UsageError`."""
    from pgassay._core import stored_bytes

    listed = _listed(codecs)
    for codec in listed:
        try:
            stored_bytes(b"", codec)
        except ValueError as error:
            raise UsageError(f"--codec: {error}") from None
    granularities_bytes = tuple(map(parse_memory, _listed(granularities)))
    for bytes_ in granularities_bytes:
        if not 1 <= bytes_ <= BLOCK_BYTES or bytes_ & (bytes_ - 1):
            raise UsageError("--granularity wants powers of two from 1B to 4kB", "512B is a sector, 1B is packed")
    sample_bytes = None if sample is None else parse_memory(sample)
    if sample_bytes is not None and sample_bytes <= 0:
        raise UsageError(f'--sample wants a size above 0, not "{sample}"', "--whole reads everything")
    levels = tuple(map(_fillfactor, _listed(fillfactors)))
    return Request(cluster, listed, granularities_bytes, levels, sample_bytes, jobs)


def _listed(text: str) -> tuple[str, ...]:
    """Words between commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",")))


def _fillfactor(word: str) -> int:
    if not word.isdecimal() or not 10 <= int(word) <= 100:
        raise UsageError(f'--fillfactor wants whole per cents from 10 to 100, not "{word}"')
    return int(word)
