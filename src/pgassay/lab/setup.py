"""What one arm asks of every room, as typed values: made once of its levels, read by name nowhere else.

Only PostgreSQL's own vocabulary stays name to value: its settings, and the options of initdb.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.bench.factor import SetupDraft
from pgassay.bench.load import LoadOptions
from pgassay.drive.options import DriveOptions
from pgassay.load import drivers
from pgassay.postgres.builds.recipe import DEFAULT_BLOCK_BYTES
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.installation import COPY_DATABASE, COPY_OF, fixed_by_copy


@dataclass(frozen=True)
class Setup:
    """The programs, settings, load and drives of one arm."""

    version: str
    """Which installed PostgreSQL serves: `17` or `17.5`; empty for any."""
    build: BuildRequest | None
    """The PostgreSQL that is to be built; None to take one that is installed."""
    init_options: Mapping[str, str]
    settings: Mapping[str, str]
    """What the study sets, GUC to value, before the regime is pinned."""
    load: LoadOptions
    drive: DriveOptions
    memory_bytes: int | None
    """What the server may have; None where no host factor limits it."""
    table_fillfactor: int
    """Percent to which rows fill the pages of every table."""

    @property
    def block_bytes(self) -> int:
        """The page size of the server."""
        return self.build.block_bytes if self.build else DEFAULT_BLOCK_BYTES

    @property
    def copy_of(self) -> Path | None:
        """The data directory that the cluster is a copy of, with its data; None for a new cluster."""
        found = self.init_options.get(COPY_OF)
        return Path(found) if found else None

    @property
    def copied_database(self) -> str:
        """The database of a user's own server of which databases of ours are copies; empty for data of the load's."""
        return "" if self.copy_of is not None else self.init_options.get(COPY_DATABASE, "")

    @property
    def has_data(self) -> bool:
        """Do the data come with the copy, so that nothing is loaded?"""
        return self.copy_of is not None or bool(self.copied_database)

    @classmethod
    def of(cls, draft: SetupDraft) -> "Setup":
        """Of what the factors wrote; raises `UsageError` for options that are not known or do not go together."""
        made = cls(
            version=draft.version,
            build=BuildRequest.from_levels(draft.build) if draft.build else None,
            init_options=dict(draft.init_options),
            settings=dict(draft.settings),
            load=replace(drivers.options_of(draft.load), memory_bytes=draft.memory_bytes),
            drive=DriveOptions.from_levels(draft.drive),
            memory_bytes=draft.memory_bytes,
            table_fillfactor=draft.table_fillfactor,
        )
        made._require_data_once()
        return made

    def _require_data_once(self) -> None:
        """A copied cluster is as its source made it, and has its data."""
        others = [f"init.{name}" for name in self.init_options if name not in (COPY_OF, COPY_DATABASE)]
        loaded = [f"load.{name}" for name in ("init", "age") if getattr(self.load, name, None)]
        if self.has_data and (others or loaded):
            raise fixed_by_copy([*others, *loaded][0])
