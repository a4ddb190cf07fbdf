"""What this machine lacks for a study: a run is refused for the first of it, a plan names all of it and goes on.

A published study asks for terabytes and for hundreds of gigabytes of memory. What it would take has to be known before
such a machine is there, so a plan must not stop at the first thing that this one has not.
"""

from dataclasses import dataclass, field

from pgassay.errors import PgassayError


@dataclass
class Lacking:
    """Gathers it for a plan (`planned`), raises it for a run."""

    planned: bool = False
    _found: dict[str, PgassayError] = field(default_factory=dict)

    def name(self, what: str, error: PgassayError) -> None:
        """Raise `error`, or keep it for the plan; a later one about the same thing (`what`) takes its place."""
        if not self.planned:
            raise error
        self._found[what] = error

    @property
    def messages(self) -> tuple[str, ...]:
        """What was kept, in words for users, in the order in which each thing was first named."""
        return tuple(dict.fromkeys(each.message for each in self._found.values()))
