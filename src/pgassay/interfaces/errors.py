"""What can go wrong in a room, by kind, so that the lab knows a treatment's own outcome from a fault of ours."""

from dataclasses import dataclass, field

from pgassay.errors import PgassayError


class BenchError(PgassayError):
    """A room could not do what it was asked."""


class QueryError(BenchError):
    """The server refused a statement or went away."""


class WrittenWronglyError(QueryError):
    """The server refused a statement for what it says, whatever the data: its syntax, or a name that there is not.

    `said` are its own words, `sqlstate` their code (manual, "PostgreSQL Error Codes").
    """

    def __init__(self, message: str, hint: str | None, said: str, sqlstate: str) -> None:
        super().__init__(message, hint)
        self.said = said
        self.sqlstate = sqlstate


class ClusterError(BenchError):
    """initdb, start or stop failed."""


class StartTimeoutError(ClusterError):
    """A server has neither become ready nor ended within its limit."""


class SettingError(BenchError):
    """PostgreSQL does not know a setting or refuses its value."""


class NotSettableError(SettingError):
    """PostgreSQL has no setting of this name, or none that can be set: it may be meant for another room."""

    def __init__(self, message: str, hint: str | None, name: str) -> None:
        super().__init__(message, hint)
        self.name = name


class LoadError(BenchError):
    """A load could not be prepared or run."""


class ClientLostError(LoadError):
    """The host of a load's program has gone while it played: nobody knows what the load did, or does."""


class DriveError(BenchError):
    """A drive could not be attached, cloned or given back."""


class DamagedError(DriveError):
    """What lies on a drive is not sound, or the drive itself is not; found by a check that was asked for."""


class HostError(BenchError):
    """This machine did not give what a host factor asked for; `code` names it in the trial's reasons."""

    def __init__(self, message: str, hint: str | None = None, code: str = "host_error") -> None:
        super().__init__(message, hint)
        self.code = code


class SpaceError(DriveError):
    """Too little room for what is asked."""


@dataclass
class Missing:
    """What this machine lacks for a study: a run is refused for the first of it, a plan (`planned`) names all of it.

    A published study asks for terabytes and for hundreds of gigabytes of memory. What it would take has to be known
    before such a machine is there, so a plan must not stop at the first thing that this one has not.
    """

    planned: bool = False
    _found: dict[str, PgassayError] = field(default_factory=dict)

    def name(self, what: str, error: PgassayError) -> None:
        """Raise `error`, or keep it for the plan; a later one about the same thing (`what`) takes its place."""
        if not self.planned:
            raise error
        self._found[what] = error

    @property
    def messages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.message for each in self._found.values()))
