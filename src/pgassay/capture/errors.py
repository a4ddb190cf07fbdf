"""What cannot be captured, and hints for what servers and their programs say."""

from collections.abc import Iterable

from pgassay.bench.errors import BenchError

LACKS_STATISTICS = (
    "the role lacks pg_read_all_stats, so pg_stat_statements shows it no statements but its own: a superuser can"
    " grant it, GRANT pg_read_all_stats TO …"
)


class CaptureError(BenchError):
    """A server that cannot be captured, or a capture that cannot be used."""


def hint_for(detail: str, known: Iterable[tuple[str, str]], otherwise: str) -> str:
    """The hint of the first words that stand in `detail`, else `otherwise`."""
    return next((hint for words, hint in known if words in detail), otherwise)


class SyntheticError(BenchError):
    """Statistics that no data can be made from."""
