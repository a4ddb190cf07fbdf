"""The options of a replay, each declared once.

The warm-up is the first part of the log and the window goes on behind it, so that nothing is played twice: rows that an
INSERT has made would be there already.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.kinds import PATH, Kind, is_number, whole
from pgassay.bench.options import option
from pgassay.load import messages
from pgassay.load.options import OwnDataOptions, RemoteOptions
from pgassay.study.units import format_number

DEFAULT_PREFIX = "%m [%p]"
"""PostgreSQL's own log_line_prefix, without the space at its end: levels have none."""
SESSIONS = 90
"""As many as fit beside ours into PostgreSQL's own max_connections."""


def _parse_logs(name: str, text: str) -> tuple[Path, ...]:
    parts = text.splitlines() if "\n" in text else text.split(",")
    return tuple(PATH.parse(name, part) for part in parts if part.strip())


def _show_logs(paths: Iterable[Path]) -> str:
    shown = [str(path) for path in paths]
    return ("\n" if any("," in path for path in shown) else ",").join(shown)


def _parse_speed(name: str, text: str) -> float:
    number = text.strip().removesuffix("x")
    if not is_number(number) or float(number) <= 0:
        raise messages.not_a_speed(name, text)
    return float(number)


def _parse_share(name: str, text: str) -> float:
    number = text.strip().removesuffix("%")
    if number == text.strip() or not is_number(number) or float(number) > 100:
        raise messages.not_a_share(name, text)
    return float(number) / 100


LOGS: Kind[tuple[Path, ...]] = Kind(
    _parse_logs,
    _show_logs,
    "files in order: a.log,b.log",
    each_path=lambda paths, change: tuple(map(change, paths)),
    holds_rows=True,
)
PREFIXES: Kind[tuple[str, ...]] = Kind(
    lambda name, text: tuple(line.strip() for line in text.splitlines() if line.strip()),
    "\n".join,
    "settings of log_line_prefix, a line each",
)
SPEED: Kind[float] = Kind(_parse_speed, lambda factor: f"{format_number(factor)}x", "a multiple of the log's own: 2x")
SHARE: Kind[float] = Kind(_parse_share, lambda share: f"{format_number(share * 100)}%", "a share: 5%")
DATABASE: Kind[str] = Kind(lambda name, text: text.strip(), str, "a name")


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(RemoteOptions, OwnDataOptions):
    """A log that is played again, on the data that `init` holds or that the cluster was copied with."""

    driver = "replay"

    logs: tuple[Path, ...] = option(
        LOGS, name="log", default=(), summary="the log that is played: stderr, csvlog or jsonlog, unpacked"
    )
    prefixes: tuple[str, ...] = option(
        PREFIXES,
        name="log_prefix",
        default=(DEFAULT_PREFIX,),
        summary="the log_line_prefix that a log in stderr's format was written with",
    )
    database: str | None = option(
        DATABASE, name="log_database", default=None, summary="the database whose sessions are played; all if left out"
    )
    speed: float = option(SPEED, default=1.0, scales=True, summary="how many times as fast as in the log")
    sessions: int = option(
        whole(), default=SESSIONS, summary="the most sessions of the log at once; those beyond are left out"
    )
    failures: float = option(
        SHARE, default=0.01, summary="the most calls that may fail, as a share, if they did not fail in the log"
    )

    @property
    def line_prefixes(self) -> tuple[str, ...]:
        """As the log may have them: a setting mostly ends with a space, which a level has lost."""
        return tuple(found for each in self.prefixes for found in (f"{each} ", each))

    @property
    def connections(self) -> int:
        """One for each session."""
        return self.sessions

    @property
    def round_trips(self) -> float | None:
        """Of a call, which is what a transaction is here."""
        return 1.0

    def estimated_bytes(self) -> int:
        """By the size of the user's file; data that were copied are known to the lab."""
        own_bytes = self.own_bytes
        return super().estimated_bytes() if own_bytes is None else own_bytes
