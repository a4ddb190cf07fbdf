"""What cannot be captured, and hints for what servers and their programs say."""

from collections.abc import Iterable, Sequence

from pgassay.interfaces.errors import BenchError

_NAMED = 5
LACKS_STATISTICS = (
    "the role lacks pg_read_all_stats, so pg_stat_statements shows it no statements but its own: a superuser can"
    " grant it, GRANT pg_read_all_stats TO …"
)


class CaptureError(BenchError):
    """A server that cannot be captured, or a capture that cannot be used."""


def hint_for(detail: str, known: Iterable[tuple[str, str]], otherwise: str) -> str:
    """The hint of the first words that occur in `detail`, else `otherwise`."""
    return next((hint for words, hint in known if words in detail), otherwise)


def some(words: Sequence[str], separator: str = ", ") -> str:
    """The first few of them, and how many more there are."""
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return separator.join(words[:_NAMED]) + more
