"""One option of a load as a factor, `load.NAME`, and the ways in which its levels are written.

A driver lists its options in its own `factors.py` with this class; `drivers` knows which driver has which. An option
that several drivers understand is one object, kept in `shared_factors`, so that its levels mean the same everywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pgassay.bench.factor import Factor, Readable, Setup, Stage
from pgassay.load import messages, values
from pgassay.study.levels import Level

Canonical = Callable[[str, str], str]
"""From a factor's name and the typed text to the canonical text; raises `UsageError`."""


@dataclass(frozen=True)
class LoadFactor(Factor):
    """A `load.NAME` factor: writes its canonical level into the setup's load options."""

    option: str
    canonical: Canonical
    summary: str = ""
    stage: Stage = Stage.RUN
    rows_of: tuple[str, ...] = ()
    """Tables whose number of rows is the level (data stage), the first that is there; else the load's echo is asked."""
    asked: str | None = None
    """SQL whose one value is the level in canonical form (data stage), where it is not the rows of a table."""
    optional: bool = False

    @property
    def pattern(self) -> str:  # type: ignore[override]
        """`load.NAME`."""
        return f"load.{self.option}"

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form; raises `UsageError`."""
        if not typed.strip():
            raise messages.no_value(name)
        return Level(typed, self.canonical(name, typed))

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Ask the load for it; the level `none` of an optional one asks for nothing."""
        if not (self.optional and level.canonical == values.NONE):
            setup.load[self.option] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What the data say, or the program's echo; None where neither does."""
        if readable.load_result is not None:
            return readable.load_result.read_back.get(self.pattern)
        if self.asked is not None:
            return str(readable.server.query(self.asked)[0][0])
        for table in self.rows_of:
            if readable.server.query(f"SELECT to_regclass('{table}')") != [(None,)]:
                return str(readable.server.query(f"SELECT count(*) FROM {table}")[0][0])
        return None  # Nothing can tell, or the user's own data have no such table.


def count(name: str, typed: str) -> str:
    """A whole number from 1."""
    return str(values.parse_count(name, typed))


def row_bytes(name: str, typed: str) -> str:
    """The bytes of a row."""
    return str(values.parse_row_bytes(name, typed))


def count_or_clients(name: str, typed: str) -> str:
    """A whole number from 1, or `clients`: as many as there are clients, whatever their number in this trial."""
    return values.CLIENTS if typed.strip() == values.CLIENTS else str(values.parse_count(name, typed))


def optional_count(name: str, typed: str) -> str:
    """A whole number from 1, or `none`."""
    number = values.parse_optional_count(name, typed)
    return values.NONE if number is None else str(number)


def length(name: str, typed: str) -> str:
    """Whole seconds from 1."""
    return values.show_seconds(values.parse_seconds(name, typed))


def length_or_nothing(name: str, typed: str) -> str:
    """Whole seconds from 0."""
    return values.show_seconds(values.parse_seconds(name, typed, least=0))


def rate(name: str, typed: str) -> str:
    """Transactions per second, or `none`."""
    return values.show_rate(values.parse_rate(name, typed))


def limit(name: str, typed: str) -> str:
    """A latency, or `none`."""
    return values.show_limit(values.parse_limit_ms(name, typed))


def multiple(name: str, typed: str) -> str:
    """`2x`, or `none`."""
    return values.show_multiple(values.parse_multiple(name, typed))


def path(name: str, typed: str) -> str:
    """A file as an absolute path, or `none`."""
    return values.show_path(values.parse_path(name, typed))


def switch(name: str, typed: str) -> str:
    """On or off."""
    return "on" if values.parse_switch(name, typed) else "off"


def choice(*choices: str) -> Canonical:
    """One of these words."""

    def canonical(name: str, typed: str) -> str:
        word = typed.strip()
        if word not in choices:
            raise messages.not_a_choice(name, typed, choices)
        return word

    return canonical
