"""One clone and one server that live through several trials: how a calibration runs more than once after a restart.

A trial's own life is not changed for it (see `trial`): drive and installation are wrapped, so that a trial's clone,
start, stop and discard find what the first trial made, until `end`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pgassay.bench.drive_counters import DriveCounters
from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.places import Endpoint, Mount, Version
from pgassay.bench.server import Installation, Server
from pgassay.bench.store import Ageing, Drive, Trait
from pgassay.lab.site import Site


class Lasting:
    """Hand `site` to each trial of one restart, then `end` it; only the first of them clones and starts."""

    def __init__(self, site: Site) -> None:
        self._inner = site
        self._clone: tuple[Drive, Path] | None = None
        self._server: Server | None = None

    @property
    def site(self) -> Site:
        """The site on which clone and server last."""
        return replace(
            self._inner,
            drive=lambda wanted, needs: _LastingDrive(self, self._inner.drive(wanted, needs)),
            installation=lambda wanted: _LastingInstallation(self, self._inner.installation(wanted)),
        )

    def end(self) -> None:
        """Stop the server, discard the clone; calling it twice is harmless."""
        with self._inner.held():
            if self._server is not None:
                self._server.stop(immediately=True)
                self._server = None
            if self._clone is not None:
                drive, path = self._clone
                drive.discard(path)
                self._clone = None

    def clone(self, drive: Drive, key: str, name: str) -> Path:
        """The first one's clone."""
        if self._clone is None:
            self._clone = drive, drive.clone(key, name)
        return self._clone[1]

    def holds(self, directory: Path) -> bool:
        """Is this the clone that lasts?"""
        return self._clone is not None and self._clone[1] == directory

    def start(
        self,
        installation: Installation,
        directory: Path,
        settings: Mapping[str, str],
        sockets: Path,
        placement: Placement,
    ) -> Server:
        """The first one's server; a server on any other directory is none of ours."""
        if not self.holds(directory):
            return installation.start(directory, settings, sockets, placement)
        if self._server is None:
            self._server = installation.start(directory, settings, sockets, placement)
        return _LastingServer(self._server)


class _LastingDrive:
    """See `bench.store.Drive`."""

    def __init__(self, lasting: Lasting, inner: Drive) -> None:
        self._lasting = lasting
        self._inner = inner

    @property
    def kind(self) -> str:
        return self._inner.kind

    def mount(self) -> Mount:
        return self._inner.mount()

    def workspace(self, name: str) -> Path:
        return self._inner.workspace(name)

    def lay_out(self, directory: Path) -> None:
        self._inner.lay_out(directory)

    def has_snapshot(self, key: str) -> bool:
        return self._inner.has_snapshot(key)

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        self._inner.take_snapshot(key, directory, what)

    def clone(self, key: str, name: str) -> Path:
        return self._lasting.clone(self._inner, key, name)

    def forget_snapshot(self, key: str) -> None:
        self._inner.forget_snapshot(key)

    def snapshot_bytes(self, key: str) -> int:
        return self._inner.snapshot_bytes(key)

    def how_cloned(self) -> str:
        return self._inner.how_cloned()

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        return self._inner.counters(directory)

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        return self._inner.traits(directory)

    def ageing(self) -> Ageing | None:
        return self._inner.ageing()

    def discard(self, directory: Path, *, check: bool = False) -> None:
        if not self._lasting.holds(directory):
            self._inner.discard(directory, check=check)

    def release(self) -> None:
        self._inner.release()


class _LastingInstallation:
    """See `bench.server.Installation`."""

    def __init__(self, lasting: Lasting, inner: Installation) -> None:
        self._lasting = lasting
        self._inner = inner

    @property
    def bindir(self) -> Path:
        return self._inner.bindir

    @property
    def version(self) -> Version:
        return self._inner.version

    @property
    def found_by(self) -> str:
        return self._inner.found_by

    def initialize(self, directory: Path, options: Mapping[str, str]) -> None:
        self._inner.initialize(directory, options)

    def start(
        self,
        directory: Path,
        settings: Mapping[str, str],
        socket_directory: Path,
        placement: Placement = ANYWHERE,
    ) -> Server:
        return self._lasting.start(self._inner, directory, settings, socket_directory, placement)

    def check_settings(self, values: Mapping[str, str]) -> None:
        self._inner.check_settings(values)

    def setting(self, directory: Path, settings: Mapping[str, str], name: str) -> str:
        return self._inner.setting(directory, settings, name)


class _LastingServer:
    """See `bench.server.Server`; a trial's `stop` leaves it running for the next one."""

    def __init__(self, inner: Server) -> None:
        self._inner = inner

    @property
    def endpoint(self) -> Endpoint:
        return self._inner.endpoint

    @property
    def postmaster_pid(self) -> int:
        return self._inner.postmaster_pid

    @property
    def version(self) -> Version:
        return self._inner.version

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._inner.query(sql, parameters)

    def execute(self, sql: str) -> None:
        self._inner.execute(sql)

    def alive(self) -> bool:
        return self._inner.alive()

    def stop(self, *, immediately: bool = False) -> None:
        pass

    def log_text(self) -> str:
        return self._inner.log_text()
